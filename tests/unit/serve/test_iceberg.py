"""Iceberg's REST catalog: what its specification wants, and real clients that read through it. No JVM."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import duckdb
import httpx
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import ForbiddenError, NoSuchNamespaceError, NoSuchTableError, UnauthorizedError

import spark_trickle
from spark_trickle.catalog.pointers import swap
from spark_trickle.engine import Engine
from spark_trickle.names import TableName
from spark_trickle.serve.access import Door
from spark_trickle.serve.api import Api
from spark_trickle.serve.app import make_app
from spark_trickle.serve.iceberg import ENDPOINTS
from spark_trickle.serve.jobs import Jobs
from spark_trickle.serve.server import serving
from tests.support.asgi import client_of
from tests.support.other_readers import duckdb_with_iceberg, write_table, writer

ROOT = Path(__file__).parents[3]
TOKEN = "correct-horse-battery-staple"
ODD = ("a b", "x/y", "50%+ü?#")
"""Characters that mean something in an address."""


on_each_database = pytest.mark.parametrize("shop", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Engine, SqlCatalog]]:
    """A lake with a few tables, and somebody who can write to it."""
    url = f"sqlite:///{tmp_path}/lake/trickle.db"
    if getattr(request, "param", "sqlite") == "postgresql":
        url = request.getfixturevalue("postgres_url")
    with spark_trickle.connect(str(tmp_path / "lake"), catalog=url) as engine:
        engine.status()
        catalog = writer(url, str(tmp_path / "lake"))
        write_table(catalog, ("default", "orders"), id=[1, 2, 3], g=["a", "b", "ü"])
        write_table(catalog, ("sales", "eu", "west"), id=[7])
        for name in ODD:
            write_table(catalog, ("odd", name), name=[name])
        write_table(catalog, ("trickle_internal", "state"), id=[0])
        yield engine, catalog
        catalog.close()


def _client(engine: Engine, token: str | None = None) -> httpx.Client:
    jobs = Jobs(engine, lambda: None)
    return client_of(make_app(Api(engine, jobs), Door("127.0.0.1", 8080, token)), "http://127.0.0.1:8080/iceberg/v1")


@on_each_database
def test_what_is_published_can_be_found_and_what_is_internal_is_not_there(shop: tuple[Engine, SqlCatalog]) -> None:
    client = _client(shop[0])

    def get(path: str) -> object:
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert set(ENDPOINTS) == set(get("/config")["endpoints"])  # type: ignore[index]
    assert get("/namespaces") == {"namespaces": [["default"], ["odd"], ["sales"]]}
    assert get("/namespaces?parent=sales") == {"namespaces": [["sales", "eu"]]}
    assert get("/namespaces?parent=sales%1Feu") == {"namespaces": []}
    assert get("/namespaces/sales") == {"namespace": ["sales"], "properties": {}}
    tables = get("/namespaces/sales%1Feu/tables")
    assert tables == {"identifiers": [{"namespace": ["sales", "eu"], "name": "west"}]}
    assert get("/namespaces/default/views") == {"identifiers": []}
    for name in ODD:
        loaded = get(f"/namespaces/odd/tables/{quote(name, safe='')}")
        assert loaded["metadata"]["schemas"][0]["fields"][0]["name"] == "name"  # type: ignore[index]
    for path, kind in (
        ("/namespaces/nope", "NoSuchNamespaceException"),
        ("/namespaces/nope/tables", "NoSuchNamespaceException"),
        ("/namespaces?parent=nope", "NoSuchNamespaceException"),
        ("/namespaces/trickle_internal", "NoSuchNamespaceException"),
        ("/namespaces/TRICKLE_internal/tables", "NoSuchNamespaceException"),
        ("/namespaces/trickle_internal/tables/state", "NoSuchTableException"),
        ("/namespaces/default/tables/nope", "NoSuchTableException"),
        ("/namespaces/default/tables/orders'--", "NoSuchTableException"),
        ("/namespaces/default/views/orders", "NoSuchViewException"),
        ("/config?warehouse=other", "NoSuchWarehouseException"),
        ("/nothing/here", "NotFoundException"),
    ):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["error"]["type"]) == (404, kind), path
        assert answer.json()["error"]["code"] == 404 and answer.json()["error"]["message"]
        assert client.head(path).status_code == 404, path
    for path in ("/namespaces/default", "/namespaces/default/tables/orders"):
        head = client.head(path)
        assert (head.status_code, head.content) == (204, b"")
    assert client.get("/namespaces/default/tables/orders?snapshots=some").status_code == 400


@on_each_database
def test_a_load_is_the_version_at_the_pointer_and_knows_when_it_is_still_that(shop: tuple[Engine, SqlCatalog]) -> None:
    engine, catalog = shop
    client, path = _client(engine), "/namespaces/default/tables/orders"
    first = client.get(path)
    assert first.json()["metadata-location"] == catalog.load_table("default.orders").metadata_location
    tag = {"If-None-Match": first.headers["etag"]}
    assert client.get(path, headers=tag).status_code == 304
    refs = client.get(f"{path}?snapshots=refs")
    assert refs.headers["etag"] != first.headers["etag"], "another answer, another tag"
    write_table(catalog, ("default", "orders"), id=[4], g=["d"])
    second = client.get(path, headers=tag)
    assert second.status_code == 200
    assert len(second.json()["metadata"]["snapshots"]) == 2
    refs = client.get(f"{path}?snapshots=refs", headers=tag)
    (kept,) = refs.json()["metadata"]["snapshots"]
    assert kept["snapshot-id"] == second.json()["metadata"]["current-snapshot-id"]


def test_a_file_that_expired_between_the_pointer_and_the_read_is_looked_for_again(
    shop: tuple[Engine, SqlCatalog], tmp_path: Path
) -> None:
    engine, catalog = shop
    client, path = _client(engine), "/namespaces/default/tables/orders"
    location = catalog.load_table("default.orders").metadata_location
    file = Path(location.removeprefix("file://"))
    text, lost = file.read_text(), tmp_path / "lost.json"
    file.unlink()
    answer = client.get(path)
    assert answer.status_code == 503
    assert "is not there any more" in answer.json()["error"]["message"]
    lost.write_text("{")
    with engine.watch.catalog.write() as conn:
        swap(conn, TableName("default", "orders"), location, str(lost))
    answer = client.get(path)
    assert (answer.status_code, "is not what Iceberg writes" in answer.text) == (503, True)
    lost.write_text(text)
    assert client.get(path).json()["metadata"] == json.loads(text)


@pytest.mark.parametrize("token", [None, TOKEN])
def test_what_would_write_is_refused_in_the_words_of_iceberg(
    shop: tuple[Engine, SqlCatalog], token: str | None
) -> None:
    engine, catalog = shop
    before = catalog.load_table("default.orders").metadata_location
    client = _client(engine, token)
    headers = {"Authorization": f"Bearer {TOKEN}"} if token else {}
    for method, path in (
        ("POST", "/namespaces"),
        ("DELETE", "/namespaces/default"),
        ("POST", "/namespaces/default/tables"),
        ("POST", "/namespaces/default/tables/orders"),
        ("DELETE", "/namespaces/default/tables/orders"),
        ("POST", "/transactions/commit"),
        ("POST", "/oauth/tokens"),
        ("PUT", "/config"),
    ):
        answer = client.request(method, path, json={}, headers=headers)
        error = answer.json()["error"]
        assert (answer.status_code, error["type"], error["code"]) == (406, "UnsupportedOperationException", 406)
        assert "read-only" in error["message"] and "trickle sql" in error["message"]
    assert catalog.load_table("default.orders").metadata_location == before
    stranger = client.post("/namespaces", json={}, headers={"Origin": "http://evil.example", **headers})
    assert (stranger.status_code, stranger.json()["error"]["type"]) == (403, "ForbiddenException")


def test_with_a_token_nothing_is_read_without_it(shop: tuple[Engine, SqlCatalog]) -> None:
    client = _client(shop[0], TOKEN)
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        for path in ("/config", "/namespaces", "/namespaces/default/tables/orders"):
            answer = client.get(path, headers=headers, follow_redirects=False)
            assert (answer.status_code, answer.json()["error"]["type"]) == (401, "NotAuthorizedException")
    assert client.get("/config", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_pyiceberg_reads_and_cannot_write(shop: tuple[Engine, SqlCatalog]) -> None:
    engine, catalog = shop
    with _served(engine, TOKEN) as address:
        with pytest.raises((UnauthorizedError, ForbiddenError)):
            RestCatalog("lake", uri=address)
        lake = RestCatalog("lake", uri=address, token=TOKEN)
        assert lake.list_namespaces() == [("default",), ("odd",), ("sales",)]
        assert lake.list_namespaces("sales") == [("sales", "eu")]
        assert lake.load_table("sales.eu.west").scan().to_arrow().to_pydict() == {"id": [7]}
        assert lake.list_tables("odd") == [("odd", name) for name in sorted(ODD)]
        for name in ODD:
            assert lake.load_table(("odd", name)).scan().to_arrow().to_pydict() == {"name": [name]}
        orders = lake.load_table("default.orders")
        write_table(catalog, ("default", "orders"), id=[4], g=["d"])
        assert orders.scan().to_arrow().num_rows == 3, "what was loaded stays as it was"
        assert orders.refresh().scan().to_arrow().num_rows == 4
        assert lake.table_exists("default.orders") and not lake.table_exists("default.nope")
        with pytest.raises(NoSuchTableError):
            lake.load_table("trickle_internal.state")
        with pytest.raises(NoSuchNamespaceError):
            lake.list_tables("trickle_internal")
        writes: list[Callable[[], object]] = [
            lambda: orders.append(pa.table({"id": [9], "g": ["z"]})),
            lambda: lake.drop_table("default.orders"),
            lambda: lake.create_namespace("mine"),
        ]
        for write in writes:
            with pytest.raises(NotImplementedError, match="does not support endpoint"):
                write()
    assert catalog.load_table("default.orders").scan().to_arrow().num_rows == 4


def test_duckdb_reads_and_cannot_write(shop: tuple[Engine, SqlCatalog]) -> None:
    engine, catalog = shop
    duck = duckdb_with_iceberg()
    with _served(engine, TOKEN) as address:
        duck.execute(f"CREATE SECRET (TYPE iceberg, TOKEN '{TOKEN}')")
        duck.execute(f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{address}')")
        assert duck.execute("SELECT * FROM lake.default.orders ORDER BY id").fetchall() == [
            (1, "a"),
            (2, "b"),
            (3, "ü"),
        ]
        for name in ODD:
            assert duck.execute(f'SELECT * FROM lake.odd."{name}"').fetchall() == [(name,)]
        write_table(catalog, ("default", "orders"), id=[4], g=["d"])
        assert duck.execute("SELECT COUNT(*) FROM lake.default.orders").fetchall() == [(4,)]
        schemas = {schema for (schema,) in duck.execute("SELECT DISTINCT schema FROM (SHOW ALL TABLES)").fetchall()}
        assert schemas == {"default", "odd"}, "DuckDB sees no namespaces below others, and nobody sees ours"
        with pytest.raises(duckdb.Error, match="this catalog is read-only"):
            duck.execute("INSERT INTO lake.default.orders VALUES (9, 'z')")
    duck.close()
    assert catalog.load_table("default.orders").scan().to_arrow().num_rows == 4


def test_tables_of_an_object_store_are_read_without_a_jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "someone")
    url = f"sqlite:///{tmp_path}/trickle.db"
    with _object_store() as store:
        conf = {
            "spark.sql.catalog.lake.s3.endpoint": store,
            "spark.sql.catalog.lake.client.region": "eu-west-1",
            "spark.sql.catalog.lake.s3.secret-access-key": "someone",
            "spark.sql.catalog.lake.s3.access-key-id": "someone",
        }
        with spark_trickle.connect("s3://bucket/lake", catalog=url, spark_conf=conf) as engine:
            engine.status()
            catalog = writer(url, "s3://bucket/lake", **{"s3.endpoint": store, "s3.region": "eu-west-1"})
            write_table(catalog, ("default", "orders"), id=[1, 2])
            told = _client(engine).get("/config").json()["defaults"]
            assert told["s3.endpoint"] == store and "someone" not in json.dumps(told)
            with _served(engine) as address:
                lake = RestCatalog("lake", uri=address, **{"s3.region": "eu-west-1"})
                assert lake.load_table("default.orders").scan().to_arrow().to_pydict() == {"id": [1, 2]}
                location = catalog.load_table("default.orders").metadata_location
                with engine.watch.catalog.write() as conn:
                    swap(conn, TableName("default", "orders"), location, "s3://nobody/there.json")
                answer = _client(engine).get("/namespaces/default/tables/orders")
                assert (answer.status_code, "s3://nobody/there.json" in answer.text) == (503, True)
                with engine.watch.catalog.write() as conn:
                    swap(conn, TableName("default", "orders"), "s3://nobody/there.json", "strange://place/there.json")
                answer = _client(engine).get("/namespaces/default/tables/orders")
                assert (answer.status_code, "needs to reach the warehouse" in answer.text) == (503, True)
            catalog.close()


@contextmanager
def _served(engine: Engine, token: str | None = None) -> Iterator[str]:
    """A real server; gives the address that clients are told."""
    with serving(engine, Jobs(engine, lambda: None), Door("127.0.0.1", 0, token)) as address:
        yield f"{address}/iceberg"


@contextmanager
def _object_store() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.support.s3_server", "bucket"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
    ) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.kill()
