"""Watermarks, fuses and circles over tables that are not Iceberg's; over Iceberg's, of any catalog, they are in
`test_other_catalogs.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.errors import UserError
from spark_trickle.model.refresh import Action
from spark_trickle.model.tick import TickReport
from tests.spark.engines import values
from tests.spark.kinds_of_sources import Kind, kind_of_source


@pytest.fixture(params=["delta", "parquet", "database"])
def kind(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Kind]:
    def fixture(name: str) -> Any:
        return request.getfixturevalue(name)

    with kind_of_source(request.param, spark, tmp_path, fixture, allow_circular=True) as made:
        made.make()
        made.insert((1, "a", 1), (2, "b", 2))
        made.engine.sql("CREATE TABLE factors (k STRING, factor INT)")
        made.engine.sql("INSERT INTO factors VALUES ('a', 10)")
        yield made


def ticked(engine: Engine, minutes: int) -> TickReport:
    report = engine.tick(datetime.now(UTC) + timedelta(minutes=minutes))
    assert not report.failed, report
    return report


def test_watermarks_fuses_and_circles_do_what_the_table_of_kinds_says(kind: Kind) -> None:
    gated_by_watermarks(kind)
    held_back(kind)
    fused(kind)
    circular(kind)


def gated_by_watermarks(kind: Kind) -> None:
    engine, table = kind.engine, kind.table
    engine.create_stream_table("met", f"SELECT o.id, o.v * f.factor AS p FROM {table} o JOIN factors f ON o.k = f.k")
    engine.create_watermark_group("pair", [table, "factors"])
    engine.advance_watermark(table, "2026-03-01T10:00:00Z")
    engine.advance_watermark("factors", "2026-03-01T09:00:00Z")
    kind.insert((3, "a", 3))
    assert [skip.codes for skip in ticked(engine, 1).skipped] == [("watermark",)]
    assert values(engine, "SELECT id, p FROM met") == [(1, 10)]
    engine.advance_watermark("factors", "2026-03-01T10:00:00Z")
    assert [outcome.action for outcome in ticked(engine, 2).refreshed] == [Action(kind.mode)]
    assert values(engine, "SELECT id, p FROM met") == [(1, 10), (3, 30)]
    engine.drop_watermark_group("pair")


def held_back(kind: Kind) -> None:
    """What has versions is read as it was; a folder waits; a database is always at another version."""
    engine, table = kind.engine, kind.table
    if kind.name == "database":
        with pytest.raises(UserError, match=r"cannot hold back 'pg\.public\.orders': it is a table of a database"):
            engine.create_watermark_group("moment", [table, "factors"], mode="hold_back")
        engine.drop_stream_table("met")
        return
    engine.create_watermark_group("moment", [table, "factors"], mode="hold_back")
    kind.insert((4, "a", 4))
    for source in (table, "factors"):
        engine.advance_watermark(source, "2026-03-01T11:00:00Z")
    kind.insert((5, "a", 5))
    engine.advance_watermark(table, "2026-03-01T12:00:00Z")
    report = ticked(engine, 3)
    if kind.versioned:
        assert [outcome.action for outcome in report.refreshed] == [Action.DIFFERENTIAL]
        assert values(engine, "SELECT id, p FROM met") == [(1, 10), (3, 30), (4, 40)]
    else:
        assert [skip.codes for skip in report.skipped] == [("watermark",)], report
        assert "it has no versions, and it has changed" in str(engine.why("met"))
    engine.advance_watermark("factors", "2026-03-01T12:00:00Z")
    assert [outcome.action for outcome in ticked(engine, 4).refreshed] == [Action(kind.mode)]
    assert values(engine, "SELECT id, p FROM met") == [(1, 10), (3, 30), (4, 40), (5, 50)]
    assert engine.verify("met").ok
    engine.drop_watermark_group("moment")
    engine.drop_stream_table("met")


def fused(kind: Kind) -> None:
    """Where changes are counted a fuse lets small ones through; elsewhere it blows at any, as often as it is armed."""
    engine, table = kind.engine, kind.table
    engine.create_stream_table("safe", f"SELECT COUNT(*) AS n FROM {table}", fuse="on", fuse_ceiling=1)
    ((before,),) = values(engine, "SELECT n FROM safe")
    kind.insert((6, "a", 6))
    report = ticked(engine, 5)
    if kind.versioned:
        assert [outcome.action for outcome in report.refreshed] == [Action.DIFFERENTIAL]
        before += 1
        kind.insert((7, "a", 7), (8, "a", 8))
        report = ticked(engine, 6)
    assert [skip.codes for skip in report.skipped] == [("fuse",)], report
    assert values(engine, "SELECT n FROM safe") == [(before,)]
    engine.reset_fuse("safe", "apply")
    assert [outcome.action for outcome in ticked(engine, 7).refreshed] == [Action(kind.mode)]
    assert values(engine, "SELECT n FROM safe") == [(before + (2 if kind.versioned else 1),)]
    kind.insert((9, "a", 9), (10, "b", 10))
    assert [skip.codes for skip in ticked(engine, 8).skipped] == [("fuse",)]
    engine.drop_stream_table("safe")


def circular(kind: Kind) -> None:
    engine, table = kind.engine, kind.table
    step = (
        f"SELECT id, v FROM {table} UNION SELECT a.id, e.v + 1 FROM {{}} a JOIN {table} e ON a.v = e.id WHERE e.v < 5"
    )
    both = {"odd": step.format("even"), "even": step.format("odd")}
    if not kind.versioned:
        with pytest.raises(UserError, match="Members of a circle are kept in DIFFERENTIAL mode"):
            engine.create_stream_tables(both)
        return
    engine.create_stream_tables(both)
    for change in ("DELETE FROM {} WHERE id = 3", "INSERT INTO {} VALUES (3, 'a', 4)"):
        kind.do(change.format(table))
        assert engine.refresh_stream_table("odd").action is Action.DIFFERENTIAL
        assert engine.verify("odd").ok and engine.verify("even").ok
