"""`trickle serve`: the page, its API and its metrics. Only the command is here; the server is loaded when it is run."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spark_trickle.cli.session import Session, session_of
from spark_trickle.errors import ConfigError

if TYPE_CHECKING:
    from spark_trickle.serve.jobs import Jobs

NEEDED = ("starlette", "uvicorn", "prometheus_client")
"""What the extra `serve` installs."""

Port = Annotated[int, typer.Option(help="Where it listens; 0: any port that is free.", min=0, max=65535)]


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen at; others than loopback need a token.")] = "127.0.0.1",
    port: Port = 8080,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token; or the variable TRICKLE_TOKEN.", dir_okay=False)
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Nothing can be done through it.")] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name that it is reached by, of a proxy; may be repeated.")
    ] = None,
) -> None:
    """Show the lake in a browser; also its API (/api/v1), its metrics (/metrics) and an Iceberg catalog (/iceberg)."""
    require_packages()
    from spark_trickle.serve.access import TOKEN_VARIABLE, open_door
    from spark_trickle.serve.server import serve as run_server

    session = session_of(context, makes_lake=True)
    door = open_door(host, port, token_file, os.environ.get(TOKEN_VARIABLE), read_only, tuple(allow_host or ()))
    jobs = jobs_of(session)
    run_server(session.engine, jobs, door, lambda address: session.output.progress(f"serving {address}; Ctrl-C stops"))


def jobs_of(session: Session) -> Jobs:
    """What people ask for through the page is done by this session's engine, which is made here."""
    from spark_trickle.events import Event
    from spark_trickle.serve.jobs import Jobs

    made: list[Jobs] = []

    def heard(event: Event) -> None:
        for jobs in made:
            jobs.heard(event)

    session.observers = (*session.observers, heard)
    made.append(Jobs(session.engine, lambda: session.spark_engine))
    return made[0]


def require_packages() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"the page needs packages that are not installed: {', '.join(missing)}",
            hint="pip install 'spark-trickle[serve]'",
        )
