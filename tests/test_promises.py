"""What the plans promise, as a list of tests: each test that a plan names is there, where it says, and each mistake
that is known of others has a test that shows it is not made here. That they pass is the tests' own business.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
END_TO_END = "spark/"

BOOTSTRAP_GATES = {
    "test_gate_source_blocks_downstream": END_TO_END,
    "test_ungate_source_allows_refresh": END_TO_END,
    "test_gate_multiple_sources_all_must_ungate": END_TO_END,
    "test_gate_partial_dag": END_TO_END,
    "test_gate_idempotent": "contract/",
    "test_gate_transactional": END_TO_END,
    "test_gate_create_st_auto_skip_init": END_TO_END,
    "test_gate_with_immediate_mode": END_TO_END,
}
CROSS_SOURCE_CONSISTENCY = {
    "test_watermark_caps_lsn_consumption": "unit/",
    "test_watermark_cross_source_bounded": END_TO_END,
    "test_refresh_group_create_drop": "contract/",
    "test_refresh_group_member_conflict": "contract/",
    "test_repeatable_read_snapshot_coherence": END_TO_END,
    "test_repeatable_read_rollback_on_fail": END_TO_END,
    "test_declared_group_overrides_autodetect": END_TO_END,
}
DIAMONDS = {
    # Detecting them
    "test_detect_diamonds_simple": "unit/",
    "test_detect_diamonds_deep": "unit/",
    "test_detect_diamonds_none": "unit/",
    "test_detect_diamonds_overlapping": "unit/",
    "test_detect_diamonds_multiple_roots": "unit/",
    # Groups
    "test_groups_simple_diamond": "unit/",
    "test_groups_singleton_non_diamond": "unit/",
    "test_groups_nested_merge": "unit/",
    "test_groups_independent_diamonds": "unit/",
    # The catalog
    "test_catalog_diamond_consistency_default": "unit/",
    "test_catalog_diamond_consistency_override": "unit/",
    # Refreshing
    "test_diamond_atomic_all_succeed": END_TO_END,
    "test_diamond_atomic_partial_fail": END_TO_END,
    "test_diamond_atomic_convergence": END_TO_END,
    "test_diamond_none_mode_unblocked": END_TO_END,
    "test_diamond_linear_unaffected": END_TO_END,
    "test_diamond_nested_merge": END_TO_END,
    "test_diamond_groups_sql_function": END_TO_END,
    # The policy
    "test_diamond_schedule_policy_from_str": "unit/",
    "test_diamond_schedule_policy_default": "unit/",
    "test_diamond_schedule_policy_stricter": "unit/",
    "test_is_group_due_fastest_any_triggers": "unit/",
    "test_is_group_due_slowest_all_required": "unit/",
    "test_is_group_due_singleton_bypass": "unit/",
    "test_group_policy_convergence_node_overrides_guc": "unit/",
    "test_group_policy_nested_strictest_wins": "unit/",
    "test_diamond_schedule_policy_fastest_default": END_TO_END,
    "test_diamond_schedule_policy_slowest_per_node": END_TO_END,
    "test_diamond_schedule_policy_overrides_guc": END_TO_END,
    "test_diamond_schedule_policy_none_mode_ignored": END_TO_END,
    "test_diamond_schedule_policy_nested_strictest_wins": END_TO_END,
}
PROMISED = {**BOOTSTRAP_GATES, **CROSS_SOURCE_CONSISTENCY, **DIAMONDS}

MISTAKES = {
    # Schedules and the scheduler
    "a refresh without rows wakes those below": "test_a_refresh_that_changed_no_row_wakes_no_dependent",
    "calculated is not what its readers want": (
        "test_calculated_is_the_smallest_schedule_of_those_that_read_it_near_and_far"
    ),
    "a failure that may pass is final, or the other way round": (
        "test_failures_that_may_go_away_suspend_after_too_many_in_a_row",
        "test_a_failure_that_will_come_again_is_an_error_at_once",
    ),
    "a frontier read before the lock applies a change twice": (
        "test_two_processes_that_refresh_at_once_publish_each_epoch_once_and_lose_nothing",
        "test_a_unit_that_somebody_refreshed_by_hand_meanwhile_is_left_for_the_next_tick",
    ),
    "who was killed leaves something half done": (
        "test_after_a_refresh_was_killed_the_next_one_is_differential_and_counts_nothing_twice",
        "test_no_reader_ever_sees_a_split_version",
    ),
    # Diamonds
    "policies and 'none' count only when one unit runs at a time": (
        "test_policies_hold_however_many_run_at_a_time",
        "test_diamond_none_mode_unblocked",
    ),
    "a held member is left out and its group goes on without it": (
        "test_a_held_member_holds_the_whole_group_and_its_skip_is_recorded_once",
        "test_a_failing_member_holds_its_group_which_backs_off_and_the_failure_is_in_the_history",
        "test_a_gated_member_holds_the_whole_diamond",
    ),
    "the failure is rolled back with the group, and those that succeeded back off": (
        "test_diamond_atomic_partial_fail",
        "test_a_failing_member_holds_its_group_which_backs_off_and_the_failure_is_in_the_history",
    ),
    "siblings of a failed member keep their refresh": "test_diamond_atomic_partial_fail",
    "the epoch is always 0": (
        "test_diamond_groups_sql_function",
        "test_the_epoch_of_a_group_advances_with_each_publication_of_it",
    ),
    "what the first member consumed looks empty to the second": "test_diamond_atomic_all_succeed",
    # Cross-source consistency
    "units of one tick run at different watermarks": (
        "test_watermark_cross_source_bounded",
        "test_what_is_written_during_a_tick_is_left_for_the_next",
    ),
    "declared groups are stored and never read": (
        "test_repeatable_read_snapshot_coherence",
        "test_repeatable_read_rollback_on_fail",
    ),
    # Gates
    "only direct sources are asked for gates": (
        "test_gate_source_blocks_downstream",
        "test_a_gate_holds_what_depends_on_the_source_near_and_far_and_nothing_else",
    ),
    "a skip is written down at every tick": "test_a_skip_is_not_recorded_again_by_a_scheduler_that_was_restarted",
    "only direct readers are listed as affected": "test_the_status_tells_all_affected_stream_tables_near_and_far",
    "a gate stays closed and nobody is told": "test_a_gate_that_was_forgotten_is_warned_about_by_a_tick_and_once",
}


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    """All tests: by name, in which files."""
    names: dict[str, list[str]] = {}
    for path in sorted(HERE.rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                names.setdefault(node.name, []).append(path.relative_to(HERE).as_posix())
    return names


@pytest.mark.parametrize("name", PROMISED)
def test_each_test_that_a_plan_names_is_there(found: dict[str, list[str]], name: str) -> None:
    assert any(path.startswith(PROMISED[name]) for path in found.get(name, []))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_of_others_has_a_test(found: dict[str, list[str]], mistake: str) -> None:
    named = MISTAKES[mistake]
    assert [name for name in ((named,) if isinstance(named, str) else named) if name not in found] == []
