"""Which words of a query give another answer each time. A scan of the tokens, so that it also works on text that has
no rule.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.tokenizer_core import TokenType

from spark_trickle.sql.parse import tokenize

_CALLS = frozenset(
    [
        "rand",
        "randn",
        "random",
        "randstr",
        "uniform",
        "uuid",
        "shuffle",
        "now",
        "current_timestamp",
        "current_date",
        "current_time",
        "localtimestamp",
        "monotonically_increasing_id",
        "spark_partition_id",
        "input_file_name",
        "input_file_block_start",
        "input_file_block_length",
        "current_user",
        "user",
        "session_user",
        "current_catalog",
        "current_database",
        "current_schema",
        "current_timezone",
        "unix_timestamp",
        "curdate",
        "getdate",
        "sysdate",
    ]
)
_WITHOUT_PARENTHESES = frozenset(
    ["current_timestamp", "current_date", "current_time", "localtimestamp", "current_user", "session_user"]
)
_NEEDS_NO_ARGUMENT = frozenset({"unix_timestamp"})
"""Only without arguments do these read the clock."""


@dataclass(frozen=True, slots=True)
class Found:
    """One such word and its place."""

    name: str
    line: int
    column: int


def nondeterministic(query: str) -> tuple[Found, ...]:
    """Calls that give another answer each time.

    >>> [found.name for found in nondeterministic("SELECT rand(), t.rand, current_date, 'now()' FROM t -- uuid()")]
    ['rand', 'current_date']
    """
    words = tokenize(query)
    found = []
    for position, word in enumerate(words):
        name = word.text.lower()
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
            start = query.rfind("\n", 0, word.start) + 1
            found.append(Found(name, query.count("\n", 0, word.start) + 1, word.start - start + 1))
    return tuple(found)
