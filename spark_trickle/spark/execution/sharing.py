"""Changes that several stream tables read: extracted once, and not at all where we made them ourselves.

The change of a source that two stream tables read is brought to the driver once, with the columns that any of them
needs, whether they are refreshed together or one after the other: it follows from two versions that never change. The
change of a stream table that was refreshed a moment ago in the same workbench is known from that refresh; its readers
take it from there instead of looking for it in files. Members may ask from several threads, each with a session of its
own: rows that were brought belong to none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.names import TableName, quote
from spark_trickle.spark.execution.local import fetch, hand_back, travels
from spark_trickle.spark.execution.lookups import Lookups
from spark_trickle.spark.execution.readers import Columns
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.spark.session.parallel import in_parallel
from spark_trickle.spark.session.sessions import in_session
from spark_trickle.spark.session.turns import Turns
from spark_trickle.storage.newest import Newest, size_in_bytes
from spark_trickle.storage.windows import Span, Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_trickle.storage.changes import ChangeFeed


_EXACT = (t.IntegralType, t.StringType, t.BooleanType, t.DateType, t.DecimalType, t.TimestampType, t.TimestampNTZType)
"""Types whose values Arrow tells apart as Spark does."""


@dataclass(frozen=True, slots=True)
class KnownChange:
    """The change that a refresh of ours just made, at hand as a local relation. Reads as a window, in any session."""

    frame: DataFrame
    rows: int
    deleted_rows: int
    empty: bool = False
    here: pa.Table | None = None
    """Its rows, if they are here."""

    @property
    def insert_only(self) -> bool:
        return self.deleted_rows == 0


@dataclass(frozen=True, slots=True)
class Fetched:
    """A change whose rows are here."""

    span: Span
    columns: frozenset[str]
    rows: pa.Table
    schema: t.StructType

    @property
    def bytes(self) -> int:
        return size_in_bytes(self.rows)


MOST_BYTES = 128 * 1024 * 1024
"""Of all changes that are remembered."""


@dataclass(frozen=True, slots=True)
class RecentChanges:
    """Changes that were brought here by any refresh of this process."""

    kept: Newest[Span, Fetched] = field(
        default_factory=lambda: Newest(MOST_BYTES, lambda change: change.bytes, family=lambda span: span.uuid)
    )
    turns: Turns = field(default_factory=Turns)


@dataclass(frozen=True, slots=True)
class Brought:
    """What is known of changes in one unit, whichever session asks."""

    recent: RecentChanges = field(default_factory=RecentChanges)
    readers: dict[TableName, dict[TableName, Columns]] = field(default_factory=dict)
    """Source -> who reads it, now or soon, and which columns."""
    members: dict[TableName, int] = field(default_factory=dict)
    """Source -> how many stream tables of this unit read it."""
    fetched: dict[TableName, Fetched] = field(default_factory=dict)


class SharedChanges:
    """Changes of the sources, as the members of one unit ask for them in one session."""

    def __init__(
        self, session: SparkSession, feed: ChangeFeed, lookups: Lookups, small_rows: int, brought: Brought
    ) -> None:
        self._session = session
        self._feed = feed
        self._lookups = lookups
        self._small_rows = small_rows
        self._shared = brought

    @property
    def feed(self) -> ChangeFeed:
        """Who finds out what is in versions of tables."""
        return self._feed

    def expect(self, source: TableName, reader: TableName, columns: Columns, *, member: bool = True) -> None:
        """Another stream table will read these columns of the source: a member of this unit, or somebody soon."""
        self._shared.readers.setdefault(source, {})[reader] = columns
        if member:
            self._shared.members[source] = self.members(source) + 1

    def members(self, source: TableName) -> int:
        """How many stream tables of this unit read a source."""
        return self._shared.members.get(source, 0)

    def get(
        self, source: TableName, change: Window | KnownChange, columns: Columns | None, *, local: bool
    ) -> tuple[DataFrame, pa.Table | None]:
        """The change with these columns and its weight; its rows, too, when they are here. `local` asks for that."""
        if isinstance(change, KnownChange):
            frame = in_session(change.frame, self._session)
            listed = () if change.here is None else tuple(n for n in change.here.column_names if n != WEIGHT)
            names = listed if columns is None else columns
            if change.here is None or not set(listed).issuperset(names):
                return _narrowed(frame, columns), None
            rows, schema = _cut(change.here, frame.schema, names, whole=set(names) == set(listed))
            return hand_back(self._session, rows, schema), rows
        had = self._here(source, change, columns)
        if had is None and (local or self._is_shared(source, columns)) and change.rows <= self._small_rows:
            had = self._once(source, change, columns)
        if had is not None:
            return self._of(had, columns)
        return self._feed.frame(change, columns), None

    def rows_at(self, table: TableName, snapshot: int | None, columns: Columns | None) -> DataFrame:
        """All rows of an older version of a table, with the columns that it has now."""
        return self._feed.rows_at(table, snapshot, columns)

    def prefetch(self, wanted: Mapping[TableName, tuple[Window | KnownChange, Columns | None]]) -> None:
        """Bring small changes of several sources here at the same time: each takes longer to plan than to read."""
        work: dict[TableName, Callable[[], Fetched | None]] = {}
        for source, (change, columns) in wanted.items():
            if isinstance(change, KnownChange) or self._here(source, change, columns) is not None:
                continue
            if change.rows <= self._small_rows:
                work[source] = partial(self._once, source, change, columns)
        if len(work) > 1:  # a single one is brought by whoever asks for it
            in_parallel(self._session, work)

    def _once(self, source: TableName, change: Window, columns: Columns | None) -> Fetched | None:
        """Bring a change here unless another thread just did; None: its types do not travel."""
        recent = self._shared.recent
        with recent.turns.of(change.span.uuid):
            had = self._here(source, change, columns)
            if had is None:
                with spark_errors(f"reading what changed in '{source}'"):
                    had = self._brought(change, self._names(source, columns)) or self._brought(change, columns)
                if had is not None:
                    self._shared.fetched[source] = had
                    recent.kept.put(had.span, had)
            return had

    def _here(self, source: TableName, change: Window, columns: Columns | None) -> Fetched | None:
        """What was brought of this change already, if it has all of the columns."""
        for had in (self._shared.fetched.get(source), self._shared.recent.kept.get(change.span)):
            if had is not None and had.span == change.span and columns is not None and had.columns.issuperset(columns):
                self._shared.fetched[source] = had
                return had
        return None

    def _is_shared(self, source: TableName, columns: Columns | None) -> bool:
        return columns is not None and len(self._shared.readers.get(source, ())) > 1

    def _names(self, source: TableName, columns: Columns | None) -> Columns | None:
        """The columns that are brought of a source: those that any of its readers needs."""
        if columns is None:
            return None
        wanted = self._shared.readers.get(source, {}).values()
        return tuple(dict.fromkeys(name for each in (*wanted, columns) for name in each))

    def _brought(self, change: Window, names: Columns | None) -> Fetched | None:
        """Bring a change here; None: its types do not travel."""
        deleted = self._deleted(change, names) if change.touched else []
        read = change if deleted is None else replace(change, touched=())
        frame = self._feed.frame(read, names, netted=False)
        schema = frame.schema
        if not travels(schema):
            return None
        listed = [field.name for field in schema.fields if field.name != WEIGHT]
        # Few rows are netted here: Spark would shuffle them, which takes a stage.
        here = bool(listed) and all(isinstance(schema[name].dataType, _EXACT) for name in listed)
        if change.both_signs and not here:
            rows = fetch(self._feed.frame(change, names))
        else:
            rows = fetch(frame)
            rows = pa.concat_tables([rows, *(part.cast(rows.schema) for part in deleted or ())])
            if change.both_signs:
                rows = netted(rows, listed)
        return Fetched(change.span, frozenset(names or listed), rows, schema)

    def _deleted(self, change: Window, names: Columns | None) -> list[pa.Table] | None:
        """The rows that went from data files which are still there, by their places; None: Spark reads those files."""
        if names is None:
            return None
        with spark_errors(f"looking up what was deleted from '{change.name}'"):
            found = self._lookups.deleted(self._session, self._feed, change, names)
        if found is None:
            return None
        return [part.append_column(WEIGHT, pa.array([-1] * part.num_rows, pa.int64())) for part in found]

    def _of(self, had: Fetched, columns: Columns | None) -> tuple[DataFrame, pa.Table]:
        """What one member sees of a change: rows that differ only in columns of others are no change to it."""
        if columns is None or had.columns == frozenset(columns):
            return hand_back(self._session, had.rows, had.schema), had.rows
        rows, schema = _cut(had.rows, had.schema, columns, whole=False)
        return hand_back(self._session, rows, schema), rows


def _cut(rows: pa.Table, schema: t.StructType, columns: Sequence[str], *, whole: bool) -> tuple[pa.Table, t.StructType]:
    """These columns of a change, and its weight: rows that differ in others only are one, or cancel."""
    names = [*columns, WEIGHT]
    found = rows.select(names)
    return found if whole else netted(found, [*columns]), t.StructType([schema[name] for name in names])


def netted(rows: pa.Table, columns: list[str]) -> pa.Table:
    """Weights of equal rows added up, those without any left out; as it was where Arrow cannot tell rows apart."""
    if not tells_apart(rows, columns):
        return rows
    sums = rows.group_by(columns).aggregate([(WEIGHT, "sum")])
    found = sums.filter(pc.not_equal(sums.column(f"{WEIGHT}_sum"), 0))
    return found.rename_columns([WEIGHT if name == f"{WEIGHT}_sum" else name for name in found.column_names]).select(
        [*columns, WEIGHT]
    )


def plain(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """These columns as any others: without what Arrow was told of their NULLs, which may differ between equal ones."""
    return pa.table({name: rows.column(name) for name in columns})


def tells_apart(rows: pa.Table, columns: Sequence[str]) -> bool:
    """Whether Arrow tells rows apart by these columns as Spark does."""
    return bool(columns) and all(exact(rows.schema.field(name).type) for name in columns)


def exact(kind: pa.DataType) -> bool:
    """Whether Arrow tells values of a type apart as Spark does."""
    simple = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_boolean, pa.types.is_date)
    return any(check(kind) for check in (*simple, pa.types.is_decimal, pa.types.is_timestamp))


def _narrowed(frame: DataFrame, columns: Columns | None) -> DataFrame:
    return frame if columns is None else frame.select(*(quote(name) for name in (*columns, WEIGHT)))
