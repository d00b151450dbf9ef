"""Gates as users see them: in order, with durations, and with all whom they hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from spark_trickle.holds.gate_report import bootstrap_gate_status, source_gates
from spark_trickle.model.gate import Gate
from spark_trickle.model.stream_table import BootstrapGating, Options
from spark_trickle.names import TableName
from tests.support.catalog_values import stream_table

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def gate(source: str, **changes: object) -> Gate:
    plain = Gate(source=TableName.parse(source), gated=True, gated_at=NOON, gated_by="etl")
    return replace(plain, **changes)  # type: ignore[arg-type]


GATES = {
    each.source: each
    for each in (
        gate("zoo.animals"),
        gate("orders", gated=False, ungated_at=NOON + timedelta(minutes=10)),
        gate("lines", gated_at=NOON - 2 * HOUR),
    )
}
TABLES = {
    table.name: table
    for table in (
        stream_table("order_summary", ("orders",)),
        stream_table("line_summary", ("lines",)),
        stream_table("progress", ("lines",), options=Options(bootstrap_gating=BootstrapGating.IGNORE)),
        stream_table("order_report", ("order_summary", "line_summary")),
        stream_table("weekly", ("order_report",)),
    )
}


def test_gates_are_listed_closed_ones_first_then_by_name() -> None:
    assert [(g.schema_name, g.source_table, g.gated) for g in source_gates(GATES.values())] == [
        ("default", "lines", True),
        ("zoo", "animals", True),
        ("default", "orders", False),
    ]


def test_the_status_tells_all_affected_stream_tables_near_and_far() -> None:
    status = {row.source_table: row for row in bootstrap_gate_status(GATES, TABLES, NOON, HOUR)}
    assert status["lines"].affected_stream_tables == ("line_summary", "order_report", "weekly")
    assert status["orders"].affected_stream_tables == ("order_report", "order_summary", "weekly")
    assert status["animals"].affected_stream_tables == ()


def test_the_status_tells_how_long_a_gate_has_been_closed_or_was() -> None:
    status = {row.source_table: row for row in bootstrap_gate_status(GATES, TABLES, NOON + HOUR / 2, HOUR)}
    assert status["lines"].gate_duration == 2.5 * HOUR
    assert status["orders"].gate_duration == timedelta(minutes=10)
    assert [name for name, row in status.items() if row.stale] == ["lines"]
