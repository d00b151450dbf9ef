"""What the engine's calls tell, of a moment that is known already: a thousand stream tables are read once.

Each gives the same value as the call of the engine whose name it has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.circles import SccStatus, scc_ids, scc_status
from spark_trickle.config import Settings
from spark_trickle.graph.dag import data_flow
from spark_trickle.grouping import GroupStatus, group_status
from spark_trickle.holds.fuse_report import FuseStatus, fuse_status
from spark_trickle.holds.gate_report import BootstrapGateStatus, bootstrap_gate_status
from spark_trickle.holds.watermark_report import WatermarkStatus, watermark_status
from spark_trickle.model.groups import GroupOrigin
from spark_trickle.names import TableName, no_stream_table
from spark_trickle.refresh.resolve import operators_and_change
from spark_trickle.seeing import seen
from spark_trickle.views import Explanation, StreamTableStatus, WhyAnswer, explanation_of, status_of
from spark_trickle.watching import Moment
from spark_trickle.why import concerned, why


@dataclass(frozen=True, slots=True)
class Reporter:
    """Reports of one moment."""

    moment: Moment
    catalog: Catalog
    settings: Settings

    def bootstrap_gate_status(self) -> list[BootstrapGateStatus]:
        stale = timedelta(seconds=self.settings.gate_stale_warning_seconds)
        return bootstrap_gate_status(self.catalog.gates(), self.moment.tables, self.moment.now, stale)

    def watermark_status(self) -> list[WatermarkStatus]:
        stuck = timedelta(seconds=self.settings.watermark_holdback_timeout)
        cut = self.moment.known.cut
        return watermark_status(cut.watermarks, self.moment.tables, self.moment.now, stuck, cut.pointers)

    def fuse_status(self) -> list[FuseStatus]:
        return fuse_status(self.moment.tables.values(), self.settings.fuse_default_ceiling)

    def groups(self) -> list[GroupStatus]:
        found = [unit.group for unit in self.moment.board.units if unit.group is not None]
        return group_status(found, self.catalog.group_epochs())

    def scc_status(self) -> list[SccStatus]:
        return scc_status(self.moment.tables.values())

    def all_status(self) -> list[StreamTableStatus]:
        numbers = scc_ids(self.moment.tables.values())
        return [self._status(name, numbers.get(name)) for name in sorted(self.moment.tables)]

    def status(self, name: TableName) -> StreamTableStatus:
        self._require(name)
        return self._status(name, scc_ids(self.moment.tables.values()).get(name))

    def why(self, name: TableName) -> WhyAnswer:
        attempts = self.catalog.last_attempts(concerned(name, self.moment.tables))
        known = replace(self.moment.known, attempts=attempts, running=self.moment.running)
        return why(name, known, self.moment.board)

    def explain(self, name: TableName) -> Explanation:
        self._require(name)
        group = self.moment.board.units[self.moment.board.unit_of[name]].group
        together = group.members if group is not None and group.origin is not GroupOrigin.CIRCLE else ()
        flow = data_flow(self.moment.tables.values())
        circle = flow.circle_of(name)
        way = flow.way_round(circle) if circle else ()
        explained = explanation_of(self.moment.tables[name], diamond_group=together, circle=way)
        tree, change = operators_and_change(explained.tree)
        governing = tuple(row.group_name for row in self.watermark_status() if str(name) in row.governed)
        return replace(explained, tree=tree, delta_sql=change, watermark_groups=governing)

    def _status(self, name: TableName, scc_id: int | None) -> StreamTableStatus:
        moment = self.moment
        table, standing = moment.tables[name], moment.known.standings.get(name)
        around = seen(table, moment.known.cut.pointers, moment.running, moment.files)
        return status_of(table, moment.now, scc_id=scc_id, standing=standing, seen=around)

    def _require(self, name: TableName) -> None:
        if name not in self.moment.tables:
            raise no_stream_table(name, self.moment.tables)
