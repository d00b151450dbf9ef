"""The end-to-end tests that the plans for diamonds and for cross-source consistency name, over real tables.

One lake for all of them: building it costs more than any test. Each test sets the options that it needs and leaves
everything up to date. Time is the tests' own: minutes pass between ticks, and nothing is slow by that measure. The
same names over a toy lake, in the fast lane, are in `tests/unit/scheduler/test_promised.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.events import Event, Step, StepReached
from spark_trickle.model.groups import Isolation
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.stream_table import DiamondConsistency, DiamondSchedulePolicy, Status
from spark_trickle.model.tick import TickReport
from tests.spark.engines import assert_equals_query, values

ATOMIC, LOOSE = DiamondConsistency.ATOMIC.value, DiamondConsistency.NONE.value
FASTEST, SLOWEST = DiamondSchedulePolicy.FASTEST.value, DiamondSchedulePolicy.SLOWEST.value
POISON = -666
"""A value that `c` and `c2` cannot compute with."""


@dataclass
class Plant:
    """The lake, an engine, and another one with other settings: no watermark in its ticks, `slowest` by default."""

    engine: Engine
    other: Engine
    hooks: list[Callable[[Event], None]]
    now: datetime = field(default_factory=lambda: datetime.now(UTC) + timedelta(days=1))
    number: int = 0

    def write(self, *bases: str, value: int | None = None) -> None:
        """One row more in each base table; another value than any before."""
        for base in bases:
            self.number += 1
            self.engine.sql(f"INSERT INTO {base} VALUES ({self.number}, {self.number if value is None else value})")

    def heal(self, base: str, *broken: str) -> None:
        """What somebody does who was told of a failure."""
        self.engine.sql(f"DELETE FROM {base} WHERE v = {POISON}")
        for name in broken:
            if self.engine.status(name).status in (Status.SUSPENDED, Status.ERROR):
                self.engine.resume_stream_table(name)

    def tick(self, minutes: float = 100_000.0, engine: Engine | None = None) -> TickReport:
        self.now += timedelta(minutes=minutes)
        return (engine or self.engine).tick(self.now)

    def meanwhile(self, staged: str, then: Callable[[], None]) -> None:
        """Once, when that stream table is staged in a tick."""

        def hook(event: Event) -> None:
            if event == StepReached(Step.STAGED, staged):
                self.hooks.clear()
                then()

        self.hooks[:] = [hook]

    def scheduled(self, **schedules: str) -> None:
        for name, schedule in schedules.items():
            self.engine.alter_stream_table(name, schedule=schedule)

    def at_rest(self, *bases: str) -> None:
        """Everything below those is refreshed at one moment: what is due next counts from there."""
        self.write(*bases)
        assert not self.tick().failed

    def holds(self, *names: str) -> dict[str, list[tuple[Any, ...]]]:
        return {name: values(self.engine, f"SELECT * FROM {name}") for name in names}

    def epoch(self, member: str) -> int:
        return next(row.epoch for row in self.engine.diamond_groups() if row.member_name == member)


@pytest.fixture(scope="module")
def plant(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    folder, hooks = str(tmp_path_factory.mktemp("plant")), list[Callable[[Event], None]]()

    def observe(event: Event) -> None:
        for hook in list(hooks):
            hook(event)

    with (
        spark_trickle.connect(folder, spark=spark.newSession(), observers=[observe]) as engine,
        spark_trickle.connect(
            folder,
            spark=spark.newSession(),
            observers=[observe],
            tick_watermark_enabled=False,
            diamond_schedule_policy=SLOWEST,
        ) as other,
    ):
        for base in ("a", "n", "line", "b1", "c1"):
            engine.sql(f"CREATE TABLE {base} (id INT, v INT); INSERT INTO {base} VALUES (0, 0)")
        for name, query in QUERIES.items():
            engine.create_stream_table(name, query, "1m", refresh_mode="DIFFERENTIAL")
        yield Plant(engine, other, hooks)


def picky(base: str) -> str:
    return f"SELECT id, v DIV IF(v = {POISON}, 0, 1) AS v FROM {base}"


def both(left: str, right: str) -> str:
    return f"SELECT 'left' AS side, id, v FROM {left} UNION ALL SELECT 'right', id, v FROM {right}"


QUERIES = {
    # A diamond: a -> b, c -> d.
    "b": "SELECT id, v FROM a",
    "c": picky("a"),
    "d": both("b", "c"),
    # Nested: n -> nb, nc -> nd; nd and n -> ne.
    "nb": "SELECT id, v FROM n",
    "nc": picky("n"),
    "nd": both("nb", "nc"),
    "ne": both("nd", "n"),
    # A line.
    "lb": "SELECT id, v FROM line",
    "lc": picky("lb"),
    # Two sources that have nothing in common.
    "b2": "SELECT id, v FROM b1",
    "c2": picky("c1"),
    "d2": both("b2", "c2"),
}


def names(report: TickReport) -> list[str]:
    return sorted(outcome.name for outcome in report.refreshed)


def failed(report: TickReport) -> list[str]:
    return [each.name for each in report.failed]


@pytest.fixture
def diamond(plant: Plant) -> Iterator[Plant]:
    """The diamond with the defaults, each schedule a minute; whatever a test changes is changed back."""
    yield plant
    plant.engine.alter_stream_table("d", diamond_consistency=ATOMIC, diamond_schedule_policy=FASTEST)
    plant.scheduled(b="1m", c="1m", d="1m")


@pytest.fixture
def declared(plant: Plant) -> Iterator[Plant]:
    plant.engine.create_refresh_group("pair", ["b2", "c2"], isolation="repeatable_read")
    yield plant
    plant.engine.drop_refresh_group("pair")


def test_diamond_atomic_all_succeed(plant: Plant) -> None:
    """B and C both succeed: D is refreshed, the epoch advances."""
    before = plant.epoch("d")
    plant.write("a")
    assert names(plant.tick()) == ["b", "c", "d"]
    assert plant.epoch("d") == before + 1
    assert_equals_query(plant.engine, "d")
    rows = plant.engine.history(limit=3)
    assert {(row.group, row.status) for row in rows} == {("diamond:d", Outcome.COMPLETED)}


def partly_failed(plant: Plant) -> None:
    before, epoch = plant.holds("b", "c", "d"), plant.epoch("d")
    plant.write("a")
    plant.write("a", value=POISON)
    report = plant.tick()
    assert (failed(report), names(report)) == (["c"], [])
    assert plant.holds("b", "c", "d") == before
    assert plant.epoch("d") == epoch


def test_diamond_atomic_partial_fail(plant: Plant) -> None:
    """B succeeds, C fails: nothing of B is published, D is unchanged; the history says who failed."""
    partly_failed(plant)
    told = {name: plant.engine.history(name, limit=1)[0] for name in "bcd"}
    assert {name: row.status for name, row in told.items()} == {
        "b": Outcome.SKIPPED,
        "c": Outcome.FAILED,
        "d": Outcome.SKIPPED,
    }
    assert told["b"].reason == "'c' failed, and with it its group"
    assert plant.engine.status("c").consecutive_errors == 1
    assert plant.engine.status("b").consecutive_errors == 0
    plant.heal("a", "c")
    plant.tick()


def test_diamond_atomic_convergence(plant: Plant) -> None:
    """After the retry, B and C succeed: D is correct and consistent."""
    partly_failed(plant)
    plant.heal("a", "c")
    assert names(plant.tick()) == ["b", "c", "d"]
    assert_equals_query(plant.engine, "d")
    sides = [[row[1:] for row in plant.holds("d")["d"] if row[0] == side] for side in ("left", "right")]
    assert sides[0] == sides[1] != []
    assert plant.engine.status("c").consecutive_errors == 0


def test_diamond_none_mode_unblocked(diamond: Plant) -> None:
    """With diamond_consistency='none', the failure of C does not take back B."""
    plant = diamond
    plant.engine.alter_stream_table("d", diamond_consistency=LOOSE)
    assert {row.group_id for row in plant.engine.diamond_groups()} == {"diamond:nd"}
    before = plant.holds("b", "c")
    plant.write("a")
    plant.write("a", value=POISON)
    report = plant.tick()
    assert failed(report) == ["c"] and "b" in names(report)
    after = plant.holds("b", "c")
    assert after["b"] != before["b"] and after["c"] == before["c"]
    assert_equals_query(plant.engine, "b")
    plant.heal("a", "c")
    plant.tick()


def test_diamond_linear_unaffected(plant: Plant) -> None:
    """A line A -> B -> C: each goes alone, and the failure of C leaves B what it has become."""
    plant.write("line")
    plant.write("line", value=POISON)
    report = plant.tick()
    assert (names(report), failed(report)) == (["lb"], ["lc"])
    assert_equals_query(plant.engine, "lb")
    assert {row.group for name in ("lb", "lc") for row in plant.engine.history(name)} == {None}
    plant.heal("line", "lc")
    assert names(plant.tick()) == ["lb", "lc"]
    assert_equals_query(plant.engine, "lc")


def test_diamond_nested_merge(plant: Plant) -> None:
    """Nested diamonds are one group: the last is refreshed only when all succeed."""
    all_of_it = ("nb", "nc", "nd", "ne")
    assert plant.engine.explain("nb").diamond_group == all_of_it
    before = plant.holds(*all_of_it)
    plant.write("n")
    plant.write("n", value=POISON)
    assert failed(plant.tick()) == ["nc"]
    assert plant.holds(*all_of_it) == before
    plant.heal("n", "nc")
    assert names(plant.tick()) == [*all_of_it]
    assert_equals_query(plant.engine, "ne")


def test_diamond_groups_sql_function(plant: Plant) -> None:
    """`CALL trickle.diamond_groups()` gives members, where paths meet, the policy, and an epoch that moves."""
    plant.at_rest("a")
    rows = [tuple(row) for row in plant.engine.sql("CALL trickle.diamond_groups()").collect()]
    epoch = plant.epoch("d")
    assert [row for row in rows if row[0] == "diamond:d"] == [
        ("diamond:d", "b", "default", False, epoch, FASTEST),
        ("diamond:d", "c", "default", False, epoch, FASTEST),
        ("diamond:d", "d", "default", True, epoch, FASTEST),
    ]
    assert epoch > 0
    nested = {(row[1], row[3]) for row in rows if row[0] != "diamond:d"}
    assert nested == {("nb", False), ("nc", False), ("nd", True), ("ne", True)}


def test_diamond_schedule_policy_fastest_default(diamond: Plant) -> None:
    """By default the group goes when any member is due."""
    plant = diamond
    assert plant.engine.settings.diamond_schedule_policy is DiamondSchedulePolicy.FASTEST
    plant.scheduled(b="5m", c="1h", d="1h")
    plant.at_rest("a")
    plant.write("a")
    assert plant.tick(4).idle
    assert names(plant.tick(1)) == ["b", "c", "d"]


def test_diamond_schedule_policy_slowest_per_node(diamond: Plant) -> None:
    """Where the paths meet it says `slowest`: the group waits until all members are due."""
    plant = diamond
    plant.scheduled(b="5m", c="1h", d="5m")
    plant.engine.alter_stream_table("d", diamond_schedule_policy=SLOWEST)
    plant.at_rest("a")
    plant.write("a")
    assert plant.tick(59).idle
    assert names(plant.tick(1)) == ["b", "c", "d"]


def test_diamond_schedule_policy_overrides_guc(diamond: Plant) -> None:
    """What the stream table says wins over the global default of whoever makes the tick, both ways."""
    plant = diamond
    assert plant.engine.settings.diamond_schedule_policy is DiamondSchedulePolicy.FASTEST
    assert plant.other.settings.diamond_schedule_policy is DiamondSchedulePolicy.SLOWEST
    plant.scheduled(b="5m", c="1h", d="5m")
    plant.engine.alter_stream_table("d", diamond_schedule_policy=SLOWEST)
    plant.at_rest("a")
    plant.write("a")
    assert plant.tick(6).idle
    plant.engine.alter_stream_table("d", diamond_schedule_policy=FASTEST)
    assert names(plant.tick(1, engine=plant.other)) == ["b", "c", "d"]


def test_diamond_schedule_policy_none_mode_ignored(diamond: Plant) -> None:
    """With diamond_consistency='none' the policy has no effect: each goes by its own schedule."""
    plant = diamond
    plant.scheduled(b="5m", c="1h", d="1h")
    plant.engine.alter_stream_table("d", diamond_consistency=LOOSE, diamond_schedule_policy=SLOWEST)
    plant.at_rest("a")
    plant.write("a")
    assert names(plant.tick(5)) == ["b"]
    assert names(plant.tick(55)) == ["c", "d"]


def test_diamond_schedule_policy_nested_strictest_wins(plant: Plant) -> None:
    """Of two places where paths meet one says `slowest`: so it is for the whole group."""
    plant.scheduled(nb="5m", ne="1h")
    plant.engine.alter_stream_table("ne", diamond_schedule_policy=SLOWEST)
    plant.at_rest("n")
    plant.write("n")
    assert plant.tick(59).idle
    assert names(plant.tick(1)) == ["nb", "nc", "nd", "ne"]


def test_watermark_cross_source_bounded(plant: Plant) -> None:
    """What is written to B1 and C1 after the tick has begun is not visible to B2 and C2 until the next tick."""
    plant.write("b1", "c1")
    expected = values(plant.engine, both("b1", "c1"))
    plant.meanwhile("b2", lambda: plant.write("b1", "c1"))
    report = plant.tick()
    assert names(report) == ["b2", "c2", "d2"] and plant.hooks == []
    assert plant.holds("d2")["d2"] == expected
    assert {row.cut for row in plant.engine.history(limit=3)} == {report.cut}
    assert names(plant.tick()) == ["b2", "c2", "d2"]
    assert_equals_query(plant.engine, "d2")
    assert_equals_query(plant.engine, "c2")


def test_repeatable_read_snapshot_coherence(declared: Plant) -> None:
    """B2 and C2 see B1 and C1 at the same moment, though ticks have no watermark and C1 is written in between."""
    plant = declared
    plant.write("b1", "c1")
    expected = values(plant.engine, both("b1", "c1"))
    plant.meanwhile("b2", lambda: plant.write("b1", "c1"))
    assert {"b2", "c2"} <= set(names(plant.tick(engine=plant.other))) and plant.hooks == []
    assert values(plant.engine, both("b2", "c2")) == expected
    rows = [plant.engine.history(name, limit=1)[0] for name in ("b2", "c2")]
    assert {row.group for row in rows} == {"declared:pair"} and len({row.cut for row in rows}) == 1
    assert names(plant.tick()) == ["b2", "c2", "d2"]


def test_repeatable_read_rollback_on_fail(declared: Plant) -> None:
    """C2 fails: nothing of B2 is published; both are tried again at the next tick."""
    plant = declared
    before = plant.holds("b2", "c2")
    plant.write("b1", "c1")
    plant.write("c1", value=POISON)
    report = plant.tick()
    assert failed(report) == ["c2"] and not {"b2", "c2"} & set(names(report))
    assert plant.holds("b2", "c2") == before
    plant.heal("c1", "c2")
    assert names(plant.tick()) == ["b2", "c2", "d2"]
    assert_equals_query(plant.engine, "b2")


def test_declared_group_overrides_autodetect(plant: Plant) -> None:
    """A declared group with `repeatable_read` takes precedence over the detected one with `read_committed`."""
    engine = plant.engine

    def found() -> list[tuple[str, Isolation]]:
        return [(group.group_id, group.isolation) for group in engine.groups() if "d" in group.members]

    assert found() == [("diamond:d", Isolation.READ_COMMITTED)]
    engine.create_refresh_group("prices", ["b", "c"], isolation="repeatable_read")
    assert found() == [("declared:prices", Isolation.REPEATABLE_READ)]
    plant.write("a")
    assert names(plant.tick()) == ["b", "c", "d"]
    assert {row.group for row in engine.history(limit=3)} == {"declared:prices"}
    engine.drop_refresh_group("prices")
    assert found() == [("diamond:d", Isolation.READ_COMMITTED)]
