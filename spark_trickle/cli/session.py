"""What one run of the command line works with: its output, and the engine once a command asks for it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

from spark_trickle.cli.output import JsonOutput, Output, TextOutput, spinner
from spark_trickle.errors import UserError

if TYPE_CHECKING:
    from spark_trickle.engine import Engine
    from spark_trickle.events import Observer


@dataclass
class Session:
    """Global options and what they lead to. `main` makes it; commands get it from the context."""

    warehouse: str | None = None
    catalog: str | None = None
    debug: bool = False
    makes_lake: bool = False
    """Whether the command may be the first one on a lake. Others would make a folder of a slip of the pen."""
    output: Output = field(default_factory=TextOutput)
    observers: tuple[Observer, ...] = ()
    """Who is told of events, once there is an engine."""
    _engine: Engine | None = None
    _spark_started: bool = False

    @property
    def engine(self) -> Engine:
        """The engine, without Spark: enough for all that only reads metadata."""
        if self._engine is None:
            # Not at the top: the database layer takes a while to import, and `--help` does not need it.
            import spark_trickle

            if not self.makes_lake:
                require_lake(self.warehouse, self.catalog)
            self._engine = spark_trickle.connect(self.warehouse, catalog=self.catalog, observers=self.observers)
        return self._engine

    @property
    def spark_engine(self) -> Engine:
        """The engine with Spark running, which takes some seconds the first time."""
        engine = self.engine
        if not self._spark_started:
            with self.quiet(), self.working("starting Spark ..."):
                _ = engine.spark
            self._spark_started = True
        return engine

    @property
    def json(self) -> bool:
        """Whether a program reads the output."""
        return isinstance(self.output, JsonOutput)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Without what Java says on the screen, for where Spark may be started on the way."""
        with quiet_children(self.debug, self.engine.settings.log_file):
            yield

    @contextmanager
    def working(self, message: str) -> Iterator[None]:
        with spinner(self.output, message):
            yield

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None
            self._spark_started = False


def require_lake(warehouse: str | None, catalog: str | None) -> None:
    """UserError: the folder of the warehouse is not there. Addresses of stores and databases answer for themselves."""
    from spark_trickle.config import load

    settings = load(warehouse=warehouse, catalog=catalog)
    where = settings.warehouse
    if "://" not in where and not where.startswith("file:") and not Path(where).expanduser().is_dir():
        raise UserError(
            f"there is no lake at '{where}'",
            hint="--warehouse names its folder (or TRICKLE_WAREHOUSE, or trickle.toml); `trickle create`, `sql`, "
            "`apply`, `gate`, `run` and `serve` make a new one",
            facts={"warehouse": where},
        )


@contextmanager
def quiet_children(debug: bool, log_file: str = "") -> Iterator[None]:
    """Keep what programs started in here write to standard error off the screen; Spark has a lot to say.

    They keep writing there for as long as they live: into the log file, if there is one. If the block fails, the end of
    what they wrote is shown.
    """
    if debug:
        yield
        return
    ours = sys.stderr
    with _log(log_file) as log, os.fdopen(os.dup(2), "w", buffering=1) as screen:
        sys.stderr = screen
        before = log.seek(0, os.SEEK_END)
        os.dup2(log.fileno(), 2)
        failed = True
        try:
            yield
            failed = False
        finally:
            os.dup2(screen.fileno(), 2)
            sys.stderr = ours
            if failed:
                log.seek(before)
                ours.writelines(log.readlines()[-_LINES_OF_A_FAILURE:])


_LINES_OF_A_FAILURE = 15


def _log(file: str) -> IO[str]:
    if not file:
        return tempfile.TemporaryFile("w+", errors="replace")
    # The logger has made it by now, and said so if that could not be.
    return Path(file).expanduser().open("a+", encoding="utf-8", errors="replace")


def read_text(file: Path) -> str:
    """A file that a user named."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as err:
        raise UserError(f"'{file}' cannot be read: {err}", facts={"file": str(file)}) from err


def session_of(context: typer.Context, *, makes_lake: bool = False) -> Session:
    """The session of the running command."""
    session = context.obj
    if not isinstance(session, Session):
        raise TypeError("run commands through spark_trickle.cli.main.main")
    session.makes_lake = session.makes_lake or makes_lake
    return session
