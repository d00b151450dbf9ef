"""The door of the command line: global options, the list of commands, and the one place where errors end.

Nothing heavy is imported here or by the command modules: `trickle status` should answer before Spark could even load.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from spark_trickle import __version__
from spark_trickle.cli import (
    demo,
    doctor,
    fuses,
    gates,
    groups,
    reading,
    scheduling,
    scripts,
    serving,
    tables,
    watermarks,
)
from spark_trickle.cli.lines import show_notices
from spark_trickle.cli.output import OutputFormat, output_for
from spark_trickle.cli.session import Session, session_of
from spark_trickle.errors import StreamTableError

UNKNOWN_ERROR = 70
INTERRUPTED = 130

app = typer.Typer(
    name="trickle",
    help="Stream tables for Apache Iceberg: queries kept up to date incrementally, on Spark.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

COMMANDS: tuple[Callable[..., None], ...] = (
    demo.demo,
    scripts.sql,
    scripts.apply,
    tables.create,
    tables.alter,
    tables.drop,
    tables.refresh,
    tables.suspend,
    tables.resume,
    tables.verify,
    tables.maintain,
    scheduling.tick,
    scheduling.run,
    reading.status,
    reading.why,
    reading.explain,
    reading.history,
    reading.sla,
    reading.graph,
    reading.changes,
    gates.gate,
    gates.ungate,
    gates.gates,
    groups.groups,
    serving.serve,
    doctor.doctor,
)

for _command in COMMANDS:
    app.command()(_command)
app.add_typer(watermarks.app, name="watermark")
app.add_typer(fuses.app, name="fuse")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"spark-trickle {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    warehouse: Annotated[str | None, typer.Option(help="Folder or address of the warehouse.")] = None,
    catalog: Annotated[str | None, typer.Option(help="Address of the catalog database.")] = None,
    output: Annotated[OutputFormat, typer.Option(help="How results are printed.")] = OutputFormat.TEXT,
    debug: Annotated[bool, typer.Option("--debug", help="Show the trace of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Options before the command; they are also understood after it."""
    session = session_of(context)
    session.warehouse, session.catalog, session.debug = warehouse, catalog, debug
    session.output = output_for(output)
    show_notices(session.output)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line and end the process with its exit code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command line; the exit code."""
    session = Session()
    return guarded(session, lambda: _run(session, arguments))


def guarded(session: Session, work: Callable[[], int]) -> int:
    """The one place where errors end: as a line on standard error and an exit code."""
    try:
        return work()
    except StreamTableError as err:
        return _failed(session, err, err.exit_code)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`trickle history | head`): not an error.
        sys.stdout = sys.stderr
        return 0
    except Exception as err:  # noqa: BLE001 - the boundary
        hint = None if session.debug else "this is not an error we know; --debug shows its trace"
        return _failed(session, err, UNKNOWN_ERROR, hint)
    finally:
        session.close()


def _run(session: Session, arguments: Sequence[str]) -> int:
    try:
        app(args=hoist(arguments), prog_name="trickle", obj=session)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    return 0


def _failed(session: Session, err: Exception, code: int, hint: str | None = None) -> int:
    if session.debug:
        traceback.print_exception(err, file=sys.stderr)
    session.output.error(err, hint)
    return code


_GLOBAL_OPTIONS = ("--warehouse", "--catalog", "--output")


def hoist(arguments: Sequence[str]) -> list[str]:
    """Move global options that stand after the command to before it.

    >>> hoist(["status", "--output", "json", "sales"])
    ['--output', 'json', 'status', 'sales']
    """
    front: list[str] = []
    rest: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--":
            rest += [argument, *remaining]
        elif argument in _GLOBAL_OPTIONS:
            front += [argument, *([value] if (value := next(remaining, None)) is not None else [])]
        elif argument == "--debug" or argument.split("=", 1)[0] in _GLOBAL_OPTIONS:
            front.append(argument)
        else:
            rest.append(argument)
    return front + rest


if __name__ == "__main__":
    main()
