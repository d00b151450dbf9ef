"""A lake in an object store, from its first table to the last one dropped: a process of its own, because jars are fixed
when the JVM starts. `python -m tests.spark.in_object_store ENDPOINT BUCKET CATALOG`"""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError, UnavailableError
from spark_trickle.model.refresh import Action
from spark_trickle.spark.upkeep.probing import probe_files
from tests.spark.engines import assert_equals_query, values
from tests.support.rest_server import RestServer
from tests.support.s3_server import readers, weather

README = Path(__file__).parents[2] / "README.md"
LAKE = "some/lake"
RETRIES = {
    # A busy store is asked again after a second, then after two: a test has less patience than a lake.
    f"spark.sql.catalog.lake.s3.retry.{name}": value
    for name, value in (("num-retries", "4"), ("min-wait-ms", "20"), ("max-wait-ms", "100"))
}
QUERIES = {
    "totals": "SELECT region, SUM(amount) AS total, COUNT(*) AS n FROM orders GROUP BY region",
    "named": "SELECT o.id, o.amount, r.name FROM orders o LEFT JOIN regions r ON o.region = r.region",
}


VENDED = {"s3.access-key-id": "vended-key", "s3.secret-access-key": "vended-secret", "s3.session-token": "vended-token"}
"""What a REST catalog gives to those who read its tables, and nobody else has."""


def main(endpoint: str, bucket: str, catalog: str) -> None:
    store = f"{endpoint}/{bucket}"
    with connected(endpoint, bucket, catalog) as engine:
        assert probe_files(engine.spark).done == ("write", "read", "list", "delete")
        work(engine)
        tidy(engine, store)
        bad_weather(engine, endpoint)
        killed(engine, endpoint, bucket, catalog)
        vended(engine, endpoint, bucket, catalog)
        for name in QUERIES:
            engine.drop_stream_table(name)
        left = keys(store)
        assert left and all(
            "/default/orders/" in key or "/default/regions/" in key or key.startswith("far/") for key in left
        ), left


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
        ("spark_conf={", "spark_conf={**RETRIES, "),
    ):
        assert written in example
        example = example.replace(written, here)
    names: dict[str, object] = {"trickle": spark_trickle, "RETRIES": RETRIES}
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


def bad_weather(engine: Engine, endpoint: str) -> None:
    """A store that is busy or slow now and then is waited for; one that always is fails a refresh, no more."""
    weather(endpoint, busy=0.03, slow=0.05)
    engine.sql("INSERT INTO orders VALUES (10, 'eu', 3); DELETE FROM orders WHERE id = 6")
    assert [engine.refresh_stream_table(name).action for name in QUERIES] == [Action.DIFFERENTIAL] * 2
    for name in QUERIES:
        assert_equals_query(engine, name)
    engine.sql("INSERT INTO orders VALUES (20, 'us', 4)")
    assert min(weather(endpoint, busy=1.0).values()) > 0
    before = engine.status("totals")
    with pytest.raises(StreamTableError, match=r"503|SlowDown|reduce your request rate"):
        engine.refresh_stream_table("totals")
    assert probe_files(engine.spark).failed == "write"
    weather(endpoint)
    assert engine.status("totals").frontier == before.frontier
    assert engine.refresh_stream_table("totals").action is Action.DIFFERENTIAL
    assert_equals_query(engine, "totals")


def killed(engine: Engine, endpoint: str, bucket: str, catalog: str) -> None:
    """Another process is killed in the middle of its refresh: nothing of it is seen, and its files are removed."""
    engine.sql("INSERT INTO orders VALUES (30, 'asia', 1), (31, 'eu', 1)")
    before = engine.status("named").frontier
    other = subprocess.Popen(
        [sys.executable, "-m", "tests.spark.in_object_store", endpoint, bucket, catalog, "refresh"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None and other.stdout.readline() == "refreshing\n"
    # Slow enough that it cannot be through; what it writes meanwhile stays behind.
    weather(endpoint, slow=1.0, seconds=0.2)
    files = len(keys(f"{endpoint}/{bucket}"))
    until = time.monotonic() + 120
    while len(keys(f"{endpoint}/{bucket}")) <= files and time.monotonic() < until:
        time.sleep(0.1)
    other.kill()
    other.wait()
    weather(endpoint)
    assert len(keys(f"{endpoint}/{bucket}")) > files, "it was killed before it wrote anything"
    assert engine.status("named").frontier == before
    assert [engine.refresh_stream_table(name).action for name in QUERIES] == [Action.DIFFERENTIAL] * 2
    for name in QUERIES:
        assert_equals_query(engine, name)
    report = engine.maintain(retain="0s", orphan_age="0s")
    assert sum(table.orphans_removed for table in report.tables) >= 1, report
    again = engine.maintain(retain="0s", orphan_age="0s")
    assert sum(table.orphans_removed for table in again.tables) == 0, again
    for name in QUERIES:
        assert_equals_query(engine, name)


def vended(engine: Engine, endpoint: str, bucket: str, catalog: str) -> None:
    """A table of a REST catalog that gives credentials: its files are read by them, and they are kept nowhere."""
    files = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "s3.endpoint": endpoint, "client.region": "eu-central-1"}
    home = Path(catalog.removeprefix("sqlite:///")).parent
    jars = [str(jar) for jar in (Path.home() / ".ivy2.5.2" / "jars").glob("org.apache.iceberg_iceberg-*.jar")]
    server = RestServer(
        home / "server",
        catalog={**files, **VENDED, "warehouse": f"s3://{bucket}/far", "include-credentials": "true"},
        jars=jars,
    )
    server.start()
    logging.getLogger("spark_trickle").addHandler(log := logging.FileHandler(home / "all.log"))
    logging.getLogger("spark_trickle").setLevel(logging.DEBUG)
    try:
        settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": server.address}
        for key, value in {**settings, **{f".{key}": value for key, value in files.items()}}.items():
            engine.spark.conf.set(f"spark.sql.catalog.prod{key}", value)
        engine.sql("CREATE NAMESPACE prod.db; CREATE TABLE prod.db.sales (id INT, region STRING) USING iceberg")
        engine.sql("INSERT INTO prod.db.sales VALUES (1, 'eu'), (2, 'us')")
        engine.create_stream_table(
            "sold", "SELECT region, COUNT(*) AS n FROM prod.db.sales GROUP BY region", strict=True
        )
        engine.sql("INSERT INTO prod.db.sales VALUES (3, 'eu')")
        assert engine.refresh_stream_table("sold").action is Action.DIFFERENTIAL
        assert_equals_query(engine, "sold")
        read = {key for path, keys in readers(endpoint).items() if f"{bucket}/far/" in path for key in keys}
        assert read == {"vended-key"}, read
        server.stop()
        with pytest.raises(UnavailableError):
            engine.refresh_stream_table("sold")
        for place in (Path(catalog.removeprefix("sqlite:///")), home / "all.log"):
            assert not any(value.encode() in place.read_bytes() for value in VENDED.values()), place
    finally:
        server.stop()
        logging.getLogger("spark_trickle").removeHandler(log)
        log.close()
    engine.drop_stream_table("sold")


def refresh(endpoint: str, bucket: str, catalog: str) -> None:
    with connected(endpoint, bucket, catalog) as engine:
        _ = engine.spark
        sys.stdout.write("refreshing\n")
        sys.stdout.flush()
        engine.refresh_stream_tables(list(QUERIES))


def keys(store: str) -> list[str]:
    """All objects of the bucket."""
    with urlopen(f"{store}?list-type=2&max-keys=1000", timeout=30) as answer:
        return re.findall(r"<Key>([^<]*)</Key>", answer.read().decode())


if __name__ == "__main__":
    if sys.argv[4:] == ["refresh"]:
        refresh(*sys.argv[1:4])
        sys.exit()
    main(*sys.argv[1:])
    sys.stdout.write("all of it in the object store\n")
