"""Watermarks through the engine, without Spark: names, moments, durations, groups."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import spark_trickle
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.engine import Engine
from spark_trickle.errors import AlreadyExistsError, NotFoundError, UserError
from spark_trickle.model.publication import Swap
from spark_trickle.names import TableName
from tests.support.catalog_values import stream_table

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    catalog = Catalog.open(f"sqlite:///{tmp_path / 'trickle.db'}")
    for name in ("orders", "lines", "prices"):
        catalog.swap([Swap(TableName.parse(name), None, f"{name}/00000-x.metadata.json")])
    catalog.insert(stream_table("order_summary", ("orders",)))
    catalog.insert(stream_table("line_summary", ("lines",)))
    catalog.insert(stream_table("report", ("order_summary", "line_summary")))
    catalog.close()
    with spark_trickle.connect(str(tmp_path), watermark_holdback_timeout=3600) as made:
        yield made


def test_watermarks_are_advanced_and_listed(engine: Engine) -> None:
    row = engine.advance_watermark("orders", NOON)
    assert (row.source_table, row.schema_name, row.watermark) == ("orders", "default", NOON)
    assert row.metadata_location == "orders/00000-x.metadata.json" and row.advanced_by and row.updated_at
    assert engine.watermarks() == [row]
    # One moment, whatever its time zone.
    tokyo = datetime(2026, 3, 1, 21, 30, tzinfo=timezone(timedelta(hours=9)))
    assert engine.advance_watermark("orders", tokyo).watermark == NOON + timedelta(minutes=30)
    assert engine.advance_watermark("orders", "2026-03-01T14:00:00+01:00").watermark == NOON + timedelta(hours=1)


@pytest.mark.parametrize(
    ("source", "moment", "error"),
    [
        ("orders", NOON.replace(tzinfo=None), "has no time zone"),
        ("orders", "2026-03-01 12:00", "has no time zone"),
        ("orders", "noon", "'noon' is not a moment"),
        ("orders", 5, "5 is not a moment"),
        ("orders", "9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59-14:00 is not a moment of the years 1 to 9999"),
        ("orders", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "is not a moment of the years 1 to 9999"),
        (None, NOON, "None is not a table name"),
        (5, NOON, "5 is not a table name"),
        ("nowhere", NOON, "table 'nowhere' does not exist"),
        ("report", NOON, "'report' is a stream table"),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(engine: Engine, source: str, moment: object, error: str) -> None:
    with pytest.raises(UserError, match=error):
        engine.advance_watermark(source, moment)  # type: ignore[arg-type]
    assert engine.watermarks() == []


def test_a_group_is_declared_listed_and_dropped(engine: Engine) -> None:
    row = engine.create_watermark_group("pipeline", ["orders", "lines"], tolerance="5m", mode="hold_back")
    assert (row.group_name, row.sources, row.tolerance_secs, row.mode) == (
        "pipeline",
        ("orders", "lines"),
        300.0,
        "hold_back",
    )
    assert engine.watermark_groups() == [row]
    engine.drop_watermark_group("pipeline")
    assert engine.watermark_groups() == []
    with pytest.raises(NotFoundError, match=r"watermark group 'pipeline' does not exist. watermark_groups\(\) lists"):
        engine.drop_watermark_group("pipeline")


@pytest.mark.parametrize(
    ("sources", "options", "error"),
    [
        (["orders"], {}, "name at least two"),
        (["orders", "orders"], {}, "name at least two"),
        ("orders", {}, "no source is named"),
        (["orders", "nowhere"], {}, "table 'nowhere' does not exist"),
        (["orders", "report"], {}, "'report' is a stream table"),
        (["orders", "lines"], {"tolerance": "-5s"}, "tolerance cannot be negative"),
        (["orders", "lines"], {"tolerance": -1}, "tolerance cannot be negative"),
        (["orders", "lines"], {"tolerance": "soon"}, "tolerance cannot be 'soon'"),
        (["orders", "lines"], {"tolerance": "s"}, "tolerance cannot be 's'"),
        (["orders", "lines"], {"tolerance": float("nan")}, "tolerance cannot be nan"),
        (["orders", "lines"], {"tolerance": float("inf")}, "tolerance cannot be longer than a hundred years: inf"),
        (["orders", "lines"], {"tolerance": 1e300}, "tolerance cannot be longer than a hundred years"),
        (["orders", "lines"], {"tolerance": "99999999999w"}, "tolerance cannot be longer than a hundred years"),
        (["orders", "lines"], {"tolerance": timedelta.max}, "tolerance cannot be longer than a hundred years"),
        (5, {}, "no source is named"),
        ([None, "orders"], {}, "None is not a table name"),
        (["orders", "lines"], {"mode": "wait"}, "mode cannot be 'wait'. Choose one of 'gate', 'hold_back'"),
    ],
)
def test_a_wrong_group_is_refused_and_changes_nothing(
    engine: Engine, sources: list[str], options: dict[str, str], error: str
) -> None:
    with pytest.raises(UserError, match=error):
        engine.create_watermark_group("pipeline", sources, **options)
    assert engine.watermark_groups() == []


@pytest.mark.parametrize("name", ["x" * 256, "a\0b", "\udc80"])
def test_a_group_has_a_name_that_every_database_can_keep(engine: Engine, name: str) -> None:
    with pytest.raises(UserError, match="is not a name of a group: it has"):
        engine.create_watermark_group(name, ["orders", "lines"])
    with pytest.raises(UserError, match="is not a table name: it has"):
        engine.gate_source(f"`{name}`")
    engine.create_watermark_group("it's; DROP -- \"Ü\n.", ["orders", "lines"])
    assert [row.group_name for row in engine.watermark_status()] == ["it's; DROP -- \"Ü\n."]


def test_watermarks_at_the_end_of_time_are_as_far_apart_as_any(engine: Engine) -> None:
    """A source that never changes any more is said to be complete for ever."""
    engine.create_watermark_group("pipeline", ["orders", "lines"], tolerance="3d", mode="hold_back")
    last = datetime.max.replace(tzinfo=UTC)
    engine.advance_watermark("orders", last)
    engine.advance_watermark("lines", last - timedelta(days=1))
    assert engine.watermark_status()[0].aligned
    assert "at 9999-12-30 23:59:59.999999 UTC, the aligned watermark" in str(engine.why("report"))
    engine.advance_watermark("lines", last)
    assert engine.watermark_status()[0].lag_secs == 0


def test_two_groups_of_one_name_are_refused_and_a_source_may_be_in_several(engine: Engine) -> None:
    engine.create_watermark_group("a", ["orders", "lines"])
    with pytest.raises(AlreadyExistsError, match=r"watermark group 'a' already exists. drop_watermark_group\('a'\)"):
        engine.create_watermark_group("a", ["orders", "prices"])
    engine.create_watermark_group("b", ["orders", "prices"], tolerance=timedelta(seconds=1))
    assert [group.group_name for group in engine.watermark_groups()] == ["a", "b"]


def test_status_tells_how_far_apart_they_are_and_whom_that_concerns(engine: Engine) -> None:
    engine.create_watermark_group("pipeline", ["orders", "lines"], tolerance="1m")
    (row,) = engine.watermark_status()
    assert (row.aligned, row.sources_with_watermark, row.sources_total) == (False, 0, 2)
    assert (row.min_watermark, row.max_watermark, row.lag_secs, row.stuck) == (None, None, None, ())
    assert row.governed == ("report",), "two of its sources are above it, though not directly"
    engine.advance_watermark("orders", NOON)
    engine.advance_watermark("lines", NOON + timedelta(minutes=2))
    (row,) = engine.watermark_status()
    assert (row.min_watermark, row.max_watermark, row.lag_secs) == (NOON, NOON + timedelta(minutes=2), 120.0)
    assert not row.aligned
    engine.advance_watermark("orders", NOON + timedelta(minutes=1))
    assert engine.watermark_status()[0].aligned


def test_no_column_can_be_forgotten_without_spark(engine: Engine) -> None:
    assert engine.set_watermark_column("orders", None) is None
    for wrong in ("", " ", 5):
        with pytest.raises(UserError, match=r"is not a column\. Name one"):
            engine.set_watermark_column("orders", wrong)  # type: ignore[arg-type]


def test_why_tells_the_group_in_numbers_and_what_to_do(engine: Engine) -> None:
    engine.create_watermark_group("pipeline", ["orders", "lines"])
    answer = str(engine.why("report"))
    assert "watermark group 'pipeline' is not ready: 'orders' has no watermark yet ('order_summary' depends on it)" in (
        answer
    )
    assert "to do: advance_watermark('orders', ...) when it is loaded" in answer
    assert "watermark" not in str(engine.why("order_summary"))
    engine.advance_watermark("orders", NOON)
    engine.advance_watermark("lines", NOON + timedelta(seconds=90))
    answer = str(engine.why("report"))
    assert (
        "watermark group 'pipeline' is misaligned: 'orders' is at 2026-03-01 12:00:00 UTC and 'lines' at 2026-03-01 "
        "12:01:30 UTC, 90 s apart, and its tolerance is 0 s ('order_summary' depends on it)"
    ) in answer
    assert "to do: load 'orders' further, then advance_watermark('orders', ...)" in answer
