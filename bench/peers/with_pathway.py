"""The measured process of Pathway. Runs in Pathway's environment, so it imports of ours only what imports nothing.

Rows come through Pathway's own Python connector, as insertions and exact deletions: one source for what was there at
first and for what changed, and Pathway keeps nothing of it but what the query needs. Read as static CSV files, what was
there at first takes a fifth less processor time, but all of it is in memory at once. Pathway has no decimals: they are
whole hundredths here, so that sums are exact, and integers are what Pathway adds up without keeping the rows.
"""

from __future__ import annotations

import heapq
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pathway as pw
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from bench.peers.needs import COLUMNS, DATES, DECIMALS, KEYS, TEXTS, WEIGHT, batch_name
from bench.peers.wire import Row, Wire

Tables = Mapping[str, Any]
COMMIT_ROWS = 20_000
"""So many of the first rows are one step for Pathway: more would need more memory."""
AHEAD_ROWS = 40_000
"""So many rows may wait for Pathway."""
PAUSE_S = 0.005
"""Between two commits without rows, which let the time go on for the tables that did not change."""


class Source(pw.io.python.ConnectorSubject):  # type: ignore[misc]
    """One table: its first rows, then its changes. After each batch comes a mark, a row with a negative key."""

    def __init__(self, files: Path, table: str, columns: tuple[str, ...], answered: Callable[[], int]) -> None:
        super().__init__()
        self.batches: queue.Queue[tuple[int, Path]] = queue.Queue()
        self._files, self._table, self._columns, self._answered = files, table, columns, answered

    def run(self) -> None:
        """Called by Pathway, in a thread."""
        first = ds.dataset(self._files / self._table).to_table(columns=list(self._columns))
        for chunk in _as_integers(first).to_batches(COMMIT_ROWS):
            for row in _rows(chunk):
                self.next(**row)
            self.commit()
        self._mark(0)
        while True:
            number, folder = self.batches.get()
            file = folder / f"{self._table}.parquet"
            if file.exists():
                changed = ds.dataset(file).to_table(columns=[*self._columns, WEIGHT])
                for row in _rows(_as_integers(changed)):
                    if row.pop(WEIGHT) > 0:
                        self.next(**row)
                    else:
                        self.delete(**row)
            self._mark(number)

    def _mark(self, number: int) -> None:
        row: dict[str, Any] = {name: "" if name in TEXTS else 0 for name in self._columns}
        self.next(**{**row, self._columns[0]: -1 - number})
        self.commit()
        while self._answered() < number:
            time.sleep(PAUSE_S)
            self.commit()


class Progress:
    """Which batches have arrived with all their tables, and what the answer is."""

    def __init__(self, wire: Wire, tables: int, shown: Callable[[list[dict[str, Any]]], list[Row]]) -> None:
        self._wire, self._tables, self._shown = wire, tables, shown
        self._marks: dict[int, list[int]] = {}
        self._rows: dict[Any, dict[str, Any]] = {}
        self.answered = -1

    def change(self, key: Any, row: dict[str, Any], moment: int, is_addition: bool) -> None:
        """A row of the answer came or went, or a table's mark has come through."""
        if row["mark"] >= 0:
            self._marks.setdefault(row["mark"], []).append(moment)
        elif is_addition:
            self._rows[key] = row
        elif self._rows.get(key) == row:
            del self._rows[key]

    def passed(self, moment: int) -> None:
        """All up to this moment of Pathway's has been said."""
        marks = self._marks.get(self.answered + 1, [])
        while len(marks) == self._tables and max(marks) <= moment:
            self.answered += 1
            self._wire.answer(self._shown(list(self._rows.values())))
            self._wire.done(self.answered)
            marks = self._marks.get(self.answered + 1, [])


def _as_integers(table: pa.Table) -> pa.Table:
    """Hundredths and days, in Arrow: not row by row."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in DECIMALS:
            hundred = pa.scalar(Decimal(100), pa.decimal128(3, 0))
            column = pc.multiply(column.cast(pa.decimal128(15, 2)), hundred).cast(pa.int64())
        elif name in DATES:
            column = column.cast(pa.date32()).cast(pa.int32())
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def _rows(table: Any) -> Any:
    names = table.schema.names
    for values in zip(*(column.to_pylist() for column in table.columns), strict=True):
        yield dict(zip(names, values, strict=True))


def _days(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


def _q01(of: Tables) -> Any:
    rows = of["lineitem"].filter(pw.this.l_shipdate <= _days("1998-09-02"))
    reduced = rows.select(
        pw.this.l_returnflag,
        pw.this.l_linestatus,
        pw.this.l_quantity,
        pw.this.l_extendedprice,
        pw.this.l_discount,
        reduced=pw.this.l_extendedprice * (100 - pw.this.l_discount),
        charge=pw.this.l_extendedprice * (100 - pw.this.l_discount) * (100 + pw.this.l_tax),
    )
    return reduced.groupby(pw.this.l_returnflag, pw.this.l_linestatus).reduce(
        pw.this.l_returnflag,
        pw.this.l_linestatus,
        quantity=pw.reducers.sum(pw.this.l_quantity),
        price=pw.reducers.sum(pw.this.l_extendedprice),
        reduced=pw.reducers.sum(pw.this.reduced),
        charge=pw.reducers.sum(pw.this.charge),
        discount=pw.reducers.sum(pw.this.l_discount),
        n=pw.reducers.count(),
    )


def _shown_q01(rows: list[dict[str, Any]]) -> list[Row]:
    def average(total: int, n: int) -> Decimal:
        return round(_scaled(total, 2) / n, 6)

    return [
        (
            row["l_returnflag"],
            row["l_linestatus"],
            _scaled(row["quantity"], 2),
            _scaled(row["price"], 2),
            _scaled(row["reduced"], 4),
            _scaled(row["charge"], 6),
            average(row["quantity"], row["n"]),
            average(row["price"], row["n"]),
            average(row["discount"], row["n"]),
            row["n"],
        )
        for row in rows
    ]


def _q03(of: Tables) -> Any:
    customers = of["customer"].filter(pw.this.c_mktsegment == "BUILDING")
    orders = of["orders"].filter(pw.this.o_orderdate < _days("1995-03-15"))
    items = of["lineitem"].filter(pw.this.l_shipdate > _days("1995-03-15"))
    theirs = orders.join(customers, pw.left.o_custkey == pw.right.c_custkey).select(
        pw.left.o_orderkey, pw.left.o_orderdate, pw.left.o_shippriority
    )
    joined = items.join(theirs, pw.left.l_orderkey == pw.right.o_orderkey).select(
        pw.left.l_orderkey,
        pw.right.o_orderdate,
        pw.right.o_shippriority,
        revenue=pw.left.l_extendedprice * (100 - pw.left.l_discount),
    )
    return joined.groupby(pw.this.l_orderkey, pw.this.o_orderdate, pw.this.o_shippriority).reduce(
        pw.this.l_orderkey, pw.this.o_orderdate, pw.this.o_shippriority, revenue=pw.reducers.sum(pw.this.revenue)
    )


def _shown_q03(rows: list[dict[str, Any]]) -> list[Row]:
    """Pathway has no LIMIT: who receives the answer takes the ten."""
    first = heapq.nsmallest(10, rows, key=lambda row: (-row["revenue"], row["o_orderdate"]))
    return [
        (
            row["l_orderkey"],
            _scaled(row["revenue"], 4),
            date.fromordinal(date(1970, 1, 1).toordinal() + row["o_orderdate"]),
            row["o_shippriority"],
        )
        for row in first
    ]


def _q05(of: Tables) -> Any:
    regions = of["region"].filter(pw.this.r_name == "ASIA")
    nations = of["nation"].join(regions, pw.left.n_regionkey == pw.right.r_regionkey)
    nations = nations.select(pw.left.n_nationkey, pw.left.n_name)
    suppliers = of["supplier"].join(nations, pw.left.s_nationkey == pw.right.n_nationkey)
    suppliers = suppliers.select(pw.left.s_suppkey, pw.left.s_nationkey, pw.right.n_name)
    first, end = _days("1994-01-01"), _days("1995-01-01")
    orders = of["orders"].filter((pw.this.o_orderdate >= first) & (pw.this.o_orderdate < end))
    theirs = orders.join(of["customer"], pw.left.o_custkey == pw.right.c_custkey)
    theirs = theirs.select(pw.left.o_orderkey, pw.right.c_nationkey)
    items = (
        of["lineitem"]
        .join(theirs, pw.left.l_orderkey == pw.right.o_orderkey)
        .select(pw.left.l_suppkey, pw.right.c_nationkey, revenue=pw.left.l_extendedprice * (100 - pw.left.l_discount))
    )
    sold = items.join(
        suppliers, pw.left.l_suppkey == pw.right.s_suppkey, pw.left.c_nationkey == pw.right.s_nationkey
    ).select(pw.right.n_name, pw.left.revenue)
    return sold.groupby(pw.this.n_name).reduce(pw.this.n_name, revenue=pw.reducers.sum(pw.this.revenue))


def _shown_q05(rows: list[dict[str, Any]]) -> list[Row]:
    return [(row["n_name"], _scaled(row["revenue"], 4)) for row in rows]


def _q06(of: Tables) -> Any:
    item = pw.this
    rows = of["lineitem"].filter(
        (item.l_shipdate >= _days("1994-01-01"))
        & (item.l_shipdate < _days("1995-01-01"))
        & (item.l_discount >= 5)
        & (item.l_discount <= 7)
        & (item.l_quantity < 2400)
    )
    return rows.select(revenue=item.l_extendedprice * item.l_discount).reduce(revenue=pw.reducers.sum(pw.this.revenue))


def _shown_q06(rows: list[dict[str, Any]]) -> list[Row]:
    return [(_scaled(row["revenue"], 4),) for row in rows]


def _scaled(value: int, digits: int) -> Decimal:
    return Decimal(value).scaleb(-digits)


QUERIES: Mapping[int, tuple[Callable[[Tables], Any], Callable[[list[dict[str, Any]]], list[Row]]]] = {
    1: (_q01, _shown_q01),
    3: (_q03, _shown_q03),
    5: (_q05, _shown_q05),
    6: (_q06, _shown_q06),
}


def main(files: Path, number: int) -> None:
    """Build the query's graph and run it for as long as the bench wants."""
    wire = Wire()
    query, shown = QUERIES[number]
    progress = Progress(wire, len(COLUMNS[number]), shown)
    sources: dict[str, Source] = {}
    tables: dict[str, Any] = {}
    marks: list[Any] = []
    for table, columns in COLUMNS[number].items():
        sources[table] = Source(files, table, columns, lambda: progress.answered)
        types = {
            name: pw.column_definition(primary_key=at < KEYS[table], dtype=str if name in TEXTS else int)
            for at, name in enumerate(columns)
        }
        read = pw.io.python.read(
            sources[table],
            schema=pw.schema_builder(types),
            autocommit_duration_ms=None,
            max_backlog_size=AHEAD_ROWS,
        )
        tables[table] = read.filter(read[columns[0]] >= 0)
        mark = read.filter(read[columns[0]] < 0).select(mark=-1 - pw.this[columns[0]], table=table)
        # With names of its own: the same row of two tables would be one row, twice.
        marks.append(mark.with_id_from(pw.this.mark, pw.this.table))
    answer = query(tables)
    names = {name: answer[name] for name in answer.column_names()}
    rows = answer.select(mark=-1, **names).update_id_type(pw.Pointer)
    empty = {name: "" if kind is str else 0 for name, kind in answer.schema.typehints().items()}
    marks = [mark.select(pw.this.mark, **empty).update_id_type(pw.Pointer) for mark in marks]
    # One stream of both, so that a mark does not come before the rows that it follows.
    pw.universes.promise_are_pairwise_disjoint(rows, *marks)
    pw.io.subscribe(
        rows.concat(*marks),
        on_change=lambda key, row, time, is_addition: progress.change(key, row, time, is_addition),
        on_time_end=lambda time: progress.passed(time),
    )
    threading.Thread(target=_hand_on, args=(wire, files, list(sources.values())), daemon=True).start()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


def _hand_on(wire: Wire, files: Path, sources: list[Source]) -> None:
    for number in wire.batches():
        for source in sources:
            source.batches.put((number, files / batch_name(number)))
    os._exit(0)  # the bench is gone


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
