"""Our own SQL statements as values: {CREATE | ALTER | REFRESH | DROP | EXPLAIN} STREAM TABLE, {CREATE | SHOW} STREAM
TABLES, CALL.

Everything else is plain Spark SQL and comes back as None. Queries inside the statements are kept as written: parsing
them is not this module's business, and what the statements do is the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

from spark_trickle.model.stream_table import Options, RefreshMode
from spark_trickle.sql.cursor import Cursor
from spark_trickle.sql.cutting import split_statements
from spark_trickle.sql.lexer import Kind, Token, tokens, unquote

__all__ = [
    "AlterStreamTable",
    "Call",
    "CreateStreamTable",
    "CreateStreamTables",
    "DropStreamTable",
    "ExplainStreamTable",
    "RefreshStreamTable",
    "ShowStreamTables",
    "Statement",
    "Value",
    "parse_statement",
    "split_statements",
]

Value = str | int | float | bool | None | tuple["Value", ...]
"""What a literal stands for."""

OPTION_NAMES = (*(f.name for f in fields(Options)), "initialize")
"""What WITH (...) and SET (...) accept: the keyword arguments of `create_stream_table`."""

SCHEMA = "trickle"
"""`CALL trickle.<function>(...)` is ours; other procedures are Spark's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateStreamTable:
    name: str
    """As `TableName.parse` reads it; backquotes are kept."""
    query: str
    """As written, comments included, up to its last word."""
    options: Mapping[str, Value] = field(default_factory=dict)
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateStreamTables:
    """Several that may read each other."""

    queries: Mapping[str, str]
    options: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterStreamTable:
    """Either options or a query is given, never both."""

    name: str
    options: Mapping[str, Value] = field(default_factory=dict)
    query: str | None = None


@dataclass(frozen=True, slots=True)
class RefreshStreamTable:
    names: tuple[str, ...]
    """Several are refreshed at one cut and published together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropStreamTable:
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class ExplainStreamTable:
    name: str


@dataclass(frozen=True, slots=True)
class ShowStreamTables:
    pass


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of the engine's methods."""

    function: str
    args: tuple[Value, ...] = ()
    kwargs: Mapping[str, Value] = field(default_factory=dict)


Statement = (
    CreateStreamTable
    | CreateStreamTables
    | AlterStreamTable
    | RefreshStreamTable
    | DropStreamTable
    | ExplainStreamTable
    | ShowStreamTables
    | Call
)


def parse_statement(text: str) -> Statement | None:
    """Read one statement; None when it is not one of ours.

    >>> parse_statement("drop stream table if exists totals cascade;")
    DropStreamTable(name='totals', if_exists=True, cascade=True)
    >>> parse_statement("DROP TABLE totals") is None
    True
    """
    for opening, example, read in _STATEMENTS:
        if _opens(text, opening):
            cursor = Cursor(text, example)
            statement = read(cursor)
            cursor.finish()
            return statement
    return None


def _opens(text: str, opening: str) -> bool:
    # Only as many words are read as needed: a fault further on in plain Spark SQL is Spark's to report.
    return all(token.word == word for word, token in zip(opening.split(), tokens(text), strict=False))


def _create(cursor: Cursor) -> CreateStreamTable:
    cursor.need("CREATE")
    or_replace = cursor.take("OR REPLACE")
    cursor.need("STREAM TABLE")
    found = cursor.token
    if_not_exists = cursor.take("IF NOT EXISTS")
    if or_replace and if_not_exists:
        raise cursor.wrong("OR REPLACE and IF NOT EXISTS exclude each other", found)
    name = _name(cursor)
    options: dict[str, Value] = {}
    while not cursor.take("AS"):
        _clause(cursor, options)
    return CreateStreamTable(
        name=name, query=cursor.query(), options=options, or_replace=or_replace, if_not_exists=if_not_exists
    )


def _create_several(cursor: Cursor) -> CreateStreamTables:
    """`a AS (query), b AS (query) SCHEDULE '1m'`: queries in parentheses, then the options of all."""
    cursor.need("CREATE STREAM TABLES")
    queries: dict[str, str] = {}
    while not queries or cursor.take(","):
        found = cursor.token
        name = _name(cursor)
        if name in queries:
            raise cursor.wrong(f"'{name}' is given twice", found)
        cursor.need("AS")
        queries[name] = cursor.in_parentheses()
    options: dict[str, Value] = {}
    while cursor.token.kind is not Kind.END and cursor.token.text != ";":
        _clause(cursor, options)
    return CreateStreamTables(queries=queries, options=options)


def _clause(cursor: Cursor, options: dict[str, Value]) -> None:
    found = cursor.token
    if cursor.take("SCHEDULE"):
        token = cursor.next()
        if token.kind not in (Kind.STRING, Kind.WORD):
            raise cursor.expected("a schedule such as '1m', '0 * * * *' or 'calculated'", token)
        _set(cursor, options, "schedule", unquote(token) if token.kind is Kind.STRING else token.text, found)
    elif cursor.take("REFRESH MODE"):
        token = cursor.next()
        mode = unquote(token).upper() if token.kind is Kind.STRING else token.word
        if mode not in set(RefreshMode):
            raise cursor.expected(f"a refresh mode ({', '.join(RefreshMode)})", token)
        _set(cursor, options, "refresh_mode", mode, found)
    elif cursor.take("WITH"):
        _options(cursor, options)
    else:
        raise cursor.expected("SCHEDULE, REFRESH MODE, WITH (...) or AS and a query")


def _alter(cursor: Cursor) -> AlterStreamTable:
    cursor.need("ALTER STREAM TABLE")
    name = _name(cursor)
    if cursor.take("AS"):
        return AlterStreamTable(name=name, query=cursor.query())
    if not cursor.take("SET"):
        raise cursor.expected("SET (...) or AS and a query")
    options: dict[str, Value] = {}
    _options(cursor, options)
    return AlterStreamTable(name=name, options=options)


def _refresh(cursor: Cursor) -> RefreshStreamTable:
    cursor.need("REFRESH STREAM TABLE")
    names = [_name(cursor)]
    while cursor.take(","):
        names.append(_name(cursor))
    return RefreshStreamTable(tuple(names))


def _drop(cursor: Cursor) -> DropStreamTable:
    cursor.need("DROP STREAM TABLE")
    if_exists = cursor.take("IF EXISTS")
    return DropStreamTable(name=_name(cursor), if_exists=if_exists, cascade=cursor.take("CASCADE"))


def _explain(cursor: Cursor) -> ExplainStreamTable:
    cursor.need("EXPLAIN STREAM TABLE")
    return ExplainStreamTable(_name(cursor))


def _show(cursor: Cursor) -> ShowStreamTables:
    cursor.need("SHOW STREAM TABLES")
    return ShowStreamTables()


def _call(cursor: Cursor) -> Call:
    cursor.need("CALL TRICKLE .")
    function = cursor.next()
    if function.kind is not Kind.WORD:
        raise cursor.expected("the name of a function", function)
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    cursor.need("(")
    while not cursor.take(")"):
        if (args or kwargs) and not cursor.take(","):
            raise cursor.expected("',' or ')'")
        _argument(cursor, args, kwargs)
    return Call(function.text.lower(), tuple(args), kwargs)


def _argument(cursor: Cursor, args: list[Value], kwargs: dict[str, Value]) -> None:
    found = cursor.token
    name = found.text.lower() if found.kind is Kind.WORD else ""
    if name and cursor.take(f"{found.word} =>"):
        if name in kwargs:
            raise cursor.wrong(f"argument '{name}' is given twice", found)
        kwargs[name] = _literal(cursor)
        return
    value = _literal(cursor)
    if kwargs:
        raise cursor.wrong("an argument without a name follows a named one", found)
    args.append(value)


def _name(cursor: Cursor) -> str:
    """A table name of one or more parts, as `TableName.parse` reads it."""
    parts: list[str] = []
    while True:
        token = cursor.next()
        if token.kind not in (Kind.WORD, Kind.QUOTED) or token.text == "``":
            raise cursor.expected("a table name (quote it with backquotes if it is an unusual one)", token)
        parts.append(token.text)
        if not cursor.take("."):
            return ".".join(parts)


def _options(cursor: Cursor, options: dict[str, Value]) -> None:
    """`(name = value, ...)`; a value may also be a bare word, as in `fuse = on`."""
    cursor.need("(")
    while True:
        found = cursor.next()
        name = (unquote(found) if found.kind is Kind.STRING else found.text.strip("`")).lower()
        if name not in OPTION_NAMES:
            raise cursor.expected(f"an option ({', '.join(OPTION_NAMES)})", found)
        cursor.need("=")
        _set(cursor, options, name, _literal(cursor, bare_words=True), found)
        if cursor.take(")"):
            return
        if not cursor.take(","):
            raise cursor.expected("',' or ')'")


def _set(cursor: Cursor, options: dict[str, Value], name: str, value: Value, found: Token) -> None:
    if name in options:
        raise cursor.wrong(f"'{name}' is given twice", found)
    options[name] = value


def _literal(cursor: Cursor, *, bare_words: bool = False) -> Value:
    sign = -1 if cursor.take("-") else 1
    token = cursor.next()
    if token.kind is Kind.NUMBER:
        return sign * (int(token.text) if token.text.isdecimal() else float(token.text))
    if sign < 0:
        raise cursor.expected("a number after '-'", token)
    if token.kind is Kind.STRING:
        return unquote(token)
    if token.word in _CONSTANTS:
        return _CONSTANTS[token.word]
    if token.word in ("TIMESTAMP", "DATE") and cursor.token.kind is Kind.STRING:
        return unquote(cursor.next())
    if token.word == "ARRAY" and cursor.take("("):
        return _array(cursor)
    if bare_words and token.kind is Kind.WORD:
        return token.text
    raise cursor.expected("a value: 'text', a number, true, false, NULL or array('a', 'b')", token)


def _array(cursor: Cursor) -> tuple[Value, ...]:
    items: list[Value] = []
    while not cursor.take(")"):
        if items and not cursor.take(","):
            raise cursor.expected("',' or ')'")
        items.append(_literal(cursor))
    return tuple(items)


_CONSTANTS: dict[str, Value] = {"TRUE": True, "FALSE": False, "NULL": None}

_CREATE_EXAMPLE = (
    "CREATE STREAM TABLE totals SCHEDULE '1m' REFRESH MODE DIFFERENTIAL "
    "AS SELECT region, SUM(amount) AS total FROM orders GROUP BY region"
)

_STATEMENTS: tuple[tuple[str, str, Callable[[Cursor], Statement]], ...] = (
    ("CREATE STREAM TABLES", "CREATE STREAM TABLES a AS (SELECT ...), b AS (SELECT ...)", _create_several),
    ("CREATE STREAM", _CREATE_EXAMPLE, _create),
    ("CREATE OR REPLACE STREAM", _CREATE_EXAMPLE, _create),
    ("ALTER STREAM", "ALTER STREAM TABLE totals SET (schedule = '5m')", _alter),
    ("REFRESH STREAM TABLE", "REFRESH STREAM TABLE totals", _refresh),
    ("DROP STREAM", "DROP STREAM TABLE totals CASCADE", _drop),
    ("EXPLAIN STREAM", "EXPLAIN STREAM TABLE totals", _explain),
    ("SHOW STREAM", "SHOW STREAM TABLES", _show),
    (f"CALL {SCHEMA.upper()} .", "CALL trickle.refresh_stream_table('totals', mode => 'FULL')", _call),
)
"""How a statement of ours begins, an example of it, and what reads the rest."""
