"""SUM and COUNT by group over a large base table: appended rows, changes among the newest rows, scattered changes."""

from __future__ import annotations

import random

from bench.measure import Line, against_full, median_full, median_refresh
from spark_trickle.engine import Engine

CHANGED = 1000
PROPERTIES = (
    "TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', "
    "'write.merge.mode'='merge-on-read', 'write.distribution-mode'='none')"
)


def run(engine: Engine, rows: int, groups: int, repeat: int, *, targets: bool) -> list[Line]:
    """Three kinds of change on one base table. The targets are for the large one; the small one shows the growth."""
    base, name = f"base_{rows}", f"totals_{rows}"
    query = f"SELECT grp, SUM(amount) AS total, COUNT(*) AS n FROM {base} GROUP BY grp"
    engine.spark.sql(
        f"CREATE TABLE {base} (id BIGINT, grp BIGINT, amount BIGINT, note STRING) USING iceberg {PROPERTIES}"
    )
    engine.spark.sql(
        f"INSERT INTO {base} SELECT id, pmod(hash(id), {groups}), id % 1000, concat('note ', id % 97) "
        f"FROM range(0, {rows}, 1, 16)"
    )
    engine.create_stream_table(name, query, strict=True)
    full = median_full(engine, query, repeat)
    last = Newest(rows)
    label = f"{rows / 1e6:g} M rows, {groups:,} groups"
    appended, outcomes = median_refresh(engine, name, lambda _: append(engine, base, groups, last), repeat)
    lines = [against_full(f"{label}: (a) {CHANGED:,} appended", appended, outcomes, full, 4 if targets else None)]
    newest, outcomes = median_refresh(engine, name, lambda _: change_newest(engine, base, groups, last), repeat)
    lines.append(
        against_full(
            f"{label}: (b) {CHANGED:,} changed among the newest", newest, outcomes, full, 4 if targets else None
        )
    )
    scattered, outcomes = median_refresh(
        engine, name, lambda turn: scatter(engine, base, groups, rows, last, turn), repeat
    )
    lines.append(
        against_full(f"{label}: (c) {CHANGED:,} changed all over", scattered, outcomes, full, 1.5 if targets else None)
    )
    return lines


def growth(small: list[Line], large: list[Line]) -> list[Line]:
    """How the differential time grows with the base table."""
    lines = []
    for kind, before, after in zip("ab", small, large, strict=False):
        factor = after.differential_ms / before.differential_ms
        lines.append(Line(f"growth of ({kind}) with the base table", factor, None, "< 1.5×", factor < 1.5))
    return lines


class Newest:
    """The next id to give out."""

    def __init__(self, first: int) -> None:
        self.next = first


def append(engine: Engine, base: str, groups: int, last: Newest, count: int = CHANGED) -> None:
    engine.spark.sql(
        f"INSERT INTO {base} SELECT id, pmod(hash(id), {groups}), id % 1000, 'new' "
        f"FROM range({last.next}, {last.next + count}, 1, 1)"
    )
    last.next += count


def change_newest(engine: Engine, base: str, groups: int, last: Newest) -> None:
    third = CHANGED // 3
    engine.spark.sql(f"UPDATE {base} SET amount = amount + 7 WHERE id >= {last.next - third}")
    engine.spark.sql(f"DELETE FROM {base} WHERE id >= {last.next - 2 * third} AND id < {last.next - third}")
    append(engine, base, groups, last, CHANGED - 2 * third)


def scatter(engine: Engine, base: str, groups: int, rows: int, last: Newest, turn: int) -> None:
    third = CHANGED // 3
    ids = random.Random(turn).sample(range(rows), 2 * third)
    updated, deleted = ", ".join(map(str, ids[:third])), ", ".join(map(str, ids[third:]))
    engine.spark.sql(f"UPDATE {base} SET amount = amount + 7 WHERE id IN ({updated})")
    engine.spark.sql(f"DELETE FROM {base} WHERE id IN ({deleted})")
    append(engine, base, groups, last, CHANGED - 2 * third)
