"""A day of somebody who operates a lake: what status, why, sla, hooks and lineage say of the same few events."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_trickle.errors import StreamTableError
from tests.spark.engines import opened

ODD = "`<img src=x onerror=alert(1)>`"


def test_what_there_is_to_see_of_a_table_that_is_fresh_stale_failing_and_well_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    told, lineage = tmp_path / "told", tmp_path / "lineage.jsonl"
    script = tmp_path / "tell.py"
    script.write_text(f"import sys; open({str(told)!r}, 'a').write(sys.stdin.read() + chr(10))")
    hook = f"{sys.executable} {script}"
    settings = {"on_failure": hook, "on_fuse": hook, "on_late": hook, "openlineage": str(lineage)}
    with opened(spark, tmp_path / "lake", **settings) as engine:
        engine.sql("CREATE TABLE orders (id BIGINT, region STRING)")
        engine.sql("INSERT INTO orders VALUES (1, 'eu'), (2, 'us'), (3, 'us')")
        engine.create_stream_table("totals", "SELECT region, COUNT(*) AS n FROM orders GROUP BY region", schedule="1h")
        tenth = "SELECT id, 10 / (id - 4) AS x FROM orders"
        engine.create_stream_table(ODD, tenth, schedule="1h", fuse="on", fuse_ceiling=100)
        fresh = engine.status("totals")
        assert (fresh.rows, fresh.staleness_seconds, fresh.refreshing_since) == (2, 0.0, None)

        changed = datetime.now(UTC)
        engine.sql("INSERT INTO orders VALUES (4, 'ap')")
        stale = engine.status("totals")
        assert 0 < stale.staleness_seconds <= (datetime.now(UTC) - changed).total_seconds()
        assert engine.refresh_stream_table("totals").action == "DIFFERENTIAL"
        seen = engine.status("totals")
        assert (seen.rows, seen.staleness_seconds) == (3, 0.0)
        assert [row.rows for row in engine.status()] == [3, 3]

        # Division by zero in the row with number 4.
        with pytest.raises(StreamTableError, match="Division by zero"):
            engine.refresh_stream_table(ODD)
        answer = engine.why(ODD)
        assert not answer.refreshing and "up to date" not in str(answer)
        assert "its last refresh, by hand at" in str(answer) and "Division by zero" in str(answer)
        assert "SQLSTATE" not in str(answer)
        engine.sql("DELETE FROM orders WHERE id = 4")
        assert engine.refresh_stream_table(ODD).status == "COMPLETED"
        assert engine.why(ODD).refreshing

        (kept,) = engine.sql("CALL trickle.sla('totals')").collect()
        ours = engine.sla("totals")
        assert (kept.day_kept, kept.day_missed, kept.day_percent) == (ours.day_kept, ours.day_missed, ours.day_percent)
        assert (ours.day_kept, ours.day_missed, ours.week_unknown) == (1, 0, 0)
        assert [each.name for each in engine.sla()] == [ODD, "totals"]

        engine.sql("INSERT INTO orders SELECT id + 100, 'eu' FROM range(200)")
        with pytest.raises(StreamTableError, match="fuse"):
            engine.refresh_stream_table(ODD)
        engine.spark.sql("DROP TABLE orders")
        dropped = str(engine.why("totals"))
        assert "its source 'orders' does not exist" in dropped and "up to date" not in dropped
    events = [json.loads(line) for line in told.read_text().splitlines()]
    assert [each["event"] for each in events] == ["on_failure", "on_fuse", "on_failure"]
    assert all(each["table"] == ODD for each in events)
    runs = [json.loads(line) for line in lineage.read_text().splitlines()]
    assert {"START", "COMPLETE", "FAIL"} == {each["eventType"] for each in runs}
    done = next(e for e in runs if e["eventType"] == "COMPLETE" and e["job"]["name"] == "totals")
    assert done["inputs"][0]["name"] == "orders" and done["outputs"][0]["name"] == "totals"
    assert "COUNT(*)" in done["job"]["facets"]["sql"]["query"]
