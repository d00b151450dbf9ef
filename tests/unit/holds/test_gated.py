"""Whom closed gates hold. The property: exactly those that respect gates and can be reached from a gated source."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from spark_trickle.holds.gated import gated
from spark_trickle.model.gate import Gate
from spark_trickle.model.stream_table import BootstrapGating, Options, RefreshMode, Source, StreamTable
from spark_trickle.names import TableName
from tests.support.catalog_values import stream_table

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
IGNORING = Options(bootstrap_gating=BootstrapGating.IGNORE)


def gates(*sources: str, gated: bool = True) -> dict[TableName, Gate]:
    names = [TableName.parse(source) for source in sources]
    return {name: Gate(source=name, gated=gated, gated_at=NOON, gated_by="etl") for name in names}


def by_name(*tables: StreamTable) -> dict[TableName, StreamTable]:
    return {table.name: table for table in tables}


def told(tables: dict[TableName, StreamTable], closed: dict[TableName, Gate]) -> dict[str, list[str]]:
    return {str(name): [hold.text for hold in holds] for name, holds in gated(tables, closed).items()}


PARTS = by_name(
    stream_table("customer_stats", ("customers",)),
    stream_table("order_summary", ("orders",)),
    stream_table("customer_report", ("customer_stats", "order_summary")),
    stream_table("order_dashboard", ("order_summary",)),
)
"""The example of partial gating: only one branch depends on customers."""


def test_a_gate_holds_what_depends_on_the_source_near_and_far_and_nothing_else() -> None:
    assert told(PARTS, gates("customers")) == {
        "customer_report": ["source 'customers' is gated ('customer_stats' depends on it)"],
        "customer_stats": ["source 'customers' is gated"],
    }


def test_each_closed_gate_is_a_reason_of_its_own() -> None:
    holds = gated(PARTS, gates("orders", "customers"))[TableName.parse("customer_report")]
    assert [(str(hold.cause), str(hold.via)) for hold in holds] == [
        ("customers", "customer_stats"),
        ("orders", "order_summary"),
    ]
    assert holds[0].next_step == "ungate_source('customers') when its load is complete"


def test_an_open_gate_holds_nobody() -> None:
    assert told(PARTS, gates("customers", "orders", gated=False)) == {}


def test_a_gate_of_a_table_that_nobody_reads_holds_nobody() -> None:
    assert told(PARTS, gates("elsewhere")) == {}


def test_the_same_name_in_another_namespace_is_another_source() -> None:
    assert told(PARTS, gates("raw.customers")) == {}


def test_one_that_ignores_gates_goes_on_and_what_reads_it_is_held() -> None:
    tables = by_name(
        stream_table("progress", ("orders",), options=IGNORING),
        stream_table("report", ("progress",)),
    )
    assert told(tables, gates("orders")) == {"report": ["source 'orders' is gated ('progress' depends on it)"]}


def test_an_immediate_one_goes_on_and_what_reads_it_is_held() -> None:
    tables = by_name(
        stream_table("live", ("orders",), effective_mode=RefreshMode.IMMEDIATE),
        stream_table("report", ("live",)),
    )
    assert list(told(tables, gates("orders"))) == ["report"]


def test_a_gate_of_a_view_holds_what_reads_the_view() -> None:
    sources = (
        Source(table=TableName.parse("orders"), kind="TABLE"),
        Source(table=TableName.parse("open_orders"), kind="VIEW"),
    )
    tables = by_name(stream_table("totals", sources=sources))
    assert list(told(tables, gates("open_orders"))) == ["totals"]
    assert list(told(tables, gates("orders"))) == ["totals"]


def test_a_gate_of_a_stream_table_holds_its_readers_and_not_itself() -> None:
    assert list(told(PARTS, gates("order_summary"))) == ["customer_report", "order_dashboard"]


def test_circles_end() -> None:
    tables = by_name(stream_table("a", ("orders", "b")), stream_table("b", ("a",)))
    assert list(told(tables, gates("orders"))) == ["a", "b"]
    assert list(told(tables, gates("a"))) == ["b"]


def test_a_chain_of_ten_thousand_is_held_whole() -> None:
    chain = by_name(*(stream_table(f"t{i}", (f"t{i - 1}" if i else "orders",)) for i in range(10_000)))
    assert len(gated(chain, gates("orders"))) == 10_000


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[TableName, StreamTable], dict[TableName, Gate]]:
    """Stream tables t0… over base tables b0…, each reading earlier ones, some ignoring gates; some gates closed."""
    bases = [f"b{i}" for i in range(draw(st.integers(1, 4)))]
    tables: list[StreamTable] = []
    for i in range(draw(st.integers(0, 20))):
        below = [*bases, *(f"t{j}" for j in range(i))]
        reads = tuple(draw(st.lists(st.sampled_from(below), min_size=1, max_size=4, unique=True)))
        options = IGNORING if draw(st.integers(0, 5)) == 0 else Options()
        mode = draw(st.sampled_from([RefreshMode.DIFFERENTIAL, RefreshMode.FULL, RefreshMode.IMMEDIATE]))
        tables.append(stream_table(f"t{i}", reads, options=options, effective_mode=mode))
    closed = draw(st.lists(st.sampled_from([*bases, *(str(t.name) for t in tables)]), unique=True))
    opened = draw(st.lists(st.sampled_from(bases), unique=True))
    return by_name(*tables), gates(*opened, gated=False) | gates(*closed)


def _above(tables: dict[TableName, StreamTable], name: TableName) -> set[TableName]:
    """All that a table depends on, by the definition."""
    if name not in tables:
        return set()
    direct = {source.table for source in tables[name].sources}
    return direct.union(*(_above(tables, source) for source in direct))


@given(graphs())
def test_held_are_exactly_those_with_a_gated_source_somewhere_above(
    drawn: tuple[dict[TableName, StreamTable], dict[TableName, Gate]],
) -> None:
    tables, all_gates = drawn
    found = gated(tables, all_gates)
    closed = {name for name, gate in all_gates.items() if gate.gated}
    for name, table in tables.items():
        exempt = (
            table.options.bootstrap_gating is BootstrapGating.IGNORE or table.effective_mode is RefreshMode.IMMEDIATE
        )
        expected = set() if exempt else closed & _above(tables, name)
        holds = found.get(name, ())
        assert {hold.cause for hold in holds} == expected
        assert len(holds) == len(expected)
        for hold in holds:
            assert hold.via in {source.table for source in table.sources}
            assert hold.cause in {hold.via, *_above(tables, hold.via)}
