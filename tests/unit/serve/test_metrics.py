"""Metrics as Prometheus reads them: parsed by its own parser, with names that are not nice, and not without bounds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from prometheus_client.parser import text_string_to_metric_families

from spark_trickle.model.refresh import Action, Outcome
from spark_trickle.serve.api import Api
from spark_trickle.serve.metrics import Metrics
from tests.support.catalog_values import history_row
from tests.support.page_lake import HOSTILE
from tests.unit.serve.conftest import Served

Make = Callable[..., Served]
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parsed(text: str) -> Samples:
    families = text_string_to_metric_families(text)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, tuple(sorted(labels.items()))]


def test_what_is_so_now(served: Make) -> None:
    answer = served().client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = parsed(answer.text)
    assert value(found, "trickle_stream_tables", state="held") == 6
    assert value(found, "trickle_held", reason="gated") == 2
    assert value(found, "trickle_held", reason="fuse") == 1
    assert value(found, "trickle_scheduler_up") == 1
    assert value(found, "trickle_gates_closed") == 1
    assert value(found, "trickle_watermark_lag_seconds", group="sessions") > 60
    assert value(found, "trickle_table_state", table="rates_daily", state="failed") == 1
    assert value(found, "trickle_table_schedule_seconds", table="exec_summary") == 60
    assert value(found, "trickle_table_lag_seconds", table="exec_summary") == 0
    assert value(found, "trickle_table_consecutive_errors", table="rates_daily") == 1
    assert value(found, "trickle_table_state", table=HOSTILE, state="fresh") == 1
    assert value(found, "trickle_tables_omitted") == 0


def test_counts_begin_with_the_server_and_come_from_the_history(served: Make) -> None:
    at = served()
    assert not any(name == "trickle_refreshes_total" for name, _ in parsed(at.client.get("/metrics").text))
    now = datetime.now(UTC)
    done = history_row("exec_summary", started_at=now, duration_ms=700.0, initiated_by="SCHEDULER")
    failed = history_row("archive", started_at=now, action=Action.SKIP, status=Outcome.FAILED)
    at.engine.watch.catalog.record([done, done, failed])
    for _ in range(2):
        found = parsed(at.client.get("/metrics").text)
        labels = {"mode": "DIFFERENTIAL", "status": "completed", "by": "scheduler"}
        assert value(found, "trickle_refreshes_total", **labels) == 2
        assert value(found, "trickle_table_refreshes_total", table="archive", status="failed") == 1
        assert value(found, "trickle_refresh_duration_seconds_bucket", mode="DIFFERENTIAL", le="0.5") == 0
        assert value(found, "trickle_refresh_duration_seconds_bucket", mode="DIFFERENTIAL", le="1.0") == 2
        assert value(found, "trickle_rows_total", change="inserted") == 6


def test_series_by_table_are_bounded(served: Make) -> None:
    at = served()
    found = parsed(Metrics(Api(at.engine, at.jobs), most_tables=4).text().decode())
    assert value(found, "trickle_tables_omitted") == 11
    assert len([1 for name, _ in found if name == "trickle_table_state"]) == 4
    assert value(found, "trickle_stream_tables", state="held") == 6
