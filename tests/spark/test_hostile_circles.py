"""Circles, watermark groups and fuses where every name and value is as bad as it may be: quotes, dots, words of SQL and
of ours, other scripts, the same word in another case; extremes, NULL, empty texts, duplicates. Everyday stories over
them, compared with an answer that is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.errors import FuseBlownError
from spark_trickle.model.refresh import Action
from tests.spark.engines import opened, values

LOW, HIGH = -(2**63), 2**63 - 1
EDGES, STOPS, SEED, STEPS = "`from`", "`it's.stopped`", '`Ünï "cödé"`', "changes.`where`"
FAR, NEAR, NUMBERS = "step.`gone`", "`Lost`", "`target`"
ABOVE = "`select * from x; --`"
COUNTED = f"SELECT COUNT(*) AS `count(*)`, COUNT(`key`) AS `trickle_n` FROM {NUMBERS} WHERE `key` <> 0"
QUERIES = {
    FAR: f"SELECT DISTINCT e.`trickle_weight`, n.`group by` FROM {EDGES} AS e JOIN {NEAR} AS n "
    "ON e.`group by` = n.`trickle_weight`",
    NEAR: f"SELECT `trickle_weight`, `group by` FROM {EDGES} WHERE `group by` NOT IN (SELECT `größe` FROM {STOPS}) "
    f"UNION SELECT f.`trickle_weight`, e.`group by` FROM {FAR} AS f JOIN {EDGES} AS e "
    f"ON f.`group by` = e.`trickle_weight` LEFT ANTI JOIN {STOPS} AS s ON s.`größe` = e.`group by`",
}
REACHED = (
    f"SELECT `key` FROM {SEED} UNION SELECT e.`O'Value` FROM {STEPS} AS e JOIN {NUMBERS} AS m ON e.`Key.1` <=> m.`key`"
)
LIMITS: dict[str, Any] = {"held_table_rows": 0, "rewrite_table_rows": 0, "small_change_rows": 12}
"""Tables are changed in place, and rewritten files seem to be large changes."""
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
Pair = tuple[Any, Any]


class World:
    """What the tables hold, and what follows from that."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.now = engine, datetime.now(UTC)
        self.rows: dict[str, list[tuple[Any, ...]]] = {EDGES: [], STOPS: [], SEED: [], STEPS: []}
        engine.sql("CREATE NAMESPACE changes; CREATE NAMESPACE step")
        engine.sql(f"CREATE TABLE {EDGES} (`group by` STRING, `trickle_weight` STRING)")
        engine.sql(f"CREATE TABLE {STOPS} (`größe` STRING)")
        engine.sql(f"CREATE TABLE {SEED} (`key` BIGINT)")
        engine.sql(f"CREATE TABLE {STEPS} (`O'Value` BIGINT, `Key.1` BIGINT)")

    def insert(self, table: str, *rows: tuple[Any, ...], by: Callable[[str], Any] | None = None) -> None:
        told = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
        (by or self.engine.sql)(f"INSERT INTO {table} VALUES {told}")
        self.rows[table] += rows

    def delete(self, table: str, *rows: tuple[Any, ...]) -> None:
        """All copies of some rows; of all rows if none are given."""
        columns = COLUMNS[table]
        told = " OR ".join(
            "(" + " AND ".join(f"{c} <=> {literal(v)}" for c, v in zip(columns, row, strict=True)) + ")" for row in rows
        )
        self.engine.sql(f"DELETE FROM {table} WHERE {told or 'TRUE'}")
        self.rows[table] = [row for row in self.rows[table] if rows and row not in rows]

    def tick(self) -> tuple[dict[str, Action], dict[str, tuple[str, ...]]]:
        """What was done, and what was held for which reasons; by names without quotes."""
        self.now = max(self.now, datetime.now(UTC)) + timedelta(minutes=1)
        report = self.engine.tick(now=self.now)
        assert not report.failed, report.failed
        return {each.name: each.action for each in report.refreshed}, {each.name: each.codes for each in report.skipped}

    def near(self) -> set[Pair]:
        """The least fixed point of the two, by going along all edges."""
        return self._fixed()[1]

    def far(self) -> set[Pair]:
        return self._fixed()[0]

    def _fixed(self) -> tuple[set[Pair], set[Pair]]:
        edges = {(src, dst) for dst, src in self.rows[EDGES]}
        stops = {stop for (stop,) in self.rows[STOPS]}
        stopped = stops - {None}
        # NOT IN is not true where NULL is among what is looked in.
        first = (
            set() if None in stops else {(a, b) for a, b in edges if not stops or (b is not None and b not in stops)}
        )
        far: set[Pair] = set()
        near = set(first)
        while True:
            more = {(a, d) for a, b in edges for c, d in near if b is not None and b == c}
            next_near = first | {
                (a, d) for a, b in more for c, d in edges if b is not None and b == c and d not in stopped
            }
            if more == far and next_near == near:
                return far, near
            far, near = more, next_near

    def numbers(self) -> set[tuple[Any, ...]]:
        found = set(self.rows[SEED])
        while more := {(v,) for v, k in self.rows[STEPS] if (k,) in found} - found:
            found |= more
        return found

    def check(self, *, verify: bool = False) -> None:
        """Members hold exactly what they should, each row once; and `verify` says so, too."""
        for name, rows in {FAR: self.far(), NEAR: self.near(), NUMBERS: self.numbers()}.items():
            assert values(self.engine, f"SELECT * FROM {name}") == sorted(rows, key=repr), name
            assert not verify or self.engine.verify(name).ok, name
        real = [key for (key,) in self.numbers() if key not in (None, 0)]
        assert values(self.engine, f"SELECT * FROM {ABOVE}") == [(len(real), len(real))]


COLUMNS = {
    EDGES: ("`group by`", "`trickle_weight`"),
    STOPS: ("`größe`",),
    SEED: ("`key`",),
    STEPS: ("`O'Value`", "`Key.1`"),
}


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    if value == LOW:
        return f"({LOW + 1} - 1)"
    if not isinstance(value, str):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def hour(number: int) -> datetime:
    return NOON + timedelta(hours=number)


def bare(name: str) -> str:
    return name.replace("`", "").removeprefix("default.")


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> Iterator[World]:
    with opened(spark, tmp_path / "lake", allow_circular=True, max_fixpoint_iterations=20, **LIMITS) as engine:
        yield World(engine)


def load(world: World) -> None:
    ring = ("", "o'hara"), ("o'hara", "O'HARA"), ("O'HARA", 'ß"`.'), ('ß"`.', "")
    world.insert(
        EDGES, *ring, ("NULL", ""), ("\\", "NULL"), ("\\", "NULL"), (None, "\\"), ("a\nb", None), ("日本", "日本")
    )
    world.insert(SEED, (LOW,), (0,), (0,))
    world.insert(STEPS, (HIGH, LOW), (None, HIGH), (7, None), (0, 7), (-1, -1), (8, 9), (9, 8), (8, 9))


def changes(world: World) -> Iterator[str]:
    """One change after the other: what the story tells. Nothing else writes."""
    world.delete(EDGES, ("o'hara", "O'HARA"))
    world.delete(STEPS, (None, HIGH))
    yield "a ring is open and NULL is no longer reached"
    world.insert(EDGES, ("o'hara", "O'HARA"), ("o'hara", "O'HARA"))
    world.insert(STEPS, (None, HIGH), (9, HIGH))
    world.delete(STEPS, (HIGH, LOW))
    yield "the ring is closed, and what is left of numbers has only each other"
    world.insert(STOPS, (None,))
    world.insert(STEPS, (HIGH, LOW))
    yield "NULL among what is stopped stops every edge that begins"
    world.delete(STOPS)
    world.insert(STOPS, ("",), ("",), ("not there",))
    yield "a stop in the ring"
    for table in world.rows:
        world.delete(table)
    yield "everything is gone"
    load(world)
    yield "and is loaded again"


def test_circles_with_bad_names_and_values_are_what_follows_from_their_tables(world: World) -> None:
    engine = world.engine
    load(world)
    engine.create_stream_tables(QUERIES, strict=True, schedule="1s")
    engine.create_stream_table(NUMBERS, REACHED, strict=True, schedule="1s")
    engine.create_stream_table(ABOVE, COUNTED, strict=True, schedule="1s")
    world.check()
    members = [set(row.members) for row in engine.scc_status()]
    assert sorted(members, key=len) == [{bare(NUMBERS)}, {bare(FAR), bare(NEAR)}]
    for what in changes(world):
        done, held = world.tick()
        assert done and not held, what
        assert set(done.values()) <= {Action.DIFFERENTIAL, Action.NO_DATA}, (what, done)
        assert bare(FAR) in done or bare(NUMBERS) in done, (what, done)
        world.check()
    assert {row.mode for name in (FAR, NUMBERS) for row in engine.history(name, limit=5)} <= {"DIFFERENTIAL", "NO_DATA"}
    held_by_watermarks(world)
    blown(world)


def held_by_watermarks(world: World) -> None:
    """One group that holds, one that reads what was."""
    engine = world.engine
    engine.create_watermark_group("o'clock; --", [SEED, STEPS], tolerance="1h")
    engine.create_watermark_group("`hold.back`", [EDGES, STOPS], mode="hold_back")
    done, held = world.tick()
    for source in (SEED, STEPS, EDGES, STOPS):
        engine.advance_watermark(source, hour(1))
    done, held = world.tick()
    assert not held
    world.insert(SEED, (8,))
    engine.advance_watermark(SEED, hour(4))
    before = world.near(), world.far()
    with engine.transaction() as tx:
        world.insert(EDGES, ("new", "日本"), ("newer", "new"), by=tx.sql)
        tx.advance_watermark(EDGES, hour(2))
    done, held = world.tick()
    assert held[bare(NUMBERS)] == ("watermark",) and not done, "the group is apart; and nothing is complete until two"
    assert "o'clock; --" in str(engine.why(NUMBERS))
    assert values(engine, f"SELECT * FROM {NEAR}") == sorted(before[0], key=repr)
    assert values(engine, f"SELECT * FROM {FAR}") == sorted(before[1], key=repr)
    (status,) = [row for row in engine.watermark_status() if not row.aligned and "o'clock" in row.group_name]
    assert set(status.governed) >= {bare(NUMBERS)}
    with engine.transaction() as tx:
        world.insert(STOPS, ("newer",), by=tx.sql)
        tx.advance_watermark(STOPS, hour(2))
    engine.advance_watermark(STEPS, hour(3))
    done, held = world.tick()
    assert not held and done[bare(NEAR)] is done[bare(FAR)] is done[bare(NUMBERS)] is Action.DIFFERENTIAL
    world.check()
    for group in ("o'clock; --", "`hold.back`"):
        engine.drop_watermark_group(group)
    assert engine.watermark_groups() == []


def blown(world: World) -> None:
    """A fuse of one member holds all of its circle, and every way out leads on."""
    engine = world.engine
    engine.alter_stream_table(FAR, fuse="on", fuse_ceiling=3)
    world.delete(EDGES)
    for name in (FAR, NEAR):
        with pytest.raises(FuseBlownError, match=r"'step\.gone' is not refreshed|fuse of 'step\.gone' has blown"):
            engine.refresh_stream_table(name)
    assert values(engine, f"SELECT COUNT(*) FROM {NEAR}") != [(0,)]
    done, held = world.tick()
    assert not done and held.keys() >= {bare(FAR)} and "fuse" in held[bare(FAR)]
    engine.reset_fuse(FAR)
    done, held = world.tick()
    assert done[bare(FAR)] is done[bare(NEAR)] is Action.DIFFERENTIAL and not held
    world.check()
    load(world)  # all of it again, and to the other tables once more
    with pytest.raises(FuseBlownError):
        engine.refresh_stream_table(NEAR)
    engine.reset_fuse(FAR, "reinitialize")
    done, held = world.tick()
    assert done[bare(FAR)] is done[bare(NEAR)] is Action.REINITIALIZE and not held
    world.check()
    world.insert(EDGES, *((f"x{n}", "日本") for n in range(4)))
    with pytest.raises(FuseBlownError):
        engine.refresh_stream_table(FAR)
    engine.reset_fuse(FAR, "skip_changes")
    # Rows that were skipped go, and others that were not: nothing that is looked for may be missed.
    world.delete(EDGES, ("x1", "日本"), ("日本", "日本"))
    assert engine.refresh_stream_table(NEAR).action in (Action.DIFFERENTIAL, Action.NO_DATA)
    assert engine.status(FAR).diverged is not None
    assert engine.refresh_stream_table(FAR, mode="FULL").action is Action.FULL
    assert engine.status(FAR).diverged is None
    world.check(verify=True)
