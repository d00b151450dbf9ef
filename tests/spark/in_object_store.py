"""A lake in an object store, from its first table to the last one dropped: a process of its own, because jars are fixed
when the JVM starts. `python -m tests.spark.in_object_store ENDPOINT BUCKET CATALOG`"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query, values

README = Path(__file__).parents[2] / "README.md"
LAKE = "some/lake"
QUERIES = {
    "totals": "SELECT region, SUM(amount) AS total, COUNT(*) AS n FROM orders GROUP BY region",
    "named": "SELECT o.id, o.amount, r.name FROM orders o LEFT JOIN regions r ON o.region = r.region",
}


def main(endpoint: str, bucket: str, catalog: str) -> None:
    store = f"{endpoint}/{bucket}"
    with connected(endpoint, bucket, catalog) as engine:
        work(engine)
        tidy(engine, store)
        for name in QUERIES:
            engine.drop_stream_table(name)
        left = keys(store)
        assert left and all("/default/orders/" in key or "/default/regions/" in key for key in left), left


def connected(endpoint: str, bucket: str, catalog: str) -> Engine:
    """As the README says, with the places of this test; who we are is told by the environment, as anywhere on S3."""
    os.environ.update(AWS_ACCESS_KEY_ID="somebody", AWS_SECRET_ACCESS_KEY="something", AWS_REGION="eu-central-1")
    os.environ["TRICKLE_SPARK_MASTER"] = "local[2]"
    text = README.read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n([^`]*s3://[^`]*)```", text)
    for written, here in (
        ("postgresql+psycopg://user@host/db", catalog),
        ("s3://bucket/path", f"s3://{bucket}/{LAKE}"),
        ("https://store.example", endpoint),
    ):
        assert written in example
        example = example.replace(written, here)
    names: dict[str, object] = {"trickle": spark_trickle}
    exec(example, names)
    engine = names["engine"]
    assert isinstance(engine, Engine)
    return engine


def work(engine: Engine) -> None:
    engine.sql(
        "CREATE TABLE orders (id INT, region STRING, amount INT); CREATE TABLE regions (region STRING, name STRING)"
    )
    engine.sql(
        "INSERT INTO orders VALUES (1, 'eu', 10), (2, 'us', 5), (3, 'eu', 1); INSERT INTO regions VALUES ('eu', 'E')"
    )
    for name, query in QUERIES.items():
        engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)
    for change in (
        "INSERT INTO orders VALUES (4, 'eu', 2), (5, 'asia', 3); INSERT INTO regions VALUES ('us', 'U')",
        "UPDATE orders SET amount = 7 WHERE id = 1; DELETE FROM orders WHERE id = 2",
        "DELETE FROM orders WHERE true",
        "INSERT INTO orders VALUES (1, 'eu', 10)",
    ):
        engine.sql(change)
        assert [engine.refresh_stream_table(name).action for name in QUERIES] == [Action.DIFFERENTIAL] * 2, change
        for name in QUERIES:
            assert_equals_query(engine, name)
    with engine.transaction() as tx:
        tx.sql("INSERT INTO orders VALUES (6, 'us', 1)")
        tx.sql("INSERT INTO regions VALUES ('asia', 'A')")
    with engine.snapshot(["orders", "totals"]) as snap:
        assert [row[0] for row in snap.sql("SELECT COUNT(*) FROM orders").collect()] == [2]
    assert len(values(engine, "SELECT * FROM regions")) == 3


def tidy(engine: Engine, store: str) -> None:
    """What crashes leave is removed, here of a table that exists and of one that never came to be."""
    left = ("default/totals/data/left.parquet", "trickle_internal/default__gone__groups/data/left.parquet")
    for key in left:
        urlopen(Request(f"{store}/{LAKE}/{key}", data=b"left", method="PUT"), timeout=30).close()
    report = engine.maintain(retain="0s", compact_files=1, orphan_age="0s")
    assert all(table.skipped_reason is None for table in report.tables), report
    assert sum(table.orphans_removed for table in report.tables) >= 1 and report.abandoned_files == 1, report
    assert sum(table.snapshots_expired for table in report.tables) > 0, report
    assert not [key for key in keys(store) if key.endswith("left.parquet")]
    engine.refresh_stream_tables(list(QUERIES))
    for name in QUERIES:
        assert_equals_query(engine, name)


def keys(store: str) -> list[str]:
    """All objects of the bucket."""
    with urlopen(f"{store}?list-type=2&max-keys=1000", timeout=30) as answer:
        return re.findall(r"<Key>([^<]*)</Key>", answer.read().decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.write("all of it in the object store\n")
