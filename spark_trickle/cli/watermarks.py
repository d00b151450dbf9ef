"""Commands about watermarks: advancing them, columns that do, groups of sources, and how far all of them are."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_trickle.cli.session import session_of
from spark_trickle.errors import UserError
from spark_trickle.model.watermark import WatermarkMode

app = typer.Typer(help="How far sources are complete, and which belong together in time.", rich_markup_mode=None)

Source = Annotated[str, typer.Argument(help="A table.", show_default=False)]


@app.callback(invoke_without_command=True)
def watermark(context: typer.Context) -> None:
    """Without a command: how far apart the sources of each group are, and whom it governs."""
    if context.invoked_subcommand is None:
        session = session_of(context)
        session.output.show(session.engine.watermark_status())


@app.command()
def advance(
    context: typer.Context,
    source: Source,
    moment: Annotated[str, typer.Argument(help="Such as 2026-03-01T12:00:00Z.", show_default=False)],
) -> None:
    """Say that a table is complete up to a moment."""
    session = session_of(context)
    session.output.show([session.engine.advance_watermark(source, moment)])


@app.command()
def column(
    context: typer.Context,
    source: Source,
    name: Annotated[str | None, typer.Argument(help="A column of moments.", show_default=False)] = None,
    delay: Annotated[str, typer.Option(help="How much later rows may come.")] = "0s",
    none: Annotated[bool, typer.Option("--none", help="Let no column advance it any more.")] = False,
) -> None:
    """Let a column's largest value advance the watermark of its table."""
    if (name is None) != none:
        raise UserError("name a column, or --none", hint="For example: trickle watermark column orders placed_at")
    session = session_of(context)
    row = session.engine.set_watermark_column(source, name, delay)
    session.output.show([] if row is None else [row])


@app.command()
def group(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The name of the group.", show_default=False)],
    sources: Annotated[list[str], typer.Argument(help="Tables, two or more.", show_default=False)],
    tolerance: Annotated[str, typer.Option(help="How far apart they may be.")] = "0s",
    mode: Annotated[WatermarkMode, typer.Option(help="Wait, or read what all have.")] = WatermarkMode.GATE,
) -> None:
    """Declare that tables belong together in time."""
    session = session_of(context)
    session.output.show([session.engine.create_watermark_group(name, sources, tolerance, mode.value)])


@app.command()
def drop(context: typer.Context, name: Annotated[str, typer.Argument(help="A group.", show_default=False)]) -> None:
    """Drop a watermark group; the watermarks stay."""
    session = session_of(context)
    session.engine.drop_watermark_group(name)
    session.output.show(session.engine.watermark_groups())


@app.command(name="list")
def list_(
    context: typer.Context,
    groups: Annotated[bool, typer.Option("--groups", help="The groups, as they were declared.")] = False,
) -> None:
    """The watermark of each source."""
    session = session_of(context)
    session.output.show(session.engine.watermark_groups() if groups else session.engine.watermarks())
