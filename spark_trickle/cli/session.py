"""What one run of the command line works with: its output, and the engine once a command asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from spark_trickle.cli.output import Output, TextOutput, spinner

if TYPE_CHECKING:
    from spark_trickle.engine import Engine


@dataclass
class Session:
    """Global options and what they lead to. `main` makes it; commands get it from the context."""

    warehouse: str | None = None
    catalog: str | None = None
    debug: bool = False
    output: Output = field(default_factory=TextOutput)
    _engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """The engine, without Spark: enough for all that only reads metadata."""
        if self._engine is None:
            # Not at the top: the database layer takes a while to import, and `--help` does not need it.
            import spark_trickle

            self._engine = spark_trickle.connect(self.warehouse, catalog=self.catalog)
        return self._engine

    @property
    def spark_engine(self) -> Engine:
        """The engine with Spark running, which takes some seconds the first time."""
        engine = self.engine
        with self.working("starting Spark ..."):
            _ = engine.spark
        return engine

    @contextmanager
    def working(self, message: str) -> Iterator[None]:
        with spinner(self.output, message):
            yield

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def session_of(context: typer.Context) -> Session:
    """The session of the running command."""
    session = context.obj
    if not isinstance(session, Session):
        raise TypeError("run commands through spark_trickle.cli.main.main")
    return session
