"""Rows of large tables that several stream tables look up by keys: read once.

Whoever joins customers with their orders needs the orders of the customers that changed, and there may be ten such
stream tables, refreshed together or one after the other. The first one that asks has the table read for its own keys
and for all others of that name that are known here, with the columns that any of them needs; the next ones find their
rows at hand, as long as the table stays as it is. What the table held before is what it holds now without its change.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_type
from sqlglot import exp

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName, quote
from spark_trickle.spark.local import Spares, fetch, hand_back, intervals, key_predicate, travels
from spark_trickle.spark.readers import Columns, Readers
from spark_trickle.spark.sharing import Brought, exact, netted
from spark_trickle.spark.turns import Turns
from spark_trickle.sql.parse import TrickleSpark
from spark_trickle.storage.newest import Newest, size_in_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_READERS = 3
"""Reading a table for all with the columns of all takes longer than for one: that pays off from so many readers on."""
MOST_ROWS = 500_000
"""More are not brought here."""
MOST_KEYS = 100_000
"""So many keys may come to be looked up because others will ask for them: each may have several rows."""

_KEY = "_trickle_key"


MOST_BYTES = 128 * 1024 * 1024
"""Of all that is remembered."""


@dataclass(frozen=True, slots=True)
class _Found:
    column: str
    keys: pa.Array
    rows: pa.Table | None
    """None: too many."""
    schema: t.StructType

    @property
    def bytes(self) -> int:
        return size_in_bytes(self.keys) + (0 if self.rows is None else size_in_bytes(self.rows))

    def serves(self, keys: pa.Array, columns: Columns) -> bool:
        """Whether it tells all about these keys. Too many stay too many."""
        return self.rows is None or (set(columns) <= set(self.rows.column_names) and _covers(self.keys, keys))

    def with_more(self, more: _Found, wanted: pa.Array) -> _Found:
        """With the rows of other keys. Should all be too many, those that are wanted count."""
        if self.rows is None or more.rows is None:
            return replace(self, keys=wanted, rows=None)
        keys, rows = pa.concat_arrays([self.keys, more.keys]), pa.concat_tables([self.rows, more.rows])
        if rows.num_rows > MOST_ROWS:
            keys, rows = wanted, _having(rows, self.column, wanted)
        return replace(self, keys=keys, rows=rows if rows.num_rows <= MOST_ROWS else None)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where rows are looked up."""

    table: Pin
    column: str
    near: bool
    """Whether the keys lie close together, so that most of the table need not be read: who reads little of it does not
    wait for somebody who reads all."""

    @property
    def key(self) -> str:
        return f"{self.column}{' nearby' if self.near else ''}"


@dataclass(frozen=True, slots=True)
class RecentLookups:
    """What any refresh of this process looked up."""

    kept: Newest[_Place, _Found] = field(
        default_factory=lambda: Newest(
            MOST_BYTES, lambda found: found.bytes, family=lambda place: (place.table.uuid, place.column)
        )
    )
    turns: Turns = field(default_factory=Turns)


@dataclass(frozen=True, slots=True)
class Asking:
    """Who looks up rows, where, and what of them."""

    reader: TableName
    table: Pin
    column: str
    columns: Columns
    called: str
    """What the keys are called where they come from."""
    alone: bool
    """Whether it is worth it for this one alone: what is asked of each row takes longer than to look for its key."""


@dataclass(frozen=True, slots=True)
class Lookups:
    """What is looked up in one unit, whichever session asks."""

    brought: Brought
    readers: Readers
    recent: RecentLookups
    least_rows: int
    """Smaller tables are read by whoever needs them."""
    _led_to: dict[tuple[_Place, str], pa.Table] = field(default_factory=dict)
    """Rows that keys of changes led to, by where they were found and by what: their own keys lead further."""

    def get(
        self, session: SparkSession, asking: Asking, keys: pa.ChunkedArray, spares: Spares
    ) -> tuple[pa.Table, t.StructType] | None:
        """Rows of a table whose column is one of the keys, with all columns that anybody reads.

        None: there are no keys, nobody else wants such rows, they are too many, or cannot be told apart here.
        """
        wanted = _distinct(keys)
        if len(wanted) == 0 or not comparable(wanted.type):
            return None
        near = spares(intervals(wanted))
        place = _Place(asking.table, asking.column, near)
        self.readers.looks(place.table, place.key, asking.reader, asking.called)
        with self.recent.turns.of((asking.table.uuid, asking.column)):
            had = self._at_hand(place, wanted, asking.columns)
            if had is None and not asking.alone and len(self._others(asking, place)) < LEAST_READERS:
                return None
            if had is None:
                had = self._read(session, asking, place, wanted, spares)
                self.recent.kept.put(place, had)
        if had.rows is None:
            return None
        self._led_to[place, asking.called] = _having(
            had.rows, asking.column, self._with_changed(wanted, {asking.called})
        )
        return _having(had.rows, asking.column, wanted), had.schema

    def _at_hand(self, place: _Place, keys: pa.Array, columns: Columns) -> _Found | None:
        """What was looked up before, here or among keys that lie elsewhere, if it tells all about these."""
        for each in (place, replace(place, near=not place.near)):
            had = self.recent.kept.get(each)
            if had is not None and (had.rows is not None or each == place) and had.serves(keys, columns):
                return had
        return None

    def _others(self, asking: Asking, place: _Place) -> dict[TableName, Columns]:
        """All that look up such rows, the one that asks among them."""
        among = self.brought.readers.get(asking.table.table, {})
        return {**self.readers.looking(place.table, place.key, among), asking.reader: asking.columns}

    def _wider(self, asking: Asking, place: _Place, keys: pa.Array, spares: Spares) -> pa.Array:
        """With keys that are known here, of any name by which rows are looked up there: others will ask for them."""
        names = self.readers.called(place.table, place.key, self._others(asking, place))
        wide = self._with_changed(keys, names)
        for (at, _), rows in tuple(self._led_to.items()):
            # Who was found by a key is not where that key leads to: an order leads to its customer, not to the other
            # orders of that customer.
            wide = _with_keys(wide, rows, names - {at.column})
        return keys if place.near and not spares(intervals(wide)) else wide

    def _with_changed(self, keys: pa.Array, names: set[str]) -> pa.Array:
        """With keys of these names in the changes at hand."""
        for change in tuple(self.brought.fetched.values()):
            keys = _with_keys(keys, change.rows, names)
        return keys

    def _read(self, session: SparkSession, asking: Asking, place: _Place, wanted: pa.Array, spares: Spares) -> _Found:
        """The rows of these keys and of others that will be asked for, with what was read there before."""
        keys = self._wider(asking, place, wanted, spares)
        former = self.recent.kept.get(place)
        names = dict.fromkeys(name for each in self._others(asking, place).values() for name in each)
        if former is None or former.rows is None:
            return self._scan(session, asking, keys, tuple(names), spares)
        if set(names) <= set(former.rows.column_names):
            more = self._scan(session, asking, _beyond(former.keys, keys), tuple(former.rows.column_names), spares)
            return former.with_more(more, keys)
        if not asking.alone:  # who needed that may ask again
            keys = pc.unique(pa.chunked_array([keys, former.keys]))
            names |= dict.fromkeys(former.rows.column_names)
        return self._scan(session, asking, keys, tuple(names), spares)

    def _scan(self, session: SparkSession, asking: Asking, keys: pa.Array, columns: Columns, spares: Spares) -> _Found:
        table, column = asking.table.table, asking.column
        kind = session.table(table.sql).schema[column].dataType
        given = pa.table({_KEY: _fitting(keys, to_arrow_type(kind))})
        bounds = key_predicate(exp.column(column, table="_trickle_t", quoted=True), given, _KEY, spares)
        listed = ", ".join(f"_trickle_t.{quote(name)}" for name in columns)
        view = f"trickle_keys_{uuid.uuid4().hex}"
        hand_back(session, given, t.StructType([t.StructField(_KEY, kind)])).createOrReplaceTempView(view)
        try:
            frame = session.sql(
                f"SELECT {listed} FROM {table.sql} AS _trickle_t LEFT SEMI JOIN {view} AS _trickle_k "
                f"ON _trickle_t.{quote(column)} = _trickle_k.{_KEY} WHERE {bounds.sql(dialect=TrickleSpark)}"
            )
            schema = frame.schema
            rows = fetch(frame.limit(MOST_ROWS + 1)) if travels(schema) else None
        finally:
            session.catalog.dropTempView(view)
        return _Found(column, keys, rows if rows is not None and rows.num_rows <= MOST_ROWS else None, schema)


def comparable(kind: pa.DataType) -> bool:
    """Whether keys of a type are equal here whenever they are to Spark."""
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_date(kind))


def narrowed(rows: pa.Table, schema: t.StructType, columns: tuple[str, ...]) -> tuple[pa.Table, t.StructType]:
    return rows.select(list(columns)), t.StructType([schema[name] for name in columns])


def without(rows: pa.Table, change: pa.Table, column: str, keys: pa.ChunkedArray) -> pa.Table | None:
    """What these rows were before a change of their table; None: its rows cannot be told apart here."""
    columns = rows.column_names
    if not all(exact(rows.schema.field(name).type) for name in columns):
        return None
    mine = _having(change, column, _distinct(keys)).select([*columns, WEIGHT])
    undone = mine.set_column(len(columns), WEIGHT, pc.negate(mine.column(WEIGHT)))
    now = rows.append_column(WEIGHT, pa.array(np.ones(rows.num_rows, dtype="int64")))
    net = netted(pa.concat_tables([now, undone.cast(now.schema)]), columns)
    weights = np.asarray(net.column(WEIGHT).combine_chunks())
    if (weights < 0).any():
        return None  # the change is not one of these rows: let Spark read the version itself
    kept = net.select(columns)
    return kept if (weights == 1).all() else kept.take(pa.array(np.repeat(np.arange(len(weights)), weights)))


def _having(rows: pa.Table, column: str, keys: pa.Array) -> pa.Table:
    kind = rows.schema.field(column).type
    return rows.filter(pc.is_in(rows.column(column), value_set=_fitting(keys, kind)))


def _distinct(keys: pa.ChunkedArray) -> pa.Array:
    """Each key once; integers of any length are long ones, so that keys compare."""
    unique = pc.unique(keys.combine_chunks().drop_null())
    return unique.cast(pa.int64()) if pa.types.is_integer(unique.type) else unique


def _fitting(keys: pa.Array, kind: pa.DataType) -> pa.Array:
    """Keys as values of a column: what is not among its values is in no row."""
    if keys.type == kind or not (pa.types.is_integer(keys.type) and pa.types.is_integer(kind)):
        return keys.cast(kind)
    least, most = np.iinfo(kind.to_pandas_dtype()).min, np.iinfo(kind.to_pandas_dtype()).max
    return keys.filter(pc.and_(pc.greater_equal(keys, int(least)), pc.less_equal(keys, int(most)))).cast(kind)


def _with_keys(keys: pa.Array, rows: pa.Table, names: set[str]) -> pa.Array:
    """With the values of these columns, as long as they are not too many."""
    for name in sorted(names.intersection(rows.column_names)):
        more = _distinct(rows.column(name))
        if more.type == keys.type:
            wide = pc.unique(pa.chunked_array([keys, more]))
            keys = wide if len(wide) <= MOST_KEYS else keys
    return keys


def _beyond(known: pa.Array, wanted: pa.Array) -> pa.Array:
    """The keys that are not known."""
    return wanted.filter(pc.invert(pc.is_in(wanted, value_set=known)))


def _covers(known: pa.Array, wanted: pa.Array) -> bool:
    return known.type == wanted.type and len(_beyond(known, wanted)) == 0
