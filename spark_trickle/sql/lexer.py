"""Words of Spark SQL text with their places: enough to read our own statements and to cut a text into statements.

It knows what may hide a word or a semicolon (strings, comments, backquotes), and nothing of grammar. Queries are parsed
elsewhere, by sqlglot; their text passes through here untouched, which is why this does not use its tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from spark_trickle.errors import SqlError


class Kind(StrEnum):
    WORD = "word"
    """A keyword or a bare identifier; it may begin with a digit."""
    QUOTED = "quoted name"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end of the statement"


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    """As written, quotes included."""
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """The keyword it may be, in upper case; empty for everything that is quoted."""
        return self.text.upper() if self.kind in (Kind.WORD, Kind.SYMBOL) else ""


_SPACE = re.compile(r"\s+")
_LINE_COMMENT = re.compile(r"--(?:\\\r?\n|[^\r\n])*")  # Spark lets a backslash carry a comment on to the next line
_BRACKET = re.compile(r"/\*|\*/")
_STRING = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*\"""", re.DOTALL)
_RAW_STRING = re.compile(r"""[rR](?:'[^']*'|"[^"]*")""")
_QUOTED = re.compile(r"`(?:[^`]|``)*`")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w)")
_WORD = re.compile(r"\w+")

_PATTERNS = (
    (Kind.STRING, _RAW_STRING),
    (Kind.STRING, _STRING),
    (Kind.QUOTED, _QUOTED),
    (Kind.NUMBER, _NUMBER),
    (Kind.WORD, _WORD),
    (Kind.SYMBOL, re.compile(r"=>|.", re.DOTALL)),
)
_OPENERS = {"'": "a string", '"': "a string", "`": "a backquoted name"}

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both counted from one.

    >>> place("ab\\ncd", 4)
    (2, 2)
    """
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def tokens(text: str) -> Iterator[Token]:
    """The words of a text in order, without comments, then one END. Lazy: a fault does not hide the words before it."""
    offset = 0
    while True:
        offset = _skip(text, offset)
        if offset >= len(text):
            yield Token(Kind.END, "", len(text))
            return
        kind, match = next((k, m) for k, pattern in _PATTERNS if (m := pattern.match(text, offset)))
        if kind is Kind.SYMBOL and (what := _OPENERS.get(match[0])):
            raise _unclosed(text, offset, what)
        yield Token(kind, match[0], offset)
        offset = match.end()


def unquote(token: Token) -> str:
    """The value of a string token.

    >>> unquote(Token(Kind.STRING, "'it''s'", 0))
    "it's"
    """
    if token.text[0] in "rR":
        return token.text[2:-1]
    quote = token.text[0]
    return _ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[1]), token.text[1:-1].replace(quote * 2, quote))


def _skip(text: str, offset: int) -> int:
    """Past white space and comments."""
    while True:
        if match := _SPACE.match(text, offset) or _LINE_COMMENT.match(text, offset):
            offset = match.end()
        elif text.startswith("/*", offset):
            offset = _after_bracketed(text, offset)
        else:
            return offset


def _after_bracketed(text: str, start: int) -> int:
    """Past a bracketed comment; they nest, as in Spark."""
    depth, offset = 0, start
    while match := _BRACKET.search(text, offset):
        depth += 1 if match[0] == "/*" else -1
        offset = match.end()
        if depth == 0:
            return offset
    raise _unclosed(text, start, "a comment")


def _unclosed(text: str, offset: int, what: str) -> SqlError:
    line, column = place(text, offset)
    return SqlError(f"{what} is opened and never closed", line=line, column=column)
