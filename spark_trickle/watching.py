"""Looking at a lake again and again: one moment of it, read anew only where something was committed. No JVM.

What a page and a metric ask for every second, over a thousand stream tables. The command line, which asks once, reads
for itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.rereading import CutReader
from spark_trickle.clock import Clock
from spark_trickle.conditions import Condition, conditions
from spark_trickle.graph.units import plan_units
from spark_trickle.known import Known
from spark_trickle.metadata_files import MetadataFiles
from spark_trickle.model.frontier import Pin, Pointer
from spark_trickle.model.standing import UnderWay
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName
from spark_trickle.scheduler.board import Board, make_board


@dataclass(frozen=True)
class Moment:
    """All that is known of a lake at one moment."""

    known: Known
    board: Board
    running: tuple[UnderWay, ...]
    """What is being refreshed: by the scheduler, wherever it runs, and in this process."""
    changed_since: Callable[[Pin, Pointer], datetime | None]
    files: MetadataFiles

    @property
    def now(self) -> datetime:
        return self.known.now

    @property
    def tables(self) -> dict[TableName, StreamTable]:
        return self.known.cut.tables

    @cached_property
    def conditions(self) -> dict[TableName, Condition]:
        return conditions(self.known, self.board, self.running, self.changed_since)


class Watch:
    """Moments of one lake. For several threads."""

    def __init__(self, catalog: Catalog, clock: Clock, default_schedule: timedelta, stuck_after: timedelta) -> None:
        self.catalog = catalog
        self.clock: Clock = clock
        self.files = MetadataFiles()
        self._default_schedule = default_schedule
        self._stuck_after = stuck_after
        self._lock = threading.Lock()
        self._read_cut = CutReader(catalog)
        self._stamp = ""
        self._known: Known | None = None
        self._board: tuple[int, Board] | None = None
        self._first_seen: dict[tuple[TableName, str], datetime] = {}

    def stamp(self) -> str:
        """Something that is other after any commit; costs next to nothing."""
        return self.catalog.database.stamp()

    def moment(self, running: tuple[UnderWay, ...] = ()) -> Moment:
        """As it is now; `running`: what this process is refreshing."""
        with self._lock:
            known, board = self._now()
        lease = known.lease
        told = lease.running if lease.live(known.now) else ()
        return Moment(known, board, (*told, *running), self._changed_since, self.files)

    def _now(self) -> tuple[Known, Board]:
        # Asked before reading: what is committed in between is looked at once more, not missed.
        stamp, now = self.stamp(), self.clock.now()
        if self._known is None or stamp != self._stamp:
            cut = self._read_cut()
            with self.catalog.read() as conn:
                standings, lease = self.catalog.standings(conn), self.catalog.lease(conn)
            self._known = Known(
                cut=cut,
                standings=standings,
                lease=lease,
                now=now,
                default_schedule=self._default_schedule,
                stuck_after=self._stuck_after,
            )
            self._stamp = stamp
            if self._board is None or self._board[0] != cut.generation:
                units = plan_units(cut.tables, cut.groups)
                self._board = (cut.generation, make_board(units, cut.tables, self._default_schedule))
        assert self._board is not None
        return replace(self._known, now=now), self._board[1]

    def _changed_since(self, pin: Pin, head: Pointer) -> datetime | None:
        """When a source moved on: from its metadata, or else when it was first seen so here."""
        found = self.files(head.location)
        moment = None if found is None else found.first_after(pin.snapshot_id)
        if moment is not None:
            return moment
        with self._lock:
            seen = self._first_seen
            while len(seen) >= _REMEMBERED:
                seen.pop(next(iter(seen)))
            return seen.setdefault((pin.table, pin.location), self.clock.now())


_REMEMBERED = 10_000
"""Versions of which it is remembered when somebody was seen to be past them."""
