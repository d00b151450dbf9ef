"""Commands about fuses: listing them, and going on after one has blown. Metadata only."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_trickle.cli.session import session_of
from spark_trickle.model.fuse import FuseAction

app = typer.Typer(help="Limits of changes past which a refresh waits for somebody to look.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def fuse(context: typer.Context) -> None:
    """Without a command: the fuse of each stream table."""
    if context.invoked_subcommand is None:
        session = session_of(context)
        session.output.show(session.engine.fuse_status())


@app.command()
def reset(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A stream table.", show_default=False)],
    action: Annotated[FuseAction, typer.Option(help="What becomes of the change.")] = FuseAction.APPLY,
) -> None:
    """Go on after a fuse has blown."""
    session = session_of(context)
    session.output.show([session.engine.reset_fuse(name, action.value)])
