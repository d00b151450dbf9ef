"""Commands that make, change, refresh and check stream tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from spark_trickle.cli.session import Session, read_text, session_of
from spark_trickle.errors import NotFoundError, UserError
from spark_trickle.model.stream_table import RefreshMode

Name = Annotated[str, typer.Argument(help="The stream table: name or namespace.name.", show_default=False)]
Names = Annotated[list[str], typer.Argument(help="Stream tables.", show_default=False)]
SomeNames = Annotated[list[str] | None, typer.Argument(help="Stream tables; none: all.", show_default=False)]
Query = Annotated[str | None, typer.Argument(help="The query; '-' reads it from standard input.", show_default=False)]
QueryOption = Annotated[str | None, typer.Option("--query", help="A new query; '-' reads it from standard input.")]
QueryFile = Annotated[Path | None, typer.Option("--file", help="A file with the query.", exists=True, dir_okay=False)]
Schedule = Annotated[str | None, typer.Option(help="30s, 5m, 1h30m, a cron line, or calculated.")]
Mode = Annotated[RefreshMode | None, typer.Option(help="How it is kept.", case_sensitive=False)]
Set = Annotated[list[str] | None, typer.Option("--set", help="Another option, as name=value; may be repeated.")]


@dataclass(frozen=True, slots=True)
class Dropped:
    """What `drop` took away, for programs."""

    dropped: tuple[str, ...]


def create(  # noqa: PLR0913 - one parameter a flag
    context: typer.Context,
    name: Name,
    query: Query = None,
    file: QueryFile = None,
    schedule: Schedule = None,
    refresh_mode: Mode = None,
    set_option: Set = None,
    or_replace: Annotated[bool, typer.Option("--or-replace", help="Change the one that exists.")] = False,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="Leave the one that exists.")] = False,
) -> None:
    """Create a stream table from a query."""
    text = _query(query, file)
    if text is None:
        raise UserError("a query is missing", hint="Give it as an argument, with --file, or '-' for standard input")
    if or_replace and if_not_exists:
        raise UserError("--or-replace and --if-not-exists exclude each other")
    options = _options(schedule, refresh_mode, set_option)
    session = session_of(context, makes_lake=True)
    engine = session.spark_engine
    with session.working(f"creating '{name}' ..."):
        if or_replace:
            engine.create_or_replace_stream_table(name, text, **options)
        elif if_not_exists:
            engine.create_stream_table_if_not_exists(name, text, **options)
        else:
            engine.create_stream_table(name, text, **options)
    session.output.show(engine.status(name))


def alter(
    context: typer.Context,
    name: Name,
    query: QueryOption = None,
    file: QueryFile = None,
    schedule: Schedule = None,
    refresh_mode: Mode = None,
    set_option: Set = None,
) -> None:
    """Change the options or the query of a stream table."""
    changes = _options(schedule, refresh_mode, set_option)
    text = _query(query, file)
    if text is not None:
        changes["query"] = text
    if not changes:
        raise UserError(
            "nothing to change", hint="Give --query, --file, --schedule, --refresh-mode or --set name=value"
        )
    session = session_of(context)
    _require(session, [name])
    # These are checked by Spark; the rest is metadata.
    engine = session.spark_engine if {"query", "refresh_mode", "strict"} & changes.keys() else session.engine
    with session.working(f"altering '{name}' ..."):
        engine.alter_stream_table(name, **changes)
    session.output.show(engine.status(name))


def drop(
    context: typer.Context,
    name: Name,
    cascade: Annotated[bool, typer.Option("--cascade", help="Drop those that read it as well.")] = False,
    if_exists: Annotated[bool, typer.Option("--if-exists", help="Do nothing if it does not exist.")] = False,
) -> None:
    """Drop a stream table."""
    session = session_of(context)
    try:
        session.engine.status(name)
    except NotFoundError:
        if not if_exists:
            raise
        session.output.progress(f"'{name}' does not exist")
        if session.json:
            session.output.show(Dropped(()))
        return
    # Spark starts only to delete the files, when it is clear that it may be dropped.
    with session.quiet(), session.working(f"dropping '{name}' ..."):
        gone = session.engine.drop_stream_table(name, cascade=cascade)
    if session.json:
        session.output.show(Dropped(tuple(gone)))
    else:
        session.output.progress(f"dropped {', '.join(gone)}")


def refresh(
    context: typer.Context,
    names: SomeNames = None,
    mode: Annotated[RefreshMode | None, typer.Option(help="Force a mode, once.", case_sensitive=False)] = None,
    upstream: Annotated[bool, typer.Option("--upstream", help="Refresh what it reads first, at one cut.")] = False,
) -> None:
    """Refresh stream tables; several are refreshed at one cut and published together."""
    session = session_of(context)
    wanted = names or [table.name for table in session.engine.status()]
    if (mode or upstream) and len(wanted) != 1:
        raise UserError("--mode and --upstream are for one stream table", hint="Name just one")
    _require(session, wanted)
    engine = session.spark_engine
    with session.working(f"refreshing {', '.join(wanted)} ..."):
        if len(wanted) == 1:
            outcomes = [engine.refresh_stream_table(wanted[0], mode=mode, upstream=upstream)]
        else:
            outcomes = list(engine.refresh_stream_tables(wanted)) if wanted else []
    session.output.show(outcomes)


def suspend(context: typer.Context, name: Name) -> None:
    """Stop refreshing a stream table until it is resumed."""
    session = session_of(context)
    session.engine.suspend_stream_table(name)
    session.output.show(session.engine.status(name))


def resume(context: typer.Context, name: Name) -> None:
    """Let a suspended or failed stream table be refreshed again."""
    session = session_of(context)
    session.engine.resume_stream_table(name)
    session.output.show(session.engine.status(name))


def verify(context: typer.Context, names: SomeNames = None) -> None:
    """Compare contents with the query at the frontier; exit code 1 if they differ."""
    session = session_of(context)
    wanted = names or [table.name for table in session.engine.status() if table.populated]
    if not wanted:
        session.output.show([])
        return
    _require(session, wanted)
    engine = session.spark_engine
    results = []
    for name in wanted:
        with session.working(f"verifying '{name}' ..."):
            results.append(engine.verify(name))
    session.output.show(results)
    if not all(results):
        raise typer.Exit(1)


def maintain(context: typer.Context) -> None:
    """Compact stream tables, expire what no frontier needs, remove leftovers."""
    session = session_of(context)
    engine = session.spark_engine
    with session.working("maintaining ..."):
        report = engine.maintain()
    session.output.show(report)


def _require(session: Session, names: Iterable[str]) -> None:
    """Names are checked before Spark starts."""
    for name in names:
        session.engine.status(name)


def _query(text: str | None, file: Path | None) -> str | None:
    if text is not None and file is not None:
        raise UserError("the query is given twice", hint="Use the text or --file")
    if file is not None:
        return read_text(file)
    return sys.stdin.read() if text == "-" else text


def _options(schedule: str | None, mode: RefreshMode | None, others: list[str] | None) -> dict[str, Any]:
    """Keyword arguments of the engine's calls, from flags."""
    from spark_trickle.sql.statements import parse_statement

    options: dict[str, Any] = {}
    for other in others or ():
        key, equals, value = other.partition("=")
        if not equals:
            raise UserError(f"'--set {other}' is not name=value")
        # Read as SQL reads it, so that names are checked and true, 5 and text mean the same in both places.
        literal = value if value.lower() in _CONSTANTS or value.isdecimal() else f"'{value}'"
        statement = parse_statement(f"ALTER STREAM TABLE t SET ({key.strip()} = {literal})")
        options.update(getattr(statement, "options", {}))
    if schedule is not None:
        options["schedule"] = schedule
    if mode is not None:
        options["refresh_mode"] = mode
    return options


_CONSTANTS = ("true", "false", "null")
