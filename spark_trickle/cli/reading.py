"""Commands that only look. All but `changes` and `explain --query` answer from metadata, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from spark_trickle.cli.rows import fetch
from spark_trickle.cli.session import session_of
from spark_trickle.cli.tables import Name
from spark_trickle.cli.trouble import SOMETHING_WRONG, troubles
from spark_trickle.errors import UserError
from spark_trickle.views import GraphFormat

OptionalName = Annotated[str | None, typer.Argument(help="The stream table; none: all.", show_default=False)]
Limit = Annotated[int, typer.Option(help="Show at most that many rows.", min=1)]


@dataclass(frozen=True, slots=True)
class GraphText:
    """A drawn graph; JSON output says how it is written."""

    format: str
    graph: str

    def __str__(self) -> str:
        return self.graph


def status(
    context: typer.Context,
    name: OptionalName = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if one failed, is suspended, or is later than its schedule.")
    ] = False,
) -> None:
    """How each stream table is doing."""
    session = session_of(context)
    found = session.engine.status(name)
    session.output.show(found)
    if not check:
        return
    shown = {each.name for each in (found if isinstance(found, list) else [found])}
    trouble = [each for each in troubles(session.engine.watch.moment()) if each.name in shown]
    for each in trouble:
        session.output.progress(str(each))
    if trouble:
        raise typer.Exit(SOMETHING_WRONG)


def why(context: typer.Context, name: Name) -> None:
    """Why a stream table is not refreshing, and what to do."""
    session = session_of(context)
    session.output.show(session.engine.why(name))


def explain(
    context: typer.Context,
    name: OptionalName = None,
    query: Annotated[str | None, typer.Option(help="Explain a query that is no stream table yet.")] = None,
) -> None:
    """How a stream table is kept: operators, delta SQL, mode and why."""
    session = session_of(context)
    if (name is None) == (query is None):
        raise UserError("explain takes the name of a stream table, or --query and a query")
    if query is not None:
        session.output.show(session.spark_engine.explain_query(query))
    elif name is not None:
        session.output.show(session.engine.explain(name))


def history(context: typer.Context, name: OptionalName = None, limit: Limit = 20) -> None:
    """The last refreshes, newest first."""
    session = session_of(context)
    session.output.show(session.engine.history(name, limit=limit))


def sla(context: typer.Context, name: OptionalName = None) -> None:
    """How often the schedule was kept: of the changes taken in, how many in time; over a day and a week."""
    session = session_of(context)
    session.output.show(session.engine.sla(name))


def graph(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Only what this one reads.", show_default=False)] = None,
    format: Annotated[GraphFormat, typer.Option(help="How it is drawn.")] = GraphFormat.TEXT,
) -> None:
    """What reads what."""
    session = session_of(context)
    if name is not None and format is not GraphFormat.TEXT:
        raise UserError(f"a single tree is drawn as text only, not as {format}", hint="Leave out the name or --format")
    if name is not None:
        session.engine.status(name)
    text = session.engine.graph(format=format) if name is None else session.engine.dependency_tree(name)
    session.output.show(GraphText(format, text or "no stream tables yet"))


def changes(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Any Iceberg table of the lake.", show_default=False)],
    since: Annotated[int | None, typer.Option(help="Snapshot id to start after; none: the beginning.")] = None,
    until: Annotated[int | None, typer.Option(help="Snapshot id to end with; none: the current one.")] = None,
    limit: Limit = 100,
) -> None:
    """Rows that changed between two snapshots, with `_weight`: positive added, negative removed."""
    session = session_of(context)
    engine = session.spark_engine
    with session.working(f"reading the changes of '{name}' ..."):
        rows = fetch(engine.changes(name, since=since, until=until), limit)
    session.output.show(rows)
