"""Commands that run SQL text: `sql` as it comes, `apply` what a folder declares."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spark_trickle.cli.project import Change, ChangeKind, Declared, circles, complete, plan_changes, read_project
from spark_trickle.cli.reading import Limit
from spark_trickle.cli.rows import fetch
from spark_trickle.cli.session import Session, read_text, session_of
from spark_trickle.errors import UserError
from spark_trickle.model.stream_table import Options
from spark_trickle.sql.statements import (
    AlterStreamTable,
    CreateStreamTable,
    ExplainStreamTable,
    ShowStreamTables,
    parse_statement,
    split_statements,
)

if TYPE_CHECKING:
    from spark_trickle.engine import Engine

Dialogue = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def sql(
    context: typer.Context,
    statement: Annotated[
        str | None, typer.Argument(help="SQL, one or more statements; '-' reads standard input.", show_default=False)
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A script.", exists=True, dir_okay=False)] = None,
    limit: Limit = 1000,
) -> None:
    """Run Spark SQL and the statements for stream tables."""
    script = _script(statement, file)
    statements = split_statements(script)
    if not statements:
        raise UserError("there is no statement to run")
    session = session_of(context, makes_lake=True)
    engine = session.spark_engine
    answers: list[Answered] = []
    try:
        for text, _line in statements:
            with session.working(_first_words(text)):
                answer = _answer(engine, text, limit)
            if session.json and len(statements) > 1:
                answers.append(Answered(text, _listed(answer)))
            elif answer is not None or session.json:
                session.output.show(_listed(answer))
    finally:
        # One document for all, also where a later statement failed: what was done, was done.
        if answers:
            session.output.show(answers)


@dataclass(frozen=True, slots=True)
class Answered:
    """One of several statements, for programs."""

    statement: str
    answer: object


def _listed(answer: object) -> object:
    """Rows by the names of their columns where they are part of something."""
    return [] if answer is None else answer


def _answer(engine: Engine, text: str, limit: int) -> object:
    """What one statement has to show: rows, or for our own what the command of the same name shows."""
    match parse_statement(text):
        case CreateStreamTable(name=name) | AlterStreamTable(name=name):
            engine.sql(text)
            return engine.status(name)
        case ShowStreamTables():
            return engine.status()
        case ExplainStreamTable(name):
            return engine.explain(name)
        case _:
            rows = fetch(engine.sql(text), limit)
            return rows if rows.columns else None


@dataclass(frozen=True, slots=True)
class Applied:
    """What `apply` planned, and whether it did it."""

    applied: bool
    plan: tuple[Change, ...]


def apply(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A folder of .sql files.", exists=True, file_okay=False)],
    yes: Dialogue = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")] = False,
) -> None:
    """Make the stream tables what a folder of .sql files declares; the plan is shown first."""
    session = session_of(context, makes_lake=True)
    declared = read_project(folder)
    defaults = _defaults(session)
    plan = plan_changes(declared, {table.name: table for table in session.engine.stream_tables()}, defaults)
    pending = [change for change in plan if change.kind is not ChangeKind.UNCHANGED]
    if dry_run or not pending:
        session.output.show(Applied(False, plan) if session.json else list(plan))
        return
    if not session.json:
        session.output.show(list(plan))
    if not yes and not _agreed(len(pending)):
        raise typer.Exit(1)
    for change in _made_together(session, pending, declared, defaults):
        _carry_out(session, change, declared, defaults)
    if session.json:
        session.output.show(Applied(True, plan))


def _made_together(
    session: Session, pending: list[Change], declared: tuple[Declared, ...], defaults: Options
) -> Iterator[Change]:
    """The changes one by one; stream tables that read each other are made first and together, where they are new."""
    items = {str(item.makes): item for item in declared}
    rings = {str(name): circle for circle in circles(declared) for name in circle}
    new = {change.name for change in pending if change.kind is ChangeKind.CREATE}
    made: set[str] = set()
    for change in pending:
        ring = sorted(str(name) for name in rings.get(change.name, ()) if str(name) in new - made)
        if len(ring) > 1:
            tables = {name: table for name in ring if (table := items[name].stream_table) is not None}
            first: dict[str, Any] = complete(tables[ring[0]].options, defaults)
            initialize = all(bool(table.options.get("initialize", True)) for table in tables.values())
            with session.working(f"create {', '.join(ring)} ..."):
                queries = {table.name: table.query for table in tables.values()}
                session.spark_engine.create_stream_tables(queries, initialize=initialize, **first)
            made.update(ring)
            # One call has the same options for all.
            for name in ring[1:]:
                changes: dict[str, Any] = complete(tables[name].options, defaults)
                session.spark_engine.alter_stream_table(tables[name].name, **changes)
        if change.name not in made:
            yield change


def _carry_out(session: Session, change: Change, declared: tuple[Declared, ...], defaults: Options) -> None:
    engine = session.spark_engine
    item = next(item for item in declared if (item.file, item.line) == (change.file, change.line))
    with session.working(f"{change.kind} {change.name} ({change.file}:{change.line}) ..."):
        if item.stream_table is None:
            engine.sql(item.text)
            return
        table = item.stream_table
        options: dict[str, Any] = complete(table.options, defaults)
        initialize = bool(table.options.get("initialize", True))
        engine.create_or_replace_stream_table(table.name, table.query, initialize=initialize, **options)


def _defaults(session: Session) -> Options:
    """What an option means that is not written: settings have a say in two of them."""
    settings = session.engine.settings
    return Options(
        diamond_consistency=settings.diamond_consistency, diamond_schedule_policy=settings.diamond_schedule_policy
    )


def _agreed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise UserError(f"{count} changes are planned and nobody can be asked", hint="Use --yes, or --dry-run to look")
    return typer.confirm(f"Make {count} changes?", err=True)


def _script(statement: str | None, file: Path | None) -> str:
    if statement is not None and file is not None:
        raise UserError("SQL is given twice", hint="Use the argument or --file")
    if file is not None:
        return read_text(file)
    if statement is not None and statement != "-":
        return statement
    if statement is None and sys.stdin.isatty():
        raise UserError("there is no statement to run", hint="Give SQL as an argument, --file, or on standard input")
    return sys.stdin.read()


def _first_words(text: str, width: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 4]} ..."
