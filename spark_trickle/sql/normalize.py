"""Two texts of one query: equal if white space, comments, a last semicolon and the case of keywords are the only
differences.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from spark_trickle.sql.parse import tokenize


def normalized(query: str) -> str:
    """The text for comparing. Names keep their case, because the case of an output name shows.

    >>> normalized("select a, SUM(b),  'X y'  FROM `t`; -- why")
    "select `a` , sum ( `b` ) , 'X y' from `t`"
    """
    tokens = tokenize(query)
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    words = []
    for position, word in enumerate(tokens):
        called = tokens[position + 1 : position + 2] and tokens[position + 1].token_type == TokenType.L_PAREN
        if word.token_type == TokenType.STRING:
            words.append("'" + word.text.replace("\\", "\\\\").replace("'", "\\'") + "'")
        elif word.token_type == TokenType.IDENTIFIER or (word.token_type == TokenType.VAR and not called):
            words.append("`" + word.text.replace("`", "``") + "`")
        else:
            words.append(word.text.lower())
    return " ".join(words)
