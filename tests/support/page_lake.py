"""A lake to look at: a shop with a diamond, a circle, gates, watermarks, fuses, failures and names that mean harm.

Made on a real catalog and a toy lake, without a JVM; the last hour of its history is written by hand.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from spark_trickle.model.refresh import Action, Outcome
from spark_trickle.model.stream_table import Fuse
from spark_trickle.names import TableName
from tests.support.catalog_values import history_row
from tests.support.scheduling import Yard, yard

HOSTILE = "`<img src=x onerror=alert(1)>`"
LONG = "a_name_that_goes_on_and_on_" * 4 + "and_ends"

QUERIES = {
    "revenue_by_region": """-- what each region sold
SELECT r.name AS region, SUM(s.amount) AS revenue, COUNT(*) AS sales
FROM sales s JOIN regions r ON r.id = s.region_id
WHERE s.status <> 'cancelled' AND s.amount > 0.5
GROUP BY r.name""",
    "revenue_by_product": "SELECT product_id, SUM(amount) AS revenue FROM sales GROUP BY product_id",
    "exec_summary": """SELECT (SELECT SUM(revenue) FROM revenue_by_region) AS by_region,
       (SELECT SUM(revenue) FROM revenue_by_product) AS by_product""",
}


def prepare(folder: Path, now: datetime) -> None:
    """Put the lake into a folder, as it is at a moment."""
    folder.mkdir(parents=True, exist_ok=True)
    with yard(folder, now=now - timedelta(hours=3)) as made:
        _define(made)
        made.tick()
        made.catalog.give_back_lease(made.fence)
        taken = made.catalog.take_lease("process 4711 on etl-1 (3f9a2c)", now, now + timedelta(days=30))
        assert taken is not None
        made.fence = taken.token
        made.now = now - timedelta(minutes=2)
        _trouble(made)
        made.now = now
        made.catalog.renew_lease(made.fence, now + timedelta(days=30), now)
        _queries(made)
        _history(made, now)


def _define(y: Yard) -> None:
    y.base("sales", "regions", "returns", "edges", "clicks", "rates", "raw.events", "raw.devices", "stock")
    y.stream("revenue_by_region", "sales", "regions", schedule="30s")
    y.stream("revenue_by_product", "sales", schedule="30s")
    y.stream("exec_summary", "revenue_by_region", "revenue_by_product", schedule="1m")
    y.stream("returns_by_week", "returns", schedule="5m")
    y.stream("returns_report", "returns_by_week", schedule="15m")
    y.stream("rates_daily", "rates", schedule="1h")
    y.stream("stock_levels", "stock", schedule="10s", fuse=Fuse.ON, fuse_ceiling=1000)
    y.known |= {TableName.parse("reachable"), TableName.parse("routes")}
    y.stream("reachable", "edges", "routes", schedule="1m")
    y.stream("routes", "reachable", schedule="1m")
    y.stream("mart.sessions", "raw.events", "raw.devices", schedule="1m")
    y.stream("mart.sessions_by_device", "mart.sessions", schedule="*/10 * * * *")
    y.stream("clicks_by_page", "clicks", schedule="5s")
    y.stream(HOSTILE, "clicks", schedule="1h")
    y.stream(LONG, "clicks", schedule="1h")
    y.stream("archive", "sales", schedule="1d")
    y.watermark_group("sessions", "raw.events", "raw.devices", tolerance=60)
    y.advance("raw.events", y.now)
    y.advance("raw.devices", y.now - timedelta(seconds=20))


def _trouble(y: Yard) -> None:
    """One is gated, one fails, one's fuse blows, one is suspended, one group is apart; some have changes to take in."""
    y.gate("returns", True)
    y.failing["rates_daily"] = "permanent"
    y.write("returns", "rates", "raw.events")
    y.advance("raw.events", y.now)
    y.lake.write(TableName.parse("stock"), rows=4000, deleted=3500)
    y.definitions.suspend(TableName.parse("archive"))
    y.tick()
    y.write("clicks")


def _queries(y: Yard) -> None:
    for table in y.catalog.stream_tables():
        reads = ", ".join(str(source.table) for source in table.sources)
        query = QUERIES.get(table.name.name, f"SELECT * FROM {reads}")
        refreshed = None if table.last_refresh_at is None else y.now - timedelta(seconds=20)
        y.catalog.update(
            replace(
                table,
                query=query,
                last_refresh_at=refreshed,
                explanation=f"Select\n  Scan {reads}\n-- delta --\nSELECT * FROM changes",
            )
        )


def _history(y: Yard, now: datetime) -> None:
    dice = random.Random(7)
    rows = []
    for table in y.catalog.stream_tables():
        every = dice.choice([40, 60, 120, 300])
        at = now - timedelta(minutes=59)
        while at < now - timedelta(seconds=30):
            full = dice.random() < 0.04
            rows.append(
                history_row(
                    str(table.name),
                    started_at=at,
                    action=Action.FULL if full else Action.DIFFERENTIAL,
                    mode="FULL" if full else "DIFFERENTIAL",
                    reason="12.4 % of the rows of its sources changed" if full else None,
                    duration_ms=dice.lognormvariate(5.6, 0.6) * (6 if full else 1),
                    rows_inserted=dice.randrange(1, 400),
                    rows_deleted=dice.randrange(0, 200),
                    frontier=table.frontier,
                    initiated_by="SCHEDULER",
                )
            )
            at += timedelta(seconds=every * (0.7 + dice.random() * 0.6))
    error = "SchemaChangedError: column 'rate' of 'rates' is now STRING, and was DECIMAL(10,4)"
    rows += [
        history_row(
            "rates_daily",
            started_at=now - timedelta(minutes=minutes),
            action=Action.SKIP,
            status=Outcome.FAILED,
            error=error,
            duration_ms=0.0,
            rows_inserted=0,
            rows_deleted=0,
            initiated_by="SCHEDULER",
        )
        for minutes in (9, 6, 2)
    ]
    y.catalog.record(sorted(rows, key=lambda row: row.started_at))
