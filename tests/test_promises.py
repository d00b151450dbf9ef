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
CIRCLES = {
    # Finding them
    "test_scc_no_cycles": "unit/",
    "test_scc_simple_cycle": "unit/",
    "test_scc_mixed": "unit/",
    "test_scc_self_loop": "unit/",
    "test_condensation_order_is_topological": "unit/",
    # What may be one
    "test_scan_filter_project_is_monotone": "unit/",
    "test_join_is_monotone": "unit/",
    "test_aggregate_is_not_monotone": "unit/",
    "test_except_is_not_monotone": "unit/",
    "test_window_is_not_monotone": "unit/",
    "test_nested_non_monotone_detected": "unit/",
    # The six scenarios
    "test_simple_cycle_with_monotone_queries": END_TO_END,
    "test_non_monotone_cycle_rejected": END_TO_END,
    # Within the limit, and beyond it
    "test_convergence_within_max_iterations_and_error_beyond": END_TO_END,
    "test_drop_member_breaks_cycle_and_scc_id_cleared": END_TO_END,
    "test_allow_circular_false_rejects_cycles": END_TO_END,
}
PROMISED = {**BOOTSTRAP_GATES, **CROSS_SOURCE_CONSISTENCY, **DIAMONDS, **CIRCLES}

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
    # Watermarks
    "only direct sources are asked for watermarks": (
        "test_a_report_over_two_summaries_waits_while_their_sources_are_apart",
        "test_status_tells_how_far_apart_they_are_and_whom_that_concerns",
    ),
    "a source without a watermark counts as ready, and a group of such sources as aligned": (
        "test_a_report_over_two_summaries_waits_while_their_sources_are_apart",
        "test_status_tells_how_far_apart_they_are_and_whom_that_concerns",
    ),
    "holding back is designed and never built": (
        "test_held_back_all_of_it_is_read_where_the_slowest_source_is",
        "test_held_back_stream_tables_are_of_one_moment_and_stay_differential",
    ),
    "an equal watermark moves the moment of the last advance": ("test_equal_does_nothing_and_does_not_even_touch_when"),
    "what stands still is told at every tick": "test_a_source_that_stands_still_is_told_once_and_once_that_it_goes_on",
    # Circles
    "the null-extended side of an outer join, and the first rows of an order, count as monotone": (
        "test_what_may_take_rows_away_is_named_with_its_place"
    ),
    "as many rows as before are taken for the same rows": (
        "test_a_cycle_of_edges_that_lost_its_entry_supports_nothing"
    ),
    "rows that were deleted hold each other up": (
        "test_a_cycle_of_edges_that_lost_its_entry_supports_nothing",
        "test_rows_that_have_only_each_other_go_and_those_with_another_way_stay",
    ),
    "readers see a round": (
        "test_a_circle_that_is_killed_between_rounds_is_as_it_was",
        "test_no_reader_ever_sees_what_does_not_belong_together",
    ),
    "each round computes every member again": "test_many_changes_are_kept_by_what_changed",
    "what grows for ever leaves its last round behind": "test_convergence_within_max_iterations_and_error_beyond",
    "nobody asks for the watermarks of a circle": (
        "test_a_circle_waits_whole_while_its_sources_are_apart",
        "test_a_circle_is_read_at_the_aligned_watermark_and_held_whole_by_a_fuse",
    ),
    "a held member is left out and its circle goes round without it": "test_what_holds_one_member_holds_the_circle",
    # Fuses
    "it blows on the first change that it sees, whatever the sensitivity": (
        "test_auto_learns_what_is_usual_and_judges_deletes_on_their_own",
        "test_auto_blows_past_what_is_usual_of_rows_or_of_deletes",
    ),
    "deletes are not judged on their own": "test_auto_learns_what_is_usual_and_judges_deletes_on_their_own",
    "what others have not taken in counts as well": "test_only_its_own_pending_changes_count",
    "a change that is skipped is lost to all who read the source": (
        "test_skip_changes_moves_its_own_frontier_only_and_is_told_until_it_is_rebuilt",
        "test_what_is_skipped_in_a_circle_is_skipped_by_all_of_its_members_and_by_nobody_else",
    ),
    "rows that were skipped are taken from those that read it": (
        "test_who_reads_what_had_changes_skipped_follows_what_it_holds"
    ),
    "what was let through blows again": (
        "test_apply_lets_exactly_that_change_through",
        "test_apply_works_where_the_change_comes_from_its_own_unit",
    ),
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
