"""Commands that close and open the gates of sources, and list them. Metadata only: without Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_trickle.cli.session import session_of

Sources = Annotated[list[str], typer.Argument(help="Tables; they need not exist yet.", show_default=False)]


def gate(
    context: typer.Context,
    sources: Sources,
    auto_ungate_on_watermark: Annotated[
        bool, typer.Option("--auto-ungate-on-watermark", help="Let the first watermark open it.")
    ] = False,
) -> None:
    """Hold all that depends on these tables until they are ungated."""
    session = session_of(context, makes_lake=True)
    session.output.show(session.engine.gate_sources(sources, auto_ungate_on_watermark))


def ungate(context: typer.Context, sources: Sources) -> None:
    """Say that these tables are loaded: what waited for them is refreshed."""
    session = session_of(context)
    session.output.show(session.engine.ungate_sources(sources))


def gates(
    context: typer.Context,
    history: Annotated[bool, typer.Option("--history", help="When gates were closed and opened, and by whom.")] = False,
) -> None:
    """Which sources are gated, for how long, and whom that holds."""
    session = session_of(context)
    session.output.show(session.engine.gate_history() if history else session.engine.bootstrap_gate_status())
