"""The catalog as the rest of the program sees it: reads of one moment, and publications that land whole or not at all.

Rows and columns are the business of `stream_tables`, `pointers`, `gates`, `watermarks`, `groups` and `history`;
connections of `database`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Self

from sqlalchemy import Connection

from spark_trickle.catalog import (
    gates,
    generation,
    groups,
    history,
    interventions,
    lease,
    pointers,
    standings,
    stream_tables,
    watermarks,
)
from spark_trickle.catalog.database import DEFAULT_BUSY_TIMEOUT_SECONDS, Database
from spark_trickle.catalog.rereading import LakeReader, identity
from spark_trickle.errors import NotFoundError
from spark_trickle.events import Observer, Step, StepReached
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.gate import Gate, GateChange, GateEvent
from spark_trickle.model.groups import DeclaredGroup
from spark_trickle.model.intervention import Intervention, InterventionStatus
from spark_trickle.model.publication import Cut, Publication, Swap
from spark_trickle.model.refresh import Activity, HistoryRow
from spark_trickle.model.standing import Failure, LeaseRow, Standing, UnderWay
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.model.watermark import WatermarkChange, WatermarkColumn, WatermarkGroup, Watermarks
from spark_trickle.names import TableName


class Catalog:
    """Our metadata and Iceberg's pointers, in one database.

    A method that takes `conn` works in that transaction; without it, in one of its own.
    """

    def __init__(
        self,
        database: Database,
        *,
        max_consecutive_errors: int = 3,
        notify: Observer = lambda _event: None,
        elsewhere: Callable[[Cut], Cut] = lambda cut: cut,
    ) -> None:
        """Args:
        elsewhere: adds to a cut where the tables of other catalogs are that its stream tables read.
        """
        self.database = database
        self._lake = LakeReader(database)
        self.elsewhere = elsewhere
        self._max_consecutive_errors = max_consecutive_errors
        self._notify = notify

    @classmethod
    def open(
        cls,
        url: str,
        *,
        busy_timeout_seconds: float = DEFAULT_BUSY_TIMEOUT_SECONDS,
        max_consecutive_errors: int = 3,
        notify: Observer = lambda _event: None,
        elsewhere: Callable[[Cut], Cut] = lambda cut: cut,
    ) -> Self:
        database = Database.open(url, busy_timeout_seconds=busy_timeout_seconds)
        return cls(database, max_consecutive_errors=max_consecutive_errors, notify=notify, elsewhere=elsewhere)

    def close(self) -> None:
        self.database.close()

    def read(self) -> AbstractContextManager[Connection]:
        """A transaction that sees one moment, for several calls."""
        return self.database.read()

    def write(self) -> AbstractContextManager[Connection]:
        """A transaction that lands whole or not at all, for several calls."""
        return self.database.write()

    def cut(self, conn: Connection | None = None) -> Cut:
        """Where every table is and what is known of every stream table, at one moment; and, right after it, where the
        tables of other catalogs are that they read.

        The id is made of the versions: two cuts with the same id see the same lake.
        """
        return self.with_elsewhere(self.cut_of_lake(conn))

    def with_elsewhere(self, cut: Cut) -> Cut:
        """With gates that were closed while other catalogs were asked: what was found may be written behind them.
        One that was opened meanwhile stays closed: our own tables are those from before."""
        found = self.elsewhere(cut)
        if found is cut:
            return cut
        with self.read() as connection:
            return replace(found, gates={**gates.read(connection, closed_only=True), **cut.gates})

    def cut_of_lake(self, conn: Connection | None = None) -> Cut:
        """As `cut`, without a look at other catalogs; what is not committed yet is seen in its own transaction only."""
        if conn is None:
            return self._lake()
        heads = pointers.read(conn)
        return Cut(
            id=identity(heads),
            pointers=heads,
            tables={table.name: table for table in stream_tables.all(conn)},
            namespaces=pointers.namespaces(conn),
            gates=gates.read(conn, closed_only=True),
            groups=groups.read(conn),
            generation=generation.read(conn),
            watermarks=watermarks.read(conn),
        )

    def publish(self, publication: Publication, conn: Connection | None = None) -> None:
        """Carry out a publication. ConflictError: somebody was there first, and nothing has happened."""
        with self._writing(conn) as connection:
            if publication.fence is not None:
                lease.require(connection, publication.fence)
            for namespace in publication.namespaces:
                pointers.add_namespace(connection, namespace)
            pointers.swap_all(connection, publication.swaps)
            redefined = any(stream_tables.redefines(connection, table) for table in publication.updated)
            for table in publication.dropped:
                stream_tables.delete(connection, table)
            for table in publication.created:
                stream_tables.insert(connection, table)
            for table in publication.updated:
                stream_tables.update(connection, table)
            moved = gates.apply(connection, publication.gates)
            moved = watermarks.apply(connection, publication.watermarks) or moved
            if redefined or moved or publication.created or publication.dropped:
                generation.advance(connection)
            standings.write(connection, publication.standings)
            groups.advance(connection, publication.groups)
            history.extend(connection, publication.history)
            if publication.swaps:
                self._notify(StepReached(Step.PUBLISHING))

    def record(self, rows: Iterable[HistoryRow], conn: Connection | None = None) -> None:
        """Write history that belongs to no publication."""
        with self._writing(conn) as connection:
            history.extend(connection, rows)

    def fail(
        self,
        failures: Iterable[Failure],
        rows: Iterable[HistoryRow],
        *,
        fence: int | None = None,
        conn: Connection | None = None,
    ) -> None:
        """Note that refreshes of the scheduler failed, in a transaction of its own: what failed was rolled back."""
        with self._writing(conn) as connection:
            if fence is not None:
                lease.require(connection, fence)
            for failure in failures:
                standings.fail(connection, failure, self._max_consecutive_errors)
            history.extend(connection, rows)

    def standings(self, conn: Connection | None = None, of: TableName | None = None) -> dict[TableName, Standing]:
        """What the scheduler remembers, of all or of one, by name."""
        with self._reading(conn) as connection:
            return standings.read(connection, of)

    def lease(self, conn: Connection | None = None) -> LeaseRow:
        """Who schedules."""
        with self._reading(conn) as connection:
            return lease.read(connection)

    def take_lease(
        self, holder: str, now: datetime, expires_at: datetime, conn: Connection | None = None
    ) -> LeaseRow | None:
        """Become the scheduler; None: somebody else is."""
        with self._writing(conn) as connection:
            return lease.take(connection, holder, now, expires_at)

    def renew_lease(
        self,
        token: int,
        expires_at: datetime,
        ticked_at: datetime | None = None,
        running: Iterable[UnderWay] = (),
        conn: Connection | None = None,
    ) -> None:
        """Stay the scheduler, and say what is under way; DeposedError when somebody else has become it."""
        with self._writing(conn) as connection:
            lease.renew(connection, token, expires_at, ticked_at, running)

    def give_back_lease(self, token: int, conn: Connection | None = None) -> None:
        with self._writing(conn) as connection:
            lease.give_back(connection, token)

    def generation(self, conn: Connection | None = None) -> int:
        """Advances when a stream table is created, altered or dropped and when a gate moves. Cheap: ask it often."""
        with self._reading(conn) as connection:
            return generation.read(connection)

    def gates(self, conn: Connection | None = None) -> dict[TableName, Gate]:
        """Every gate that ever was closed, by name."""
        with self._reading(conn) as connection:
            return gates.read(connection)

    def change_gates(self, changes: Iterable[GateChange], conn: Connection | None = None) -> dict[TableName, Gate]:
        """Close and open gates; gives all gates as they are then."""
        with self._writing(conn) as connection:
            if gates.apply(connection, changes):
                generation.advance(connection)
            return gates.read(connection)

    def gate_history(
        self, source: TableName | None = None, limit: int | None = 20, conn: Connection | None = None
    ) -> tuple[GateEvent, ...]:
        """When gates were closed and opened, and by whom; newest first."""
        with self._reading(conn) as connection:
            return gates.history(connection, source, limit)

    def watermarks(self, conn: Connection | None = None) -> Watermarks:
        with self._reading(conn) as connection:
            return watermarks.read(connection)

    def change_watermarks(self, changes: Iterable[WatermarkChange], conn: Connection | None = None) -> Watermarks:
        """Advance watermarks; gives all there are then."""
        with self._writing(conn) as connection:
            if watermarks.apply(connection, changes):
                generation.advance(connection)
            return watermarks.read(connection)

    def require_table(self, source: TableName, conn: Connection) -> None:
        """NotFoundError, UserError: there is no table of that name that could have a watermark."""
        watermarks.existing(conn, source)

    def add_watermark_group(self, group: WatermarkGroup, conn: Connection | None = None) -> None:
        with self._writing(conn) as connection:
            watermarks.add_group(connection, group)
            generation.advance(connection)

    def drop_watermark_group(self, name: str, conn: Connection | None = None) -> None:
        with self._writing(conn) as connection:
            watermarks.drop_group(connection, name)
            generation.advance(connection)

    def set_watermark_column(
        self, source: TableName, column: WatermarkColumn | None, conn: Connection | None = None
    ) -> None:
        with self._writing(conn) as connection:
            watermarks.set_column(connection, source, column)
            generation.advance(connection)

    def pointers(
        self, names: Iterable[TableName] | None = None, conn: Connection | None = None
    ) -> dict[TableName, Pointer]:
        with self._reading(conn) as connection:
            return pointers.read(connection, names)

    def swap(self, swaps: Iterable[Swap], conn: Connection | None = None) -> None:
        with self._writing(conn) as connection:
            pointers.swap_all(connection, swaps)

    def namespaces(self, conn: Connection | None = None) -> tuple[str, ...]:
        with self._reading(conn) as connection:
            return pointers.namespaces(connection)

    def find(self, name: TableName, conn: Connection | None = None) -> StreamTable | None:
        with self._reading(conn) as connection:
            return stream_tables.find(connection, name)

    def get(self, name: TableName, conn: Connection | None = None) -> StreamTable:
        """As `find`, but NotFoundError where there is none."""
        with self._reading(conn) as connection:
            return stream_tables.get(connection, name)

    def stream_tables(self, conn: Connection | None = None) -> tuple[StreamTable, ...]:
        with self._reading(conn) as connection:
            return stream_tables.all(connection)

    def reads_itself(self, name: TableName, conn: Connection | None = None) -> bool:
        """Whether a stream table is in a circle."""
        with self._reading(conn) as connection:
            return stream_tables.reads_itself(connection, name)

    def dependents(self, name: TableName, conn: Connection | None = None) -> tuple[TableName, ...]:
        with self._reading(conn) as connection:
            return stream_tables.dependents(connection, name)

    def insert(self, table: StreamTable, conn: Connection | None = None) -> StreamTable:
        with self._writing(conn) as connection:
            generation.advance(connection)
            return stream_tables.insert(connection, table)

    def update(self, table: StreamTable, conn: Connection | None = None) -> StreamTable:
        with self._writing(conn) as connection:
            if stream_tables.redefines(connection, table):
                generation.advance(connection)
            return stream_tables.update(connection, table)

    def delete(self, table: StreamTable, conn: Connection | None = None) -> None:
        with self._writing(conn) as connection:
            generation.advance(connection)
            stream_tables.delete(connection, table)

    def refresh_groups(self, conn: Connection | None = None) -> tuple[DeclaredGroup, ...]:
        """The declared ones, by name."""
        with self._reading(conn) as connection:
            return groups.read(connection)

    def add_refresh_group(self, group: DeclaredGroup, conn: Connection | None = None) -> None:
        with self._writing(conn) as connection:
            groups.insert(connection, group)
            generation.advance(connection)

    def drop_refresh_group(self, name: str, conn: Connection | None = None) -> None:
        with self._writing(conn) as connection:
            groups.delete(connection, name)
            generation.advance(connection)

    def group_epochs(self, conn: Connection | None = None) -> dict[str, int]:
        """How often each group was published, by its id."""
        with self._reading(conn) as connection:
            return groups.epochs(connection)

    def history(
        self, name: TableName | None = None, limit: int | None = 20, conn: Connection | None = None
    ) -> tuple[HistoryRow, ...]:
        """Newest first. A name that neither is nor was a stream table is an error, not an empty list."""
        with self._reading(conn) as connection:
            found = history.rows(connection, None if name is None else str(name), limit)
            if name is not None and not found and stream_tables.find(connection, name) is None:
                raise NotFoundError(stream_tables.KIND, name)
            return found

    def last_attempts(self, names: Iterable[TableName], conn: Connection | None = None) -> dict[TableName, HistoryRow]:
        """The newest refresh of each that was tried, well or badly."""
        shown = {str(name): name for name in names}
        with self._reading(conn) as connection:
            return {shown[name]: row for name, row in history.last_attempts(connection, shown).items()}

    def publications(
        self, name: TableName, since: datetime, limit: int, conn: Connection | None = None
    ) -> tuple[HistoryRow, ...]:
        """Its refreshes that went well since then, newest first, and the one before them."""
        with self._reading(conn) as connection:
            return history.publications(connection, str(name), since, limit)

    def activity(self, after: int, since: datetime, limit: int, conn: Connection | None = None) -> tuple[Activity, ...]:
        """The history in short, of what was written after the row of that number and began since then; oldest first."""
        with self._reading(conn) as connection:
            return history.activity(connection, after, since, limit)

    def prune_history(self, older_than: datetime, conn: Connection | None = None) -> int:
        with self._writing(conn) as connection:
            interventions.prune(connection, older_than)
            return history.prune(connection, older_than)

    def begin_intervention(self, action: str, subject: str, by: str, via: str, at: datetime) -> int:
        """Write down what somebody does by hand, when it begins; gives its number."""
        with self.write() as connection:
            return interventions.begin(connection, action, subject, by, via, at)

    def end_intervention(self, number: int, status: InterventionStatus, detail: str | None, took_ms: float) -> None:
        with self.write() as connection:
            interventions.end(connection, number, status, detail, took_ms)

    def interventions(
        self, subject: str | None = None, limit: int = 20, conn: Connection | None = None
    ) -> tuple[Intervention, ...]:
        """What people did by hand, newest first."""
        with self._reading(conn) as connection:
            return interventions.rows(connection, subject, limit)

    @contextmanager
    def _reading(self, given: Connection | None) -> Iterator[Connection]:
        if given is not None:
            yield given
        else:
            with self.database.read() as connection:
                yield connection

    @contextmanager
    def _writing(self, given: Connection | None) -> Iterator[Connection]:
        if given is not None:
            yield given
        else:
            with self.database.write() as connection:
                yield connection
