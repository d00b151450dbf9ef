"""What there is to know of a lake at one moment, from the catalog alone: what `why` and `conditions` answer from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from spark_trickle.graph.units import plan_units
from spark_trickle.model.publication import Cut
from spark_trickle.model.refresh import HistoryRow
from spark_trickle.model.standing import LeaseRow, Standing, UnderWay
from spark_trickle.names import TableName
from spark_trickle.scheduler.board import Board, make_board


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What there is to know at one moment."""

    cut: Cut
    standings: Mapping[TableName, Standing]
    lease: LeaseRow
    now: datetime
    default_schedule: timedelta
    stuck_after: timedelta = timedelta()
    attempts: Mapping[TableName, HistoryRow] = field(default_factory=dict)
    """The last refresh that was tried of those that are asked about."""
    running: tuple[UnderWay, ...] = ()

    def board(self) -> Board:
        return make_board(plan_units(self.cut.tables, self.cut.groups), self.cut.tables, self.default_schedule)
