"""Consistent reads: several tables at one version, and the changes of one table between two."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from spark_trickle.errors import NotFoundError, UnavailableError, UserError
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.publication import Cut
from spark_trickle.names import TableName
from spark_trickle.spark.queries.queries import meeting_tables
from spark_trickle.spark.session.failures import spark_errors, sql_errors, versions_gone
from spark_trickle.spark.session.meaning import named_in, spoken_in
from spark_trickle.spark.workspaces.workspace import Workspace
from spark_trickle.sql.writes import only_reads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


OpenWorkspace = Callable[[Iterable[Pointer], Iterable[str]], Workspace]
"""Makes a workspace for a user, at some versions."""


class Snapshot:
    """One version of the lake, for as long as the block lasts: every name means what it meant when it was opened."""

    def __init__(self, cut: Cut, names: tuple[TableName, ...], open_workspace: OpenWorkspace) -> None:
        for name in names:
            if name in cut.away:
                raise UnavailableError(cut.away[name].reason, hint=cut.away[name].next_step)
            if name not in cut.pointers and not name.is_elsewhere:
                raise NotFoundError("table", name)
        self._cut = cut
        self._names = names
        self._open = open_workspace
        self._workspace: Workspace | None = None

    def __enter__(self) -> Self:
        self._workspace = self._open(self._cut.pointers.values(), self._cut.namespaces)
        for name in self._names:
            if name.is_elsewhere and not self._workspace.meet(name):
                self._workspace.close()
                raise NotFoundError("table", name)
        try:
            self._workspace.bring(self._names)
        except BaseException:
            self._workspace.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        workspace, self._workspace = self._workspace, None
        gone = versions_gone("the snapshot", err)
        if workspace is not None:
            workspace.close()
        if gone is not None:
            raise gone from err

    @property
    def spark(self) -> SparkSession:
        return self._here.session

    @property
    def _here(self) -> Workspace:
        if self._workspace is None:
            raise UserError("the snapshot is not open", hint="Use it inside `with engine.snapshot([...]) as snap:`")
        return self._workspace

    def table(self, name: str) -> DataFrame:
        wanted = named_in(self.spark, name, self._here.catalogs)
        if wanted.is_elsewhere:
            self._here.meet(wanted)
            self._here.bring([wanted])
        return self.spark.table(wanted.sql)

    def sql(self, text: str) -> DataFrame:
        """Run a query; every table in it is read at this version."""
        if not only_reads(text):
            raise UserError(
                "a snapshot is for reading: what is written there would be lost",
                hint="Use engine.sql, or engine.transaction() to write to several tables at once",
            )

        def make() -> DataFrame:
            with sql_errors("the query", self._here.heads):
                return self.spark.sql(text)

        with spark_errors("reading a snapshot"):
            meaning = spoken_in(self.spark)
            frame = meeting_tables(self._here, meaning, make)
            return meeting_tables(self._here, meaning, make) if self._here.bring_met() else frame
