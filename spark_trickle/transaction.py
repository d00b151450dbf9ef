"""Transactions of users: writes to several tables that appear together, with the IMMEDIATE tables that follow them.

Everything that is written through the transaction goes to a workspace of its own; leaving the block publishes all of it
in one commit, an exception nothing. See `spark/workspaces/workspace.py` for why no write can escape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self

from spark_trickle.dispatch import Dispatcher
from spark_trickle.errors import UserError
from spark_trickle.events import Observer, RefreshFinished, Step, StepReached
from spark_trickle.gating import CALLS as GATE_CALLS
from spark_trickle.gating import closing, opening, sources_named
from spark_trickle.model.deed import Deed, DeedKind
from spark_trickle.model.gate import GateChange
from spark_trickle.model.publication import Cut, Publication
from spark_trickle.model.refresh import RefreshOutcome
from spark_trickle.model.watermark import Advance
from spark_trickle.names import TableName
from spark_trickle.protecting import require_allowed, require_not_ours, require_unread
from spark_trickle.reading import OpenWorkspace
from spark_trickle.refresh.publishing import swaps_of
from spark_trickle.refresh.run import Refresher
from spark_trickle.spark.lake import SparkLake
from spark_trickle.spark.queries.deeds import deeds_of
from spark_trickle.spark.session.failures import spark_errors, sql_errors, versions_gone
from spark_trickle.spark.session.frames import frame_of
from spark_trickle.spark.session.meaning import named_in
from spark_trickle.spark.session.sessions import in_session
from spark_trickle.spark.workspaces.workspace import Workspace
from spark_trickle.sql.statements import Call, parse_statement
from spark_trickle.watermarking import advancing, require_no_stream_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MODES = ("append", "overwrite")
_CALLS = (*GATE_CALLS, "advance_watermark")


class Transaction:
    """One transaction. Use it as a context manager, in one thread."""

    def __init__(self, open_workspace: OpenWorkspace, lake: SparkLake, refresher: Refresher, notify: Observer) -> None:
        self._open = open_workspace
        self._lake = lake
        self._refresher = refresher
        self._notify = notify
        self._workspace: Workspace | None = None
        self._cut = Cut("", {}, {}, ())
        self._gates: list[GateChange] = []
        self._watermarks: list[Advance] = []
        self.outcomes: tuple[RefreshOutcome, ...] = ()
        """What the IMMEDIATE refreshes did, after the commit."""

    def __enter__(self) -> Self:
        self._gates, self._watermarks = [], []
        self._cut = self._refresher.catalog.cut_of_lake()
        self._workspace = self._open(self._cut.pointers.values(), self._cut.namespaces)
        self._notify(StepReached(Step.PINNED))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        workspace = self._here
        gone = versions_gone("the transaction", err)
        try:
            if kind is None:
                self._commit(workspace)
        finally:
            self._workspace = None
            workspace.close()
        if gone is not None:
            raise gone from err

    @property
    def spark(self) -> SparkSession:
        """A SparkSession of the transaction's own: all that it writes belongs to the transaction."""
        return self._here.session

    def sql(self, text: str) -> DataFrame:
        """Run Spark SQL inside the transaction; it sees its own writes. CALL moves gates and watermarks, too."""
        statement = parse_statement(text)
        if isinstance(statement, Call) and statement.function in _CALLS:
            calls = {name: getattr(self, name) for name in _CALLS}
            return frame_of(self._here.session, Dispatcher(calls).run(statement), str)
        if statement is not None:
            raise UserError(
                "of our own statements, only CALL trickle.gate_source and its kin, and trickle.advance_watermark, can "
                "be part of a transaction",
                hint="Run it with engine.sql, outside the transaction",
            )
        deeds = deeds_of(self._here.session, text)
        require_allowed(deeds, self._cut)
        if deeds.deletes_files:
            raise UserError(
                "DROP TABLE … PURGE and CALL delete files at once: they cannot be part of a transaction",
                hint="Run it with engine.sql, outside the transaction",
            )
        if deeds.unknown:
            raise UserError(
                "what the statement runs, or on which table, is known only when it runs: it cannot be part of a "
                "transaction, nor be followed by IMMEDIATE stream tables",
                hint="Write the statement itself, or its text and names as constants",
            )
        with spark_errors("running a statement of the transaction"), sql_errors("the statement", self._here.heads):
            return self._here.session.sql(text)

    def table(self, name: str) -> DataFrame:
        return self._here.session.table(self._named(name).sql)

    def write(self, df: DataFrame, table: str, mode: str = "append") -> None:
        """Write a frame of any session into a table, inside the transaction."""
        if mode not in _MODES:
            raise UserError(f"mode cannot be {mode!r}", hint=f"Choose one of {', '.join(_MODES)}")
        target = self._named(table)
        session = self._here.session
        with spark_errors(f"writing to '{target}'"):
            # The frame may come from another session, and a write goes where the frame's session points: its plan is
            # taken over, or the rows would land outside the transaction.
            frame = in_session(df, session)
            if target not in self._here.heads():
                frame.writeTo(target.sql).using("iceberg").create()
            elif mode == "append":
                frame.writeTo(target.sql).append()
            else:
                from pyspark.sql import functions as f

                frame.writeTo(target.sql).overwrite(f.lit(True))

    def gate_source(self, source: str, auto_ungate_on_watermark: bool = False) -> None:
        """Close a source's gate when the transaction is published: together with its writes."""
        self.gate_sources([source], auto_ungate_on_watermark)

    def gate_sources(self, sources: Sequence[str], auto_ungate_on_watermark: bool = False) -> None:
        names, now = sources_named(sources, self._named), self._now()
        self._gates += closing(names, now, auto_ungate_on_watermark=auto_ungate_on_watermark)

    def ungate_source(self, source: str) -> None:
        """Open a source's gate when the transaction is published: nobody sees it open without the data."""
        self.ungate_sources([source])

    def ungate_sources(self, sources: Sequence[str]) -> None:
        self._gates += opening(sources_named(sources, self._named), self._now())

    def advance_watermark(self, source: str, watermark: datetime | str) -> None:
        """Say that a table is complete up to a moment, with what this transaction writes: nobody sees one without the
        other.
        """
        name = self._named(source)
        require_no_stream_table(name, self._cut.tables)
        if name.is_elsewhere:
            raise UserError(
                f"'{name}' is a table of catalog '{name.catalog}': what is written there is no part of a transaction",
                hint="Use engine.advance_watermark, when it is loaded",
            )
        self._watermarks.append(advancing(name, watermark, self._now()))

    def _named(self, text: str) -> TableName:
        return named_in(self._here.session, text, self._here.catalogs)

    def _now(self) -> datetime:
        _ = self._here  # outside of the block there is nothing that could be published with it
        return self._refresher.clock.now()

    @property
    def _here(self) -> Workspace:
        if self._workspace is None:
            raise UserError("the transaction is not open", hint="Use it inside `with engine.transaction() as tx:`")
        return self._workspace

    def _commit(self, workspace: Workspace) -> None:
        written = list(workspace.staged())
        if not written and not workspace.new_namespaces() and not self._gates and not self._watermarks:
            return
        for table, (_, now) in workspace.staged().items():
            # What was run through `spark` of the transaction was not looked at before.
            require_not_ours(Deed(DeedKind.WRITE if now else DeedKind.DROP, table), self._cut)
            if now is None:
                require_unread(table, self._cut)
        # In a session of our own: what the user set or made in this one is not what the followers' queries mean.
        with workspace.beside() as apart, self._lake.at(apart) as bench:
            followers = self._refresher.followers(self._cut, written)
            results = self._refresher.members(bench, followers, self._refresher.request(self._cut, "TRANSACTION"))
            self._notify(StepReached(Step.ALL_STAGED))
            moment, swaps = self._now(), swaps_of(bench)
            self._refresher.catalog.publish(
                Publication(
                    swaps=swaps,
                    namespaces=tuple(workspace.new_namespaces()),
                    updated=tuple(result.table for result in results),
                    history=tuple(result.history for result in results),
                    # As seen by others it happens now, not when it was asked for.
                    gates=tuple(replace(change, at=moment) for change in self._gates),
                    watermarks=tuple(replace(change, at=moment) for change in self._watermarks),
                )
            )
        self._refresher.lake.published(swaps)
        self._notify(StepReached(Step.PUBLISHED))
        self.outcomes = tuple(result.outcome for result in results)
        for outcome in self.outcomes:
            self._notify(RefreshFinished(outcome))
