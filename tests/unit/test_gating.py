"""Closing and opening gates through the engine, without Spark: names, slips, warnings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import UserError
from spark_trickle.events import Event, Noticed


@pytest.fixture
def told() -> list[Event]:
    return []


@pytest.fixture
def engine(tmp_path: Path, told: list[Event]) -> Iterator[Engine]:
    with spark_trickle.connect(str(tmp_path), observers=[told.append], gate_stale_warning_seconds=60) as made:
        yield made


def test_gates_are_closed_and_opened_by_name(engine: Engine) -> None:
    closed = engine.gate_source("raw.orders", auto_ungate_on_watermark=True)
    assert (closed.schema_name, closed.source_table, closed.gated) == ("raw", "orders", True)
    assert closed.auto_ungate_on_watermark
    assert engine.source_gates() == [closed]
    opened = engine.ungate_source("lake.raw.orders")
    assert opened is not None and not opened.gated and opened.ungated_at is not None
    assert engine.source_gates() == [opened]


def test_several_are_closed_at_the_same_moment_each_once(engine: Engine) -> None:
    closed = engine.gate_sources(["orders", "lines", "orders"])
    assert [gate.source_table for gate in closed] == ["orders", "lines"]
    assert len({gate.gated_at for gate in closed}) == 1
    assert [gate.gated for gate in engine.ungate_sources(["lines", "orders"])] == [False, False]


def test_a_text_where_a_list_belongs_is_refused_and_gates_nothing(engine: Engine) -> None:
    for wrong in ("orders", list[str](), tuple[str, ...]()):
        with pytest.raises(UserError, match="no source is named"):
            engine.gate_sources(wrong)
    with pytest.raises(UserError, match="not a table name"):
        engine.gate_sources(["orders", "a..b"])
    assert engine.source_gates() == []


def test_ungating_what_never_was_gated_changes_nothing_and_is_told(engine: Engine, told: list[Event]) -> None:
    assert engine.ungate_source("orders") is None
    assert told == [Noticed("orders", "source 'orders' was never gated; nothing was changed")]


def test_the_history_of_gates_tells_who_and_when(engine: Engine) -> None:
    engine.gate_sources(["orders", "lines"])
    engine.ungate_source("orders")
    assert [(str(event.source), event.gated) for event in engine.gate_history()] == [
        ("orders", False),
        ("lines", True),
        ("orders", True),
    ]
    newest = engine.gate_history("orders", limit=1)
    assert [(event.at, event.by) for event in newest] == [
        (gate.ungated_at, gate.gated_by) for gate in engine.source_gates() if not gate.gated
    ]
