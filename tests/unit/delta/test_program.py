"""What is done to a node follows from its plan and from sizes, and from nothing else."""

from __future__ import annotations

import pytest

from spark_trickle.delta.plan import DELTA, GROUPS, RECOMPUTED, TARGET, MaintenancePlan, Node
from spark_trickle.delta.program import (
    Compute,
    Gather,
    Inline,
    Program,
    Step,
    Together,
    Where,
    Writing,
    program,
)
from spark_trickle.delta.sizes import MOVED_ROWS, STEP_ROWS, USUAL, Limits, Own, Sizes
from spark_trickle.delta.transitions import FLAG, TRANSITIONS
from spark_trickle.sql.leaves import KeptLeaf
from tests.support.duck import Kept, Lake, source
from tests.support.scripts import TABLES


def plan(query: str) -> MaintenancePlan:
    return Kept(Lake(TABLES), query).maintenance


def made(node: Node, sizes: Sizes | None = None, *changed: KeptLeaf) -> Program:
    found = program(node, frozenset(changed or node.inputs), sizes or Sizes())
    assert found is not None
    return found


def kinds(steps: tuple[Step, ...]) -> list[str]:
    return [type(step).__name__ for step in steps]


GROUPED = "SELECT region, COUNT(*) AS n, SUM(qty) AS s FROM orders GROUP BY region"


def test_groups_of_a_small_table_are_joined_in_one_query() -> None:
    found = made(plan(GROUPED).public)
    assert kinds(found.steps) == ["Inline", "Compute", "Where"]
    assert found.writes == TRANSITIONS and found.writing is Writing.TRANSITIONS


def test_groups_of_a_table_that_would_be_moved_are_gathered_first() -> None:
    found = made(plan(GROUPED).public, Sizes(own=Own(rows=MOVED_ROWS + 1)))
    assert kinds(found.steps) == ["Compute", "Gather", "Compute", "Where"]
    gather = found.steps[1]
    assert isinstance(gather, Gather) and (gather.step, gather.by) == (TARGET, DELTA)


def test_a_change_that_stays_in_spark_may_move_a_larger_table() -> None:
    rows = USUAL.broadcast_table_rows
    large = Sizes(changed=USUAL.small_change_rows + 1, own=Own(rows=rows))
    assert kinds(made(plan(GROUPED).public, large).steps)[0] == "Inline"
    assert not large.small
    larger = Sizes(changed=USUAL.small_change_rows + 1, own=Own(rows=rows + 1))
    assert kinds(made(plan(GROUPED).public, larger).steps)[:2] == ["Compute", "Gather"]


def test_groups_that_cannot_be_merged_are_computed_again_only_if_there_are_some() -> None:
    last = made(plan("SELECT region, MAX(qty) AS m FROM orders GROUP BY region").nodes[0]).steps[-1]
    assert isinstance(last, Where) and (last.step, last.flag) == (TRANSITIONS, FLAG)
    assert [step.step for step in last.then if isinstance(step, (Compute, Inline))] == [
        GROUPS,
        RECOMPUTED,
        TRANSITIONS,
    ]


def test_partitions_are_computed_again_only_if_some_are_touched() -> None:
    node = plan("SELECT id, RANK() OVER (PARTITION BY region ORDER BY id) AS r FROM orders").nodes[0]
    found = made(node)
    last = found.steps[-1]
    assert isinstance(last, Where) and (last.step, last.flag) == (GROUPS, None)
    assert found.writes == DELTA and isinstance(last.then[-1], Compute) and last.then[-1].step == DELTA


def test_what_is_used_in_several_places_is_computed_first_and_side_by_side_where_it_can_be() -> None:
    text = "SELECT o.id, c.name FROM orders o FULL JOIN cust c ON o.cust = c.id FULL JOIN orders p ON p.id = c.id"
    found = made(plan(text).public)
    assert found.shares
    seen: set[object] = set()
    for step in found.steps:
        parts = step.parts if isinstance(step, Together) else (step,)
        for part in parts:
            assert isinstance(part, Compute)
        seen.update(part.step for part in parts if isinstance(part, Compute))
    assert DELTA in seen and any(isinstance(step, Together) for step in found.steps)


def test_a_join_with_a_large_table_goes_step_by_step() -> None:
    node = plan("SELECT o.id, c.name FROM orders o JOIN cust c ON o.cust = c.id JOIN orders p ON p.id = c.id").public
    changed = source("cust")
    assert not made(node, None, changed).shares
    assert made(node, Sizes(tables={source("orders"): STEP_ROWS + 1}), changed).shares
    assert not made(node, Sizes(tables={source("orders"): STEP_ROWS}), changed).shares
    many = USUAL.small_change_rows + 1
    assert not made(node, Sizes(changed=many, tables={source("orders"): STEP_ROWS + 1}), changed).shares


def test_the_one_row_of_a_table_is_computed_again_where_it_can_be_brought() -> None:
    node = plan("SELECT a.s, b.n FROM (SELECT SUM(qty) AS s FROM orders) a, (SELECT COUNT(*) AS n FROM cust) b").public
    assert node.key == ()
    assert made(node).writing is Writing.ROW
    assert made(node, Sizes(own=Own(travels=False))).writing is Writing.CHANGE


def test_what_reads_nothing_that_changed_has_no_program() -> None:
    assert program(plan(GROUPED).public, frozenset({source("cust")}), Sizes()) is None


@pytest.mark.parametrize("name", [field for field in Limits.__slots__ if field != "held_table_rows"])
def test_the_usual_limits_are_the_settings_defaults(name: str) -> None:
    from spark_trickle.config import Settings

    assert getattr(USUAL, name) == Settings.model_fields[name].default
