"""Which words of a query give another answer each time. A scan of the tokens, so that it also works on text that has
no rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from spark_trickle.sql.parse import tokenize

CLOCK = frozenset(
    [
        "now",
        "current_timestamp",
        "current_date",
        "current_time",
        "localtimestamp",
        "unix_timestamp",
        "curdate",
        "getdate",
        "sysdate",
    ]
)
OTHERS = frozenset(
    [
        "rand",
        "randn",
        "random",
        "randstr",
        "uniform",
        "uuid",
        "shuffle",
        "monotonically_increasing_id",
        "spark_partition_id",
        "input_file_name",
        "input_file_block_start",
        "input_file_block_length",
        "current_user",
        "user",
        "session_user",
    ]
)
_CALLS = CLOCK | OTHERS
_MOMENTS = re.compile(r"\s*(now|today|tomorrow|yesterday)(\s+\S+)?\s*", re.IGNORECASE)
_TYPES = frozenset({"date", "timestamp", "timestamp_ltz", "timestamp_ntz"})
_WITHOUT_PARENTHESES = frozenset(
    ["current_timestamp", "current_date", "current_time", "localtimestamp", "current_user", "session_user"]
)
_NEEDS_NO_ARGUMENT = frozenset({"unix_timestamp"})
"""Only without arguments do these read the clock."""


@dataclass(frozen=True, slots=True)
class Found:
    """One such word and its place."""

    name: str
    """As it may be written: `current_date()`, `DATE 'today'`."""
    line: int
    column: int
    clock: bool
    """Whether it is another one only as time goes by."""

    def __str__(self) -> str:
        return f"{self.name} at line {self.line}, column {self.column}"


def nondeterministic(query: str) -> tuple[Found, ...]:
    """Calls that give another answer each time.

    >>> [found.name for found in nondeterministic("SELECT rand(), t.rand, current_date, 'now()' FROM t -- uuid()")]
    ['rand()', 'current_date()']
    >>> [found.name for found in nondeterministic("SELECT DATE 'today', CAST('now' AS DATE), date 'epoch'")]
    ["DATE 'today'"]
    """
    words = tokenize(query)
    found = []
    for position, word in enumerate(words):
        name = word.text.lower()
        if word.token_type is TokenType.STRING and position and _is_moment(words[position - 1], word):
            typed = words[position - 1]
            found.append(_found(query, typed, f"{typed.text.upper()} '{word.text}'", clock=True))
            continue
        if word.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or name not in _CALLS:
            continue
        before = words[position - 1].token_type if position else None
        after = [follower.token_type for follower in words[position + 1 : position + 3]]
        called = after[:1] == [TokenType.L_PAREN]
        if before == TokenType.DOT or (not called and after[:1] == [TokenType.DOT]):
            continue
        if called and name in _NEEDS_NO_ARGUMENT and after[1:] != [TokenType.R_PAREN]:
            continue
        # A column may bear the name of a function; only these are functions without parentheses.
        bare = name in _WITHOUT_PARENTHESES and before not in (TokenType.ALIAS, TokenType.TABLE, TokenType.FROM)
        if called or bare:
            found.append(_found(query, word, f"{name}()", clock=name in CLOCK))
    return tuple(found)


def typed_moments(text: str) -> tuple[Found, ...]:
    """Literals such as `DATE 'today'`: the clock, read when the text is."""
    return tuple(found for found in nondeterministic(text) if "'" in found.name)


def _is_moment(before: Token, word: Token) -> bool:
    return before.text.lower() in _TYPES and _MOMENTS.fullmatch(word.text) is not None


def _found(query: str, word: Token, name: str, *, clock: bool) -> Found:
    start = query.rfind("\n", 0, word.start) + 1
    return Found(name, query.count("\n", 0, word.start) + 1, word.start - start + 1, clock)
