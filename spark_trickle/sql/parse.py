"""Text to sqlglot's tree, with places for messages. What the tree means is the builder's business."""

from __future__ import annotations

from sqlglot import exp, parse, tokens
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from spark_trickle.errors import SqlError, UnsupportedSqlError


class TrickleSpark(Spark):
    """Spark 4's reading of text: a doubled quote inside a string is that quote (sqlglot follows Spark 3)."""

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012 - sqlglot's own way to configure a tokenizer


def parse_query(text: str) -> exp.Query:
    """Read one query."""
    try:
        statements = [statement for statement in parse(text, dialect=TrickleSpark) if statement is not None]
    except ParseError as err:
        first = err.errors[0] if err.errors else {}
        raise SqlError(
            f"cannot read the query: {first.get('description', err)}", line=first.get("line"), column=first.get("col")
        ) from err
    except TokenError as err:
        raise SqlError(f"cannot read the query: {err}") from err
    if len(statements) != 1:
        raise SqlError("one query expected" if statements else "the query is empty")
    statement = statements[0]
    if not isinstance(statement, exp.Query):
        raise SqlError("a query expected", hint="Write SELECT ... or WITH ... SELECT ...")
    return statement


def tokenize(text: str) -> list[tokens.Token]:
    """The words of a text; comments are not among them."""
    try:
        return list(TrickleSpark().tokenize(text))
    except TokenError as err:
        raise SqlError(f"cannot read the query: {err}") from err


def place(text: str, node: exp.Expr | None, keyword: str | None = None) -> tuple[int | None, int | None]:
    """Line and column (from 1) of a node; if the parser kept none, of the first such keyword."""
    start: int | None = None
    if node is not None:
        known = [found.meta["start"] for found in node.walk() if "start" in found.meta]
        start = min(known) if known else None
    if start is None and keyword is not None:
        start = next((token.start for token in tokenize(text) if token.text.upper() == keyword), None)
    if start is None:
        return None, None
    before = text[:start]
    return before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1


def unsupported(
    text: str, node: exp.Expr | None, construct: str, why: str, hint: str | None = None, keyword: str | None = None
) -> UnsupportedSqlError:
    """The error for a construct without a rule, with its place."""
    line, at = place(text, node, keyword)
    return UnsupportedSqlError(construct, why, hint=hint, line=line, column=at)


def wrong(text: str, node: exp.Expr | None, message: str, hint: str | None = None) -> SqlError:
    """The error for a text that means nothing, with its place."""
    line, at = place(text, node)
    return SqlError(message, hint=hint, line=line, column=at)
