"""Metrics for Prometheus: what is so now, from the catalog at each scrape, and counts since the server began.

Counts come from the history: whoever refreshes, a scheduler elsewhere or somebody's hand, is counted. There are series
by table for so many tables at the most; how many were left out is a metric, too.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics, generate_latest
from prometheus_client import Counter as CounterMetric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from spark_trickle.conditions import State
from spark_trickle.model.hold import HoldCode
from spark_trickle.model.refresh import Activity, Outcome
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName
from spark_trickle.serve.api import Api, Query
from spark_trickle.watching import Moment

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_TABLES = 2000
_BATCH = 20_000
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)


class Metrics:
    """The metrics of one server. For several threads, which take turns."""

    def __init__(self, api: Api, most_tables: int = MOST_TABLES) -> None:
        self._api = api
        self._most = most_tables
        self._lock = threading.Lock()
        self._last = max((row.id for row in api.watch.catalog.activity(0, _EVER, 1)), default=0)
        self._per_table: dict[str, Counter[str]] = {}
        # When each series began says nothing here: all of them begin with the server.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._refreshes = CounterMetric(
            "trickle_refreshes", "Refreshes since the server began.", ["mode", "status", "by"], registry=self._registry
        )
        self._durations = Histogram(
            "trickle_refresh_duration_seconds",
            "How long refreshes took.",
            ["mode"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._rows = CounterMetric("trickle_rows", "Rows that refreshes changed.", ["change"], registry=self._registry)
        self._registry.register(self)

    def text(self) -> bytes:
        with self._lock:
            self._count(self._api.watch.catalog.activity(self._last, _EVER, _BATCH))
            return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        """Nothing is asked of the catalog when the collector is registered."""
        return ()

    def collect(self) -> Iterator[Metric]:
        moment = self._api.moment()
        yield from _of_all(moment)
        yield from _of_scheduler(moment)
        yield from self._of_watermarks()
        shown = dict(sorted(moment.tables.items())[: self._most])
        yield GaugeMetricFamily(
            "trickle_tables_omitted", "Stream tables without series of their own.", len(moment.tables) - len(shown)
        )
        yield from _of_tables(moment, shown)
        yield from self._counted(shown)

    def _count(self, rows: Iterable[Activity]) -> None:
        for row in rows:
            self._last = row.id
            mode = row.mode or "none"
            self._refreshes.labels(mode, row.status.value.lower(), row.initiated_by.lower()).inc()
            counts = self._per_table.setdefault(row.name, Counter())
            counts[row.status.value.lower()] += 1
            if row.status is Outcome.COMPLETED:
                self._durations.labels(mode).observe(row.duration_ms / 1000)
                self._rows.labels("inserted").inc(row.rows_inserted)
                self._rows.labels("deleted").inc(row.rows_deleted)

    def _counted(self, shown: dict[TableName, StreamTable]) -> Iterator[Metric]:
        names = {str(name) for name in shown}
        # What was dropped is forgotten: its series end.
        self._per_table = {name: counts for name, counts in self._per_table.items() if name in names}
        family = CounterMetricFamily(
            "trickle_table_refreshes", "Refreshes by table since the server began.", labels=["table", "status"]
        )
        for name, counts in sorted(self._per_table.items()):
            for status, count in sorted(counts.items()):
                family.add_metric([name, status], count)
        yield family

    def _of_watermarks(self) -> Iterator[Metric]:
        lag = GaugeMetricFamily("trickle_watermark_lag_seconds", "How far a group is apart.", labels=["group"])
        for group in self._api.watermark_groups(Query()):
            if group.lag_secs is not None:
                lag.add_metric([group.group_name], group.lag_secs)
        yield lag


def _of_all(moment: Moment) -> Iterator[Metric]:
    states, held = Counter[State](), Counter[HoldCode]()
    for condition in moment.conditions.values():
        states[condition.state] += 1
        if condition.state is State.HELD:
            held.update(condition.codes)
    by_state = GaugeMetricFamily("trickle_stream_tables", "Stream tables by how they are doing.", labels=["state"])
    for state in State:
        by_state.add_metric([state.value], states[state])
    yield by_state
    by_reason = GaugeMetricFamily("trickle_held", "Stream tables that are held, by reason.", labels=["reason"])
    for code in HoldCode:
        by_reason.add_metric([code.value], held[code])
    yield by_reason
    yield GaugeMetricFamily("trickle_gates_closed", "Sources that are gated.", len(moment.known.cut.gates))
    blown = sum(table.fuse.blown is not None for table in moment.tables.values())
    yield GaugeMetricFamily("trickle_fuses_blown", "Fuses that have blown.", blown)
    yield GaugeMetricFamily("trickle_refreshing", "Units being refreshed.", len(moment.running))


def _of_scheduler(moment: Moment) -> Iterator[Metric]:
    lease = moment.known.lease
    yield GaugeMetricFamily("trickle_scheduler_up", "Whether somebody schedules.", float(lease.live(moment.now)))
    if lease.ticked_at is not None:
        yield GaugeMetricFamily(
            "trickle_scheduler_seen_timestamp_seconds", "When a scheduler last ticked.", lease.ticked_at.timestamp()
        )
    yield CounterMetricFamily("trickle_scheduler_leases", "How often the lease was taken.", value=lease.token)


def _of_tables(moment: Moment, shown: dict[TableName, StreamTable]) -> Iterator[Metric]:
    state = GaugeMetricFamily("trickle_table_state", "1 for the state that it is in.", labels=["table", "state"])
    lag = GaugeMetricFamily(
        "trickle_table_lag_seconds", "Age of the oldest change that is not in yet; 0: it has all.", labels=["table"]
    )
    promised = GaugeMetricFamily("trickle_table_schedule_seconds", "How old it may become.", labels=["table"])
    refreshed = GaugeMetricFamily(
        "trickle_table_last_refresh_timestamp_seconds", "When it was last refreshed.", labels=["table"]
    )
    errors = GaugeMetricFamily("trickle_table_consecutive_errors", "Failures in a row.", labels=["table"])
    for name, table in shown.items():
        label, condition = [str(name)], moment.conditions[name]
        state.add_metric([str(name), condition.state.value], 1)
        lag.add_metric(label, _seconds(condition.behind_since, moment.now))
        rhythm = moment.board.rhythms[name]
        if rhythm.declared and rhythm.interval is not None:
            promised.add_metric(label, rhythm.interval.total_seconds())
        if table.last_refresh_at is not None:
            refreshed.add_metric(label, table.last_refresh_at.timestamp())
        errors.add_metric(label, table.consecutive_errors)
    yield from (state, lag, promised, refreshed, errors)


def _seconds(since: datetime | None, now: datetime) -> float:
    return max(timedelta(), now - since).total_seconds() if since is not None else 0.0
