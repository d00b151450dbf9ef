"""`trickle demo`: a diamond of stream tables kept up to date while its source changes and a reader checks.

sales -> revenue_by_region, revenue_by_product -> exec_summary, whose two totals must be equal at every moment. Only the
command is here; the rest is loaded when it is run, so that other commands start faster.
"""

from __future__ import annotations

from typing import Annotated

import typer

from spark_trickle.cli.serving import Port
from spark_trickle.cli.session import session_of


def demo(
    context: typer.Context,
    seconds: Annotated[float, typer.Option(help="How long changes are written.", min=1)] = 30,
    rows: Annotated[int, typer.Option(help="Sales to begin with.", min=1000)] = 10_000_000,
    serve: Annotated[bool, typer.Option("--serve", help="Show it on the page as well, until Ctrl-C.")] = False,
    port: Port = 8080,
) -> None:
    """Watch a diamond of stream tables stay consistent while its source changes."""
    from spark_trickle.cli.demo_run import demonstrate

    if not demonstrate(session_of(context, makes_lake=True), seconds=seconds, rows=rows, port=port if serve else None):
        raise typer.Exit(1)
