"""Circles of stream tables through the public calls, on Spark: the scenarios of their plan, and beyond."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.errors import CycleError, HasDependentsError, NotConvergedError, NotMonotoneError, UserError
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import Status
from tests.spark.engines import opened, values

CLOSURE = {
    "reach_a": "SELECT DISTINCT e.src, b.dst FROM edges AS e JOIN reach_b AS b ON e.dst = b.src",
    "reach_b": "SELECT src, dst FROM edges UNION SELECT a.src, e.dst FROM reach_a a JOIN edges e ON a.dst = e.src",
}


@pytest.fixture
def circular(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    """An engine that allows circles, on a lake with some edges."""
    with opened(spark, tmp_path / "lake", allow_circular=True, max_fixpoint_iterations=20) as engine:
        engine.sql("CREATE TABLE edges (src INT, dst INT)")
        engine.sql("INSERT INTO edges VALUES (1, 2), (2, 3), (3, 4)")
        yield engine


def pairs(engine: Engine, name: str) -> set[tuple[int, int]]:
    found = values(engine, f"SELECT * FROM {name}")
    assert len(found) == len(set(found))
    return set(found)


def closure(engine: Engine) -> set[tuple[int, int]]:
    """Which node reaches which, by another way."""
    edges = {(src, dst) for src, dst in values(engine, "SELECT * FROM edges")}
    found = set(edges)
    while more := {(a, d) for a, b in found for c, d in edges if b == c} - found:
        found |= more
    return found


def verified(engine: Engine, *names: str) -> None:
    for name in names:
        found = engine.verify(name)
        assert found.ok, found


def test_simple_cycle_with_monotone_queries(circular: Engine) -> None:
    made = circular.create_stream_tables(CLOSURE, schedule="1m", strict=True)
    assert [str(table.name) for table in made] == ["reach_a", "reach_b"]
    assert pairs(circular, "reach_b") | pairs(circular, "reach_a") == closure(circular)
    (found,) = circular.scc_status()
    assert (found.scc_id, found.members, found.member_count, found.is_monotone) == (1, ("reach_a", "reach_b"), 2, True)
    assert found.last_iterations == circular.history("reach_a")[0].fixpoint_iteration == 3
    assert found.last_converged_at == circular.status("reach_b").last_refresh_at
    # One more edge: the changes alone go round, all members are published with one commit.
    circular.sql("INSERT INTO edges VALUES (4, 5), (4, 1)")
    outcome = circular.refresh_stream_table("reach_a")
    assert outcome.action is Action.DIFFERENTIAL
    assert outcome.fixpoint_iteration is not None
    assert outcome.rows_deleted == 0
    assert pairs(circular, "reach_b") | pairs(circular, "reach_a") == closure(circular)
    assert {row.cut for row in circular.history(limit=2)} == {circular.history(limit=1)[0].cut}
    assert {row.name for row in circular.history(limit=2)} == {"reach_a", "reach_b"}
    assert circular.refresh_stream_table("reach_b").action is Action.NO_DATA
    # The scheduler: one unit, due when any member is.
    circular.alter_stream_table("reach_a", schedule="1h")
    circular.sql("INSERT INTO edges VALUES (5, 6)")
    report = circular.tick(now=datetime.now(UTC) + timedelta(minutes=2))
    assert sorted(outcome.name for outcome in report.refreshed) == ["reach_a", "reach_b"]
    assert pairs(circular, "reach_b") | pairs(circular, "reach_a") == closure(circular)
    verified(circular, "reach_a", "reach_b")


def test_non_monotone_cycle_rejected(circular: Engine) -> None:
    circular.create_stream_tables(CLOSURE)
    with pytest.raises(
        NotMonotoneError, match=r"reach_a -> reach_b -> reach_a.*'reach_b' in GROUP BY \(line 1, column "
    ):
        circular.alter_stream_table("reach_a", query="SELECT src, COUNT(*) AS dst FROM reach_b GROUP BY src")
    with pytest.raises(NotMonotoneError, match="'odd' reads 'even' in the right side of EXCEPT"):
        circular.create_stream_tables(
            {
                "even": "SELECT src FROM edges UNION SELECT src FROM odd",
                "odd": "SELECT src FROM edges EXCEPT SELECT src FROM even",
            }
        )
    for mode in ("FULL", "IMMEDIATE"):
        with pytest.raises(UserError, match=f"'reach_a' is kept in {mode} mode"):
            circular.alter_stream_table("reach_a", refresh_mode=mode)
    with pytest.raises(UserError, match=r"cannot be told.*a branch that reads none"):
        circular.create_stream_tables({"hen": "SELECT x FROM egg", "egg": "SELECT x FROM hen"})
    # What is over other tables is nobody's concern, and nothing of all that has changed anything.
    counted = "SELECT src, MAX(dst) AS dst FROM edges GROUP BY src"
    circular.alter_stream_table("reach_a", query=CLOSURE["reach_a"].replace("edges", f"({counted})"))
    verified(circular, "reach_a")
    assert {str(table.name) for table in circular.stream_tables()} == {"reach_a", "reach_b"}


def test_a_cycle_of_edges_that_lost_its_entry_supports_nothing(circular: Engine) -> None:
    circular.sql("CREATE TABLE seed (node INT)")
    circular.sql("INSERT INTO seed VALUES (1)")
    circular.sql("INSERT INTO edges VALUES (4, 2)")
    circular.create_stream_tables(
        {
            "marked": "SELECT node FROM seed UNION SELECT e.dst FROM edges AS e JOIN copied AS c ON e.src = c.node",
            "copied": "SELECT node FROM marked",
        },
        strict=True,
    )
    assert values(circular, "SELECT * FROM copied") == [(1,), (2,), (3,), (4,)]
    circular.sql("DELETE FROM edges WHERE src = 1")
    assert circular.refresh_stream_table("copied").action is Action.DIFFERENTIAL
    assert values(circular, "SELECT * FROM copied") == values(circular, "SELECT * FROM marked") == [(1,)]
    # An update leaves as many rows as there were: what counts is which.
    circular.sql("UPDATE seed SET node = 3")
    assert circular.refresh_stream_table("marked").action is Action.DIFFERENTIAL
    assert values(circular, "SELECT * FROM copied") == values(circular, "SELECT * FROM marked") == [(2,), (3,), (4,)]
    verified(circular, "copied")
    # Everything deleted, and loaded again.
    circular.sql("DELETE FROM edges")
    circular.sql("DELETE FROM seed")
    circular.refresh_stream_table("marked")
    assert values(circular, "SELECT * FROM copied") == []
    circular.sql("INSERT INTO seed VALUES (7)")
    circular.sql("INSERT INTO edges VALUES (7, 8), (8, 7)")
    circular.refresh_stream_table("marked")
    assert values(circular, "SELECT * FROM copied") == [(7,), (8,)]


def test_convergence_within_max_iterations_and_error_beyond(circular: Engine) -> None:
    circular.create_stream_table(
        "chain",
        "SELECT src, dst FROM edges UNION ALL SELECT c.src, e.dst FROM chain AS c JOIN edges AS e ON c.dst = e.src",
    )
    assert pairs(circular, "chain") == closure(circular)
    assert circular.status("chain").scc_id == 1
    verified(circular, "chain")
    before = values(circular, "SELECT * FROM chain")
    # Over a cycle of edges each way round is another copy: that grows for ever.
    circular.sql("INSERT INTO edges VALUES (4, 1)")
    with pytest.raises(NotConvergedError, match="chain -> chain still changes after 20 rounds"):
        circular.refresh_stream_table("chain")
    status = circular.status("chain")
    assert status.status is Status.ERROR
    assert status.status_reason is not None
    assert "20 rounds" in status.status_reason
    assert circular.history("chain")[0].fixpoint_iteration == 20
    assert values(circular, "SELECT * FROM chain") == before
    circular.sql("DELETE FROM edges WHERE src = 4")
    circular.resume_stream_table("chain")
    circular.refresh_stream_table("chain")
    assert values(circular, "SELECT * FROM chain") == before


def test_what_was_reached_bit_by_bit_is_verified_however_many_rounds_that_takes(
    spark: SparkSession, tmp_path: Path
) -> None:
    with opened(spark, tmp_path / "lake", allow_circular=True, max_fixpoint_iterations=4) as engine:
        engine.sql("CREATE TABLE edges (src INT, dst INT)")
        reached = "SELECT 1 AS node UNION SELECT e.dst FROM reached r JOIN edges e ON r.node = e.src"
        engine.create_stream_table("reached", reached, strict=True)
        for node in range(1, 9, 2):
            engine.sql(f"INSERT INTO edges VALUES ({node}, {node + 1}), ({node + 1}, {node + 2})")
            assert engine.refresh_stream_table("reached").fixpoint_iteration == 3
        verified(engine, "reached")


def test_drop_member_breaks_cycle_and_scc_id_cleared(circular: Engine) -> None:
    circular.create_stream_tables(CLOSURE)
    circular.create_stream_table("after", "SELECT src, COUNT(*) AS n FROM reach_b GROUP BY src")
    assert circular.status("after").scc_id is None
    with pytest.raises(HasDependentsError, match="'reach_b', 'after'"):
        circular.drop_stream_table("reach_a")
    circular.alter_stream_table("reach_a", query="SELECT src, dst FROM edges")
    assert circular.scc_status() == []
    assert circular.status("reach_b").scc_id is None
    assert circular.status("reach_b").last_fixpoint_iterations is None
    circular.refresh_stream_tables(["reach_b", "after"])
    verified(circular, "reach_a", "reach_b", "after")
    circular.alter_stream_table("reach_a", query=CLOSURE["reach_a"])
    assert circular.status("reach_b").scc_id == 1
    assert pairs(circular, "reach_b") | pairs(circular, "reach_a") == closure(circular)
    assert set(circular.drop_stream_table("reach_a", cascade=True)) == {"reach_a", "reach_b", "after"}
    assert circular.scc_status() == []


def test_one_circle_may_go_by_what_is_counted_in_another_one(circular: Engine) -> None:
    """Between them more rows may take rows away; inside of each they may not."""
    circular.create_stream_tables(CLOSURE, schedule="1s", strict=True)
    circular.create_stream_table("counts", "SELECT src, COUNT(*) AS n FROM reach_b GROUP BY src", schedule="1s")
    circular.create_stream_table(
        "hops",
        "SELECT src AS node, n FROM counts "
        "UNION SELECT e.dst, h.n - 1 FROM hops AS h JOIN edges AS e ON e.src = h.node WHERE h.n > 0",
        schedule="1s",
        strict=True,
    )
    later = datetime.now(UTC)
    for change in (None, "INSERT INTO edges VALUES (3, 5), (5, 1)", "DELETE FROM edges WHERE src = 2"):
        if change is not None:
            circular.sql(change)
            later += timedelta(minutes=1)
            report = circular.tick(now=later)
            order = [outcome.name for outcome in report.refreshed]
            assert set(order) == {"reach_a", "reach_b", "counts", "hops"} and order[2:] == ["counts", "hops"]
            assert {outcome.action for outcome in report.refreshed} == {Action.DIFFERENTIAL}
        edges = values(circular, "SELECT * FROM edges")
        counts = Counter(src for src, _ in pairs(circular, "reach_b"))
        found = set(counts.items())
        while more := {(dst, n - 1) for node, n in found if n > 0 for src, dst in edges if src == node} - found:
            found |= more
        assert pairs(circular, "hops") == found, change
    assert [circle.members for circle in circular.scc_status()] == [("reach_a", "reach_b"), ("hops",)]
    assert circular.status("counts").scc_id is None
    verified(circular, "reach_a", "reach_b", "counts", "hops")


def test_allow_circular_false_rejects_cycles(engine: Engine) -> None:
    engine.sql("CREATE TABLE edges (src INT, dst INT)")
    with pytest.raises(CycleError, match=r"reach_a -> reach_b -> reach_a.*allow_circular = true"):
        engine.create_stream_tables(CLOSURE)
    with pytest.raises(CycleError, match="me -> me"):
        engine.create_stream_table("me", "SELECT src FROM edges UNION SELECT src FROM me")
    assert engine.stream_tables() == ()
    # Several that read each other in one direction are no circle.
    engine.create_stream_tables({"second": "SELECT src FROM first", "first": "SELECT src FROM edges"})
    with pytest.raises(CycleError, match="first -> second -> first"):
        engine.alter_stream_table("first", query="SELECT src FROM second")
    verified(engine, "first", "second")


def test_circles_in_sql_and_types_that_follow_from_each_other(circular: Engine) -> None:
    circular.sql(
        "CREATE STREAM TABLES far AS (SELECT b.src, CAST(b.dst + e.dst AS DOUBLE) AS total FROM near b JOIN edges e "
        "ON b.src = e.src AND b.dst < 10), near AS (SELECT src, dst FROM edges UNION SELECT src, total FROM far) "
        "SCHEDULE '5m' WITH (strict = true)"
    )
    kinds = {field.name: field.dataType.simpleString() for field in circular.spark.table("near").schema.fields}
    assert kinds == {"src": "int", "dst": "double"}
    assert circular.status("far").schedule == "5m"
    circular.sql("INSERT INTO edges VALUES (9, 1)")
    assert circular.refresh_stream_table("far").action is Action.DIFFERENTIAL
    verified(circular, "near", "far")
    assert [row.members for row in circular.sql("CALL trickle.scc_status()").collect()]


def test_a_view_that_is_redefined_makes_no_circle_that_may_not_be(circular: Engine) -> None:
    """One that comes to rest, too: what was checked when the circle was made is not what it says now."""
    circular.sql("CREATE TABLE more (src INT, dst INT)")
    circular.create_stream_table("up", "SELECT src, dst FROM edges", schedule="1s")
    circular.sql("CREATE VIEW through AS SELECT src, dst FROM up")
    circular.create_stream_table(
        "down", "SELECT t.src, e.dst FROM through t JOIN edges e ON t.dst = e.src", schedule="1s"
    )
    circular.alter_stream_table("up", query="SELECT src, dst FROM edges UNION SELECT src, dst FROM down")
    assert pairs(circular, "up") == closure(circular)
    before = pairs(circular, "up"), pairs(circular, "down")
    counted = "SELECT 9 AS src, CAST(COUNT(*) AS INT) AS dst FROM up WHERE src < 9"
    later = datetime.now(UTC)
    for view, error, said in (
        (counted, NotMonotoneError, "'down' reads 'up' in COUNT"),
        ("SELECT src, dst FROM up WHERE rand() < 2", UserError, "'down' is kept in FULL mode"),
    ):
        circular.sql(f"CREATE OR REPLACE VIEW through AS {view}")
        for by_hand in (True, False):
            if by_hand:
                with pytest.raises(error, match=said):
                    circular.refresh_stream_table("up")
            else:
                later += timedelta(minutes=1)
                assert sorted(each.name for each in circular.tick(now=later).failed) == ["down", "up"]
        assert circular.status("up").status is circular.status("down").status is Status.ERROR
        assert said in (circular.status("down").status_reason or "") and said in str(circular.why("up"))
        assert (pairs(circular, "up"), pairs(circular, "down")) == before
        circular.resume_stream_table("up")
    circular.sql("CREATE OR REPLACE VIEW through AS SELECT src, dst FROM up UNION SELECT src, dst FROM more")
    circular.sql("INSERT INTO more VALUES (7, 1)")
    circular.refresh_stream_table("up")
    assert (7, 4) in pairs(circular, "up")
    verified(circular, "up", "down")
    # Now it leads past `up`: they are no circle any more, and whoever reads the other comes after it.
    circular.sql("CREATE OR REPLACE VIEW through AS SELECT src, dst FROM more")
    circular.refresh_stream_table("down")
    assert circular.scc_status() == [] and pairs(circular, "down") == {(7, 2)}
    circular.sql("INSERT INTO more VALUES (8, 3)")
    circular.refresh_stream_table("up", upstream=True)
    assert pairs(circular, "up") == {(1, 2), (2, 3), (3, 4), (7, 2), (8, 4)}
    verified(circular, "up", "down")


def test_a_circle_of_three_under_the_scheduler_to_its_end_and_past_it(circular: Engine) -> None:
    """Left empty at first; rows that grow for ever; resumed; followed at once by who reads it; maintained."""
    edges = "edges AS e ON w.dst = e.src"
    circular.create_stream_tables(
        {
            "walks": "SELECT src, dst FROM edges UNION ALL SELECT src, dst FROM further",
            "longer": f"SELECT w.src, e.dst FROM walks AS w JOIN {edges}",
            "further": "SELECT src, dst FROM longer WHERE src IS NOT NULL",
        },
        schedule="1s",
        strict=True,
        initialize=False,
    )
    circular.create_stream_table("counted", "SELECT src, COUNT(*) AS n FROM further GROUP BY src", schedule="1s")
    members, later = ["further", "longer", "walks"], datetime.now(UTC)
    circular.sql("INSERT INTO edges VALUES (4, 1)")
    report = circular.tick(now=later)
    assert sorted(each.name for each in report.failed) == members and not report.refreshed
    for name in members:
        status, row = circular.status(name), circular.history(name)[0]
        assert (status.status, status.populated, status.scc_id) == (Status.ERROR, False, 1)
        assert (row.status, row.fixpoint_iteration) == ("FAILED", 20) and "after 20 rounds" in (row.error or "")
        assert values(circular, f"SELECT * FROM {name}") == []
        assert "20 rounds" in str(circular.why(name)) and f"resume_stream_table('{name}')" in str(circular.why(name))
    (circle,) = circular.scc_status()
    assert (circle.member_count, circle.last_iterations, circle.last_converged_at) == (3, None, None)
    circular.sql("DELETE FROM edges WHERE src = 4")
    assert circular.tick(now=later + timedelta(minutes=1)).idle, "until somebody says so"
    circular.sql("CALL trickle.resume_stream_table('longer')")
    report = circular.tick(now=later + timedelta(minutes=2))
    assert sorted(each.name for each in report.refreshed) == sorted([*members, "counted"])
    assert pairs(circular, "walks") == closure(circular)
    circular.alter_stream_table("counted", refresh_mode="IMMEDIATE")
    circular.sql("DELETE FROM edges WHERE src = 2; INSERT INTO edges VALUES (2, 4)")
    assert circular.refresh_stream_table("longer").action is Action.DIFFERENTIAL
    assert pairs(circular, "walks") == closure(circular) == {(1, 2), (2, 4), (3, 4), (1, 4)}
    assert values(circular, "SELECT * FROM counted") == [(1, 1)], "in the same commit"
    circular.maintain()
    verified(circular, *members, "counted")


CHANGES = (
    "DELETE FROM edges WHERE src = 2",
    "INSERT INTO edges VALUES (2, 3), (5, 2), (1, 1), (3, 4)",
    "UPDATE edges SET dst = 5 WHERE src = 3",
    "INSERT INTO blocked VALUES (5)",
    "DELETE FROM edges WHERE src = 1 AND dst = 2",
    "DELETE FROM blocked",
)


def test_many_changes_are_kept_by_what_changed(circular: Engine) -> None:
    """Strict ones: what would be computed again is an error."""
    circular.sql("CREATE TABLE blocked (node INT)")
    circular.create_stream_tables(
        {
            "open": "SELECT node FROM (SELECT 1 AS node) UNION SELECT e.dst FROM edges e JOIN went w ON e.src = w.node "
            "LEFT ANTI JOIN blocked ON blocked.node = e.dst",
            "went": "SELECT node FROM open",
        },
        strict=True,
    )
    upward = "SELECT src, dst FROM edges WHERE src < dst"
    circular.create_stream_table(
        "ways", f"{upward} UNION ALL SELECT w.src, e.dst FROM ways w JOIN ({upward}) e ON w.dst = e.src", strict=True
    )
    circular.create_stream_table(
        "pairs",
        "SELECT src, dst FROM edges UNION SELECT a.src, b.dst FROM pairs a JOIN pairs b ON a.dst = b.src",
        strict=True,
    )
    for change in CHANGES:
        circular.sql(change)
        found = {name: circular.refresh_stream_table(name) for name in ("open", "ways", "pairs")}
        assert {outcome.mode for outcome in found.values()} <= {"DIFFERENTIAL", "NO_DATA"}, change
        edges = [(src, dst) for src, dst in values(circular, "SELECT * FROM edges")]
        assert pairs(circular, "pairs") == closure(circular), change
        blocked = {node for (node,) in values(circular, "SELECT * FROM blocked")}
        assert {node for (node,) in values(circular, "SELECT * FROM went")} == reached(edges, blocked), change
        assert Counter(values(circular, "SELECT * FROM ways")) == ways(edges), change
    verified(circular, "went", "ways", "pairs")


def reached(edges: list[tuple[int, int]], blocked: set[int]) -> set[int]:
    found = {1}
    while more := {dst for src, dst in edges if src in found and dst not in blocked} - found:
        found |= more
    return found


def ways(edges: list[tuple[int, int]]) -> Counter[tuple[int, int]]:
    """How many ways lead upward from one node to another."""
    upward = Counter(edge for edge in edges if edge[0] < edge[1])
    found, last = Counter(upward), upward
    while last:
        step: Counter[tuple[int, int]] = Counter()
        for (a, b), n in last.items():
            for (c, d), m in upward.items():
                if b == c:
                    step[a, d] += n * m
        found, last = found + step, step
    return found
