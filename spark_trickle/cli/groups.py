"""The command that lists what is published together, and declares and drops refresh groups. Metadata only."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_trickle.cli.session import session_of
from spark_trickle.errors import UserError
from spark_trickle.model.groups import Isolation

Members = Annotated[
    list[str] | None, typer.Argument(help="With --declare: the stream tables of the group.", show_default=False)
]


def groups(
    context: typer.Context,
    members: Members = None,
    declare: Annotated[str | None, typer.Option(help="Declare a refresh group of that name.")] = None,
    isolation: Annotated[Isolation, typer.Option(help="What its members read.")] = Isolation.READ_COMMITTED,
    snapshot_timeout_ms: Annotated[int, typer.Option(help="Go on as read_committed past that; 0: never.")] = 0,
    drop: Annotated[str | None, typer.Option(help="Drop the refresh group of that name.")] = None,
    circles: Annotated[bool, typer.Option("--circles", help="Circles, and their rounds.")] = False,
) -> None:
    """Which stream tables are published together: diamonds, circles and refresh groups."""
    session = session_of(context)
    if circles:
        session.output.show(session.engine.scc_status())
        return
    if declare is not None and drop is not None:
        raise UserError("groups takes --declare or --drop, not both")
    if declare is not None:
        group = session.engine.create_refresh_group(declare, members or [], isolation.value, snapshot_timeout_ms)
        session.output.show([group])
        return
    if members:
        raise UserError("members belong to --declare", hint="For example: trickle groups --declare prices a b")
    if drop is not None:
        session.engine.drop_refresh_group(drop)
    session.output.show(session.engine.groups())
