"""Whether a statement of Spark SQL only reads, by its words. What others do is told by `spark/queries/deeds.py`."""

from __future__ import annotations

from spark_trickle.sql.lexer import Kind, tokens

_WRITING = ("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "REPLACE")
_READING = ("SELECT", "VALUES", "TABLE", "MAP", "REDUCE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN")
_AFTER_PARENTHESES = ("UNION", "INTERSECT", "EXCEPT", "MINUS", "ORDER", "LIMIT", "OFFSET")


def only_reads(statement: str) -> bool:
    """Whether it is a query, or a look at metadata.

    >>> [only_reads(s) for s in ("(SELECT 1)", "FROM a INSERT INTO b SELECT *", "DROP TABLE t")]
    [True, False, False]
    """
    words = _outer_words(statement)
    # A query in parentheses has no outer words, or what combines and sorts it.
    return not words or _verb(words) in _READING or words[0] in _AFTER_PARENTHESES


def _verb(words: list[str]) -> str:
    """What it does: of a statement that opens with WITH or FROM, the word that says so later."""
    if words[:1] in (["WITH"], ["FROM"]):
        found = next((word for word in words if word in _WRITING or word in _READING), "")
        return found or ("SELECT" if words[0] == "FROM" else "")
    return words[0] if words else ""


def _outer_words(statement: str) -> list[str]:
    """The words that are not inside parentheses, in upper case; a quoted name is an empty one."""
    words: list[str] = []
    depth = 0
    for token in tokens(statement):
        if token.text == "(":
            depth += 1
        elif token.text == ")":
            depth -= 1
        elif depth == 0 and token.kind is not Kind.END and token.text != ";":
            words.append(token.word)
    return words
