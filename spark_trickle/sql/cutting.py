"""A text cut into its statements, at semicolons. A SQL script (BEGIN … END) is one statement, whatever is inside.

Words alone tell where a script ends: nothing is parsed. BEGIN, CASE and END are no reserved words of Spark, so each
counts only where it can be one: a column may be called `end`.
"""

from __future__ import annotations

from collections.abc import Iterator

from spark_trickle.sql.lexer import Kind, Token, place, tokens

_LOOPS = ("IF", "WHILE", "LOOP", "REPEAT", "FOR")
"""What END may say that it ends, besides CASE: these need not be counted, because their END says so."""
_BEFORE_STATEMENT = (";", "BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", ":")
_BEFORE_VALUE = (
    *("SELECT", "WHEN", "THEN", "ELSE", "AND", "OR", "NOT", "BY", "ON", "WHERE", "HAVING", "DISTINCT", "IN", "LIKE"),
    *(",", "(", "[", ".", "=", "<", ">", "+", "-", "*", "/", "%", "|", "&"),
)
"""After these comes a value: END is the name of a column there."""


def split_statements(script: str) -> list[tuple[str, int]]:
    """Cut a text at its semicolons: each statement, and the line of its first word.

    >>> split_statements("SELECT ';';\\n-- note; ignored\\nSELECT 2")
    [("SELECT ';'", 1), ('SELECT 2', 3)]
    >>> split_statements("BEGIN SELECT 1; SELECT 2; END; SELECT 3")
    [('BEGIN SELECT 1; SELECT 2; END', 1), ('SELECT 3', 1)]
    """
    return [(script[words[0].start : words[-1].end], place(script, words[0].start)[0]) for words in _cut(script)]


def _cut(script: str) -> Iterator[list[Token]]:
    words: list[Token] = []
    blocks: list[str] = []
    """What is open: BEGIN or CASE. Stays empty outside of scripts."""
    handler = False
    """Whether the statement of a script declares a handler, whose body may be a block."""
    pending: Token | None = None
    for token in tokens(script):
        # One word is looked at when the next one is known: END IF ends something else than END.
        word, pending = pending, token
        if word is None:
            continue
        if word.text == ";" and not blocks:
            if words:
                yield words
            words, handler = [], False
            continue
        before = words[-1].word if words else ";"
        _count(word.word, before, token.word, blocks, opens=not words or _labelled(words), handler=handler)
        handler = (handler or word.word == "HANDLER") and word.text != ";"
        words.append(word)
    if words:
        yield words


def _count(word: str, before: str, after: str, blocks: list[str], *, opens: bool, handler: bool) -> None:
    """Open or close what this word opens or closes."""
    if not blocks:
        if word == "BEGIN" and opens:
            blocks.append("BEGIN")
        return
    inside_case = blocks[-1] == "CASE"
    if word == "BEGIN" and (before in _BEFORE_STATEMENT or handler):
        blocks.append("BEGIN")
    elif word == "CASE" and before not in (".", "END"):
        blocks.append("CASE")
    elif (
        word == "END"
        and after not in _LOOPS
        and (before not in _BEFORE_VALUE if inside_case else before in _BEFORE_STATEMENT)
    ):
        blocks.pop()


def _labelled(words: list[Token]) -> bool:
    """Whether only a label comes before: `name: BEGIN`."""
    return len(words) == 2 and words[0].kind in (Kind.WORD, Kind.QUOTED) and words[1].text == ":"
