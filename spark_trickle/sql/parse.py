"""Text to sqlglot's tree, with places for messages. What the tree means is the builder's business."""

from __future__ import annotations

import itertools
import re
from typing import Any, ClassVar

from sqlglot import exp, parse
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from spark_trickle.errors import SqlError, UnsupportedSqlError
from spark_trickle.sql.intervals import IntervalParser
from spark_trickle.sql.pipes import PipeParser
from spark_trickle.sql.refusals import Refused, refused

_UNDERSTOOD = ("COUNT", "SUM", "AVG", "MIN", "MAX")
_SPECIAL_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING", "OVERLAY", "CEIL", "FLOOR")
_QUANTIFIERS = (TokenType.ALL, TokenType.DISTINCT)


class TrickleSpark(Spark):
    """Spark 4's SQL, read so that it is written again as it was.

    sqlglot would translate functions into its own and back, not always into the same; here all but a few stay calls by
    name. A doubled quote inside a string is that quote (sqlglot follows Spark 3). `1.5BD` stays a name, which binding
    understands: here it would be rounded. `v:a.b` is read. ALL in GROUP BY and ORDER BY stays a name: it may be a
    column's.
    """

    SUPPORTS_ORDER_BY_ALL = False

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        NUMERIC_LITERALS: ClassVar[dict[str, str]] = {
            suffix: kind for suffix, kind in Spark.Tokenizer.NUMERIC_LITERALS.items() if suffix != "BD"
        }

    class Generator(SparkGenerator):
        TYPE_MAPPING: ClassVar[dict[Any, Any]] = {**SparkGenerator.TYPE_MAPPING, exp.DType.TIME: "TIME"}

    class Parser(IntervalParser, PipeParser):
        COLON_IS_VARIANT_EXTRACT = True
        RANGE_PARSERS: ClassVar[dict[Any, Any]] = {
            kind: read for kind, read in SparkParser.RANGE_PARSERS.items() if kind != TokenType.FOR
        }
        PRIMARY_PARSERS: ClassVar[dict[Any, Any]] = {
            **SparkParser.PRIMARY_PARSERS,
            TokenType.TRUE: lambda _, token: _true(token),
        }
        UNARY_PARSERS: ClassVar[dict[Any, Any]] = {
            **SparkParser.UNARY_PARSERS,
            TokenType.DASH: lambda self: _negative(self._parse_unary()),
            # No decoration: it makes a number of a text.
            TokenType.PLUS: lambda self: exp.Anonymous(this="positive", expressions=[self._parse_unary()]),
        }
        ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}  # `array(1, 2)[0]` and `list[0]` are elements, and no arrays
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}  # `current_user` may be a column: Spark looks for one first
        FUNCTIONS: ClassVar[dict[str, Any]] = {name: SparkParser.FUNCTIONS[name] for name in _UNDERSTOOD}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: SparkParser.FUNCTION_PARSERS[name] for name in _SPECIAL_SYNTAX
        }

        def parse(self, raw_tokens: list[Token], sql: str = "") -> list[exp.Expr | None]:
            found = list(raw_tokens)
            for place, (token, after) in enumerate(itertools.pairwise(raw_tokens)):
                kinds = (token.token_type, after.token_type)
                if kinds == (TokenType.WINDOW, TokenType.L_PAREN):
                    # `GROUP BY window(ts, '1 hour')` is no WINDOW clause: that would begin with a name.
                    found[place] = _name(token)
                elif kinds == (TokenType.GROUP_BY, TokenType.ALL):
                    found[place + 1] = _name(after)
                elif kinds[0] in _QUANTIFIERS and kinds[1] == TokenType.COMMA:
                    found[place] = _name(token)  # nothing is quantified: `SELECT all, city` has two columns
            return super().parse(found, sql)

        def _parse_pivot_aggregation(self) -> exp.Expr | None:
            # sqlglot takes a function only; Spark any expression over aggregates.
            found = self._parse_disjunction()
            return None if found is None else self._parse_alias(found)


# NUL as sqlglot writes it, before two more octal digits, is another character for Spark.
TrickleSpark.ESCAPED_SEQUENCES = {**Spark.ESCAPED_SEQUENCES, "\0": "\\u0000"}


def _negative(value: exp.Expr | None) -> exp.Expr:
    """A minus sign belongs to the number behind it: -128Y is a TINYINT, 128 is none."""
    if (
        isinstance(value, exp.Cast)
        and isinstance(value.this, exp.Literal)
        and value.is_type(*exp.DataType.INTEGER_TYPES)
    ):
        value.set("this", exp.Neg(this=value.this))
        return value
    return exp.Neg(this=value)


def _name(token: Token) -> Token:
    """The same word as a name."""
    return Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end, token.comments)


def _true(token: Token) -> exp.Boolean:
    """A TRUE that was written, in contrast to the one that sqlglot gives a join without ON."""
    found = exp.true()
    found.meta["start"] = token.start
    return found


def parse_query(text: str) -> exp.Query:
    """Read one query."""
    try:
        statements = [statement for statement in parse(text, dialect=TrickleSpark) if statement is not None]
    except ParseError as err:
        first = err.errors[0] if err.errors else {}
        said = str(first.get("description", err))
        missing = re.search(r"missing for <class '[\w.]*?(\w+)'>", said)
        said = f"something is missing in {missing[1].upper()}" if missing else said
        raise SqlError(f"cannot read the query: {said}", line=first.get("line"), column=first.get("col")) from err
    except TokenError as err:
        raise SqlError(f"cannot read the query: {err}") from err
    if len(statements) != 1:
        raise SqlError("one query expected" if statements else "the query is empty")
    statement = statements[0]
    if isinstance(statement, exp.Values):
        statement = _selected(statement)
    if not isinstance(statement, exp.Query):
        raise SqlError("a query expected", hint="Write SELECT ... or WITH ... SELECT ...")
    if isinstance(statement, exp.Select) and not statement.expressions:
        raise SqlError("SELECT without columns")
    return statement


def _selected(values: exp.Values) -> exp.Select:
    """VALUES as a query of its own."""
    selected = exp.select("*").from_(values, copy=False)
    for clause in ("order", "limit", "offset"):
        selected.set(clause, values.args.pop(clause, None))
    return selected


def tokenize(text: str) -> list[Token]:
    """The words of a text; comments are not among them."""
    try:
        return list(TrickleSpark().tokenize(text))
    except TokenError as err:
        raise SqlError(f"cannot read the query: {err}") from err


def place(text: str, node: exp.Expr | None, keyword: str | None = None) -> tuple[int | None, int | None]:
    """Line and column (from 1) of a node, or of the keyword that introduces it."""
    known = [found.meta["start"] for found in node.walk() if "start" in found.meta] if node is not None else []
    start: int | None = min(known) if known else None
    if keyword is not None:
        words = [token.start for token in tokenize(text) if token.text.upper() == keyword]
        before = [found for found in words if start is None or found <= start]
        if before:
            start = before[0] if start is None else before[-1]
    if start is None:
        return None, None
    above = text[:start]
    return above.count("\n") + 1, start - (above.rfind("\n") + 1) + 1


def unsupported(
    text: str, node: exp.Expr | None, what: Refused, at: str | None = None, **said: str
) -> UnsupportedSqlError:
    """The error for a construct without a rule, with its place.

    Args:
        at: the keyword that introduces it.
        said: what its words in braces stand for.
    """
    line, column = place(text, node, at)
    return refused(what, line=line, column=column, **said)


def wrong(text: str, node: exp.Expr | None, message: str, hint: str | None = None) -> SqlError:
    """The error for a text that means nothing, with its place."""
    line, at = place(text, node)
    return SqlError(message, hint=hint, line=line, column=at)
