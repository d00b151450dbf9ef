"""Lends workbenches: what refreshing asks for as the lake (`ports.Lake`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from spark_trickle.delta.sizes import Limits
from spark_trickle.model.publication import Cut
from spark_trickle.names import TableName
from spark_trickle.rows.cache import RowCache
from spark_trickle.spark.execution.bench import Bench, bench_in
from spark_trickle.spark.execution.filling import Filler
from spark_trickle.spark.execution.held import Held
from spark_trickle.spark.execution.lookups import Lookups
from spark_trickle.spark.execution.one_version import Shared
from spark_trickle.spark.execution.readers import Readers
from spark_trickle.spark.execution.remembered import Remembered
from spark_trickle.spark.workspaces.workspace import Workspace, Workspaces


class SparkLake:
    """The Lake port: lends benches."""

    def __init__(self, workspaces: Workspaces, limits: Limits, cache: RowCache) -> None:
        self._workspaces = workspaces
        lookups = Lookups(cache, Readers(), limits.lookup_table_rows, Filler(cache))
        self._remembered = Remembered(Held(limits.held_table_rows), lookups)
        self._limits = limits

    def close(self) -> None:
        self._remembered.lookups.filler.close()

    @contextmanager
    def workbench(self, cut: Cut, tables: Iterable[TableName] | None = None) -> Iterator[Bench]:
        wanted = cut.pointers if tables is None else {t: cut.pointers[t] for t in tables if t in cut.pointers}
        with self._workspaces.lend(wanted.values(), cut.namespaces) as workspace, self.at(workspace) as bench:
            yield bench

    @contextmanager
    def at(self, workspace: Workspace) -> Iterator[Bench]:
        """A bench in a workspace that somebody else owns: a user's transaction."""
        with bench_in(workspace, Shared(workspace, self._remembered, self._limits)) as bench:
            yield bench
