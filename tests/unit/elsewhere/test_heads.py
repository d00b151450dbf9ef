"""Where the tables of other catalogs are, asked without a JVM: of a folder, of a database, of a REST server."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from spark_trickle.elsewhere.hadoop import HadoopHeads
from spark_trickle.elsewhere.heads import missing
from spark_trickle.elsewhere.jdbc import JdbcHeads
from spark_trickle.elsewhere.rest import RestHeads
from spark_trickle.elsewhere.settings import ICEBERG, CatalogSettings
from spark_trickle.model.publication import Away
from spark_trickle.names import TableName

ORDERS = TableName.elsewhere("far", ["a", "b"], "orders")
OTHER = TableName.elsewhere("far", ["a", "b"], "oth/er é")


def settings(**properties: str) -> CatalogSettings:
    named = {key.replace("__", ".").replace("_", "-"): value for key, value in properties.items()}
    return CatalogSettings("far", ICEBERG, named)


def reason(found: str | Away) -> str:
    assert isinstance(found, Away), found
    return found.reason


def test_the_newest_metadata_file_of_a_folder_is_found_though_its_hint_is_late(tmp_path: Path) -> None:
    heads = HadoopHeads.made_of(settings(type="hadoop", warehouse=f"file://{tmp_path}/far"))
    assert heads is not None and "cannot be reached" in reason(heads.of([ORDERS])[ORDERS])
    folder = tmp_path / "far" / "a" / "b" / "orders" / "metadata"
    folder.mkdir(parents=True)
    assert heads.of([ORDERS]) == {ORDERS: missing(ORDERS)}
    for number, name in ((1, "v1.metadata.json"), (2, "v2.gz.metadata.json"), (3, "v3.metadata.json")):
        (folder / name).touch()
        assert heads.of([ORDERS, OTHER]) == {ORDERS: f"{folder}/{name}", OTHER: missing(OTHER)}
        if number == 1:
            (folder / "version-hint.text").write_text("1")
    assert HadoopHeads.made_of(settings(warehouse="hdfs://place/far")) is None


def test_pointers_of_a_database_are_read_by_one_statement(tmp_path: Path) -> None:
    heads = JdbcHeads.made_of(settings(uri=f"jdbc:sqlite:file:{tmp_path}/far.db?busy_timeout=1"))
    assert heads is not None and "its database file does not exist" in reason(heads.of([ORDERS])[ORDERS])
    assert not (tmp_path / "far.db").exists()
    with closing(sqlite3.connect(tmp_path / "far.db")) as database, database:
        assert "no such table" in reason(heads.of([ORDERS])[ORDERS])
        database.execute("CREATE TABLE iceberg_tables (catalog_name, table_namespace, table_name, metadata_location)")
        rows = [("far", "a.b", "orders", "m1"), ("else", "a.b", "oth/er é", "m2"), ("far", "a", "orders", "m3")]
        database.executemany("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?)", rows)
    assert heads.of([ORDERS, OTHER]) == {ORDERS: "m1", OTHER: missing(OTHER)}
    # As newer catalogs have it; their views are no tables.
    with closing(sqlite3.connect(tmp_path / "far.db")) as database, database:
        database.execute("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type")
        database.execute("INSERT INTO iceberg_tables VALUES ('far', 'a.b', 'oth/er é', 'm4', 'VIEW')")
    assert heads.of([ORDERS, OTHER]) == {ORDERS: "m1", OTHER: missing(OTHER)}
    with closing(sqlite3.connect(tmp_path / "far.db")) as database, database:
        database.execute("UPDATE iceberg_tables SET iceberg_type = 'TABLE'")
    assert heads.of([ORDERS, OTHER]) == {ORDERS: "m1", OTHER: "m4"}
    heads.close()


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("jdbc:postgresql://host:5433/db?user=me&password=secret", "postgresql+psycopg://me:***@host:5433/db"),
        ("jdbc:mysql://host/db", None),
        ("jdbc:sqlite::memory:", None),
        ("jdbc:postgresql://host/db?socketFactory=x", None),
        ("jdbc:postgresql:db", None),
        ("jdbc:postgresql:///db", None),
        ("jdbc:postgresql://one:5432,two:5432/db", None),
        ("jdbc:postgresql://[::1]:5432/db", "postgresql+psycopg://[::1]:5432/db"),
    ],
)
def test_of_other_databases_only_the_jvm_can_ask(uri: str, shown: str | None) -> None:
    heads = JdbcHeads.made_of(settings(uri=uri))
    assert (None if heads is None else str(heads._url)) == shown


@dataclass
class Server:
    """A catalog that speaks as the specification of Iceberg's REST catalogs says, as far as we listen."""

    tables: dict[str, str] = field(default_factory=dict)
    """Metadata files by the path that is asked for."""
    token: str | None = None
    down: bool = False
    delay: float = 0.0
    complaint: str = "who are you?"
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Paths, with the tag that was sent."""
    told: dict[str, str] = field(default_factory=dict)
    """All headers that were ever sent."""
    config: dict[str, object] = field(default_factory=lambda: {"defaults": {}, "overrides": {"prefix": "my/house"}})
    says: bytes | None = None
    """What it answers with, whatever is asked."""
    address: str = ""

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], object]:
        self.asked.append((path, headers.get("If-None-Match")))
        self.told.update(headers)
        time.sleep(self.delay)
        if self.down:
            return 503, {}, {"error": {"message": "maintenance", "type": "ServiceUnavailableException"}}
        if self.says is not None:
            return 200, {"ETag": '"nonsense"'}, self.says
        if self.token is not None and headers.get("Authorization") != f"Bearer {self.token}":
            return 401, {}, {"error": {"message": self.complaint, "type": "NotAuthorizedException"}}
        if path.startswith("/api/v1/config"):
            return 200, {}, self.config
        location = self.tables.get(path.partition("?")[0])
        if location is None:
            return 404, {}, {"error": {"message": "no", "type": "NoSuchTableException"}}
        if headers.get("If-None-Match") == f'"{location}"':
            return 304, {}, None
        return 200, {"ETag": f'"{location}"'}, {"metadata-location": location, "metadata": {}}

    def grant(self, asked: str) -> tuple[int, dict[str, str], object]:
        given = {key: values[0] for key, values in parse_qs(asked).items()}
        wanted = {"grant_type": "client_credentials", "client_id": "me", "client_secret": "secret", "scope": "catalog"}
        return (200, {}, {"access_token": self.token}) if given == wanted else (400, {}, {})


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(*server.answer(self.path, dict(self.headers)))

        def do_POST(self) -> None:
            self._send(*server.grant(self.rfile.read(int(self.headers["Content-Length"])).decode()))

        def _send(self, status: int, headers: dict[str, str], body: object) -> None:
            payload = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(payload))}.items():
                self.send_header(key, value)
            self.end_headers()
            with suppress(ConnectionError):  # who asked may have given up
                self.wfile.write(payload)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        server.address = f"http://127.0.0.1:{http.server_address[1]}/api"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


PATH = "/api/v1/my/house/namespaces/a%1Fb/tables/"


def test_a_rest_server_is_asked_with_the_tag_of_its_last_answer() -> None:
    with serving(Server({f"{PATH}orders": "m1", f"{PATH}oth%2Fer%20%C3%A9": "m2"})) as server:
        heads = RestHeads.made_of(settings(uri=server.address))
        assert heads is not None
        for expected in ("m1", "m1", "m3"):
            server.tables[f"{PATH}orders"] = expected
            assert heads.of([ORDERS, OTHER]) == {ORDERS: expected, OTHER: "m2"}
        del server.tables[f"{PATH}orders"]
        assert heads.of([ORDERS]) == {ORDERS: missing(ORDERS)}
        tags = [tag for path, tag in server.asked if path == f"{PATH}orders?snapshots=refs"]
        assert tags == [None, '"m1"', '"m1"', '"m3"']
        assert [path for path, _ in server.asked if "config" in path] == ["/api/v1/config"]
        server.down = True
        assert reason(heads.of([ORDERS])[ORDERS]) == "catalog 'far' cannot be reached: 503 maintenance"
        server.down = False
        server.tables[f"{PATH}orders"] = "m4"
        assert heads.of([ORDERS]) == {ORDERS: "m4"}
        heads.close()
    assert "cannot be reached" in reason(heads.of([ORDERS, OTHER])[OTHER])


def test_a_server_that_lets_us_wait_is_left_alone_for_a_while() -> None:
    now = [0.0]

    def stopwatch() -> float:
        now[0] += 1.0
        return now[0]

    with serving(Server({f"{PATH}orders": "m1"})) as server:
        heads = RestHeads("far", {"uri": server.address}, timeout=0.2, stopwatch=stopwatch)
        assert heads.of([ORDERS]) == {ORDERS: "m1"}
        server.delay = 0.5
        assert "cannot be reached: timed out" in reason(heads.of([ORDERS])[ORDERS])
        server.delay = 0.0
        asked = len(server.asked)
        assert "timed out" in reason(heads.of([ORDERS])[ORDERS]) and len(server.asked) == asked
        now[0] += 10.0
        assert heads.of([ORDERS]) == {ORDERS: "m1"}
        heads.close()


def test_a_token_that_expired_is_asked_for_again_and_never_told() -> None:
    with serving(Server({f"{PATH}orders": "m1"}, token="first")) as server:
        heads = RestHeads.made_of(settings(uri=server.address, credential="me:secret"))
        fixed = RestHeads.made_of(settings(uri=server.address, token="first"))
        assert heads is not None and fixed is not None
        assert heads.of([ORDERS]) == fixed.of([ORDERS]) == {ORDERS: "m1"}
        server.token = "second"
        assert heads.of([ORDERS]) == {ORDERS: "m1"}
        told = reason(fixed.of([ORDERS])[ORDERS])
        assert told == "catalog 'far' refuses to say where tables are: 401 who are you?"
        server.token = "first"
        assert fixed.of([ORDERS]) == {ORDERS: "m1"}
        wrong = RestHeads.made_of(settings(uri=server.address, credential="me:other-secret"))
        assert wrong is not None and "gives no token (400)" in reason(wrong.of([ORDERS])[ORDERS])
        for each in (heads, fixed, wrong):
            each.close()
        headers = {"header.X-House": "ours", "header.X-Iceberg-Access-Delegation": "vended-credentials"}
        polite = RestHeads("far", {"uri": server.address, "token": "first", **headers})
        assert polite.of([ORDERS]) == {ORDERS: "m1"} and server.told["X-House"] == "ours"
        # Credentials for files are for who reads files.
        assert "X-Iceberg-Access-Delegation" not in server.told
        polite.close()
    assert "secret" not in repr(settings(uri="x", credential="me:secret"))


@pytest.mark.parametrize(
    "nonsense",
    [
        b"<html>please log in</html>",
        b"",
        b"[]",
        b"7",
        b'{"metadata-location": 7}',
        b'{"config": {}, "defaults": 1}',
        b"\xff",
    ],
)
def test_an_answer_that_is_nonsense_is_no_answer(nonsense: bytes) -> None:
    with serving(Server({f"{PATH}orders": "m1"})) as server:
        heads = RestHeads.made_of(settings(uri=server.address))
        assert heads is not None
        for _ in range(2):  # before it introduced itself, and after
            server.says = nonsense
            told = reason(heads.of([ORDERS, OTHER])[ORDERS])
            assert told.startswith("catalog 'far' cannot be reached: ") and "login" not in told
            server.says = None
            assert heads.of([ORDERS]) == {ORDERS: "m1"}
        heads.close()


def test_a_token_that_cannot_be_sent_or_is_repeated_by_the_server_is_not_told() -> None:
    with serving(Server({f"{PATH}orders": "m1"}, token="first")) as server:
        for token in ("se-cret\n", "s\N{EM DASH}e-cret"):
            heads = RestHeads.made_of(settings(uri=server.address, token=token))
            assert heads is not None
            told = reason(heads.of([ORDERS])[ORDERS])
            assert "cannot be sent" in told and "e-cret" not in told
        for named in ({"token": "se-cret"}, {"header.Authorization": "Bearer se-cret"}):
            heads = RestHeads("far", {"uri": server.address, **named})
            server.complaint = "token se-cret has expired"
            told = reason(heads.of([ORDERS])[ORDERS])
            assert told == "catalog 'far' refuses to say where tables are: 401 token *** has expired"


def test_a_server_says_where_and_how_it_wants_to_be_asked_from_then_on() -> None:
    """As Iceberg's own client understands it."""
    with serving(Server({f"{PATH}orders": "m1", "/api/v1/a%3Ab/namespaces/a%1Fb/tables/orders": "m2"})) as other:
        overrides = {"uri": other.address, "prefix": "a%3Ab", "header.X-House": "theirs"}
        with serving(Server(config={"defaults": {}, "overrides": overrides})) as server:
            heads = RestHeads.made_of(settings(uri=f"{server.address}/"))
            assert heads is not None and heads.of([ORDERS]) == {ORDERS: "m2"}
            assert [path for path, _ in server.asked] == ["/api/v1/config"] and other.told["X-House"] == "theirs"
            heads.close()
        token_server = settings(uri=other.address, credential="me:secret", **{"oauth2-server-uri": "v1/oauth/tokens"})
        other.token = "first"
        heads = RestHeads.made_of(token_server)
        assert heads is not None and heads.of([ORDERS]) == {ORDERS: "m1"}
        heads.close()


@pytest.mark.parametrize("beyond", [{"rest__auth__type": "sigv4"}, {"rest__client__proxy__hostname": "p"}])
def test_clients_that_need_more_than_a_token_are_left_to_iceberg(beyond: dict[str, str]) -> None:
    assert RestHeads.made_of(settings(uri="http://host", **beyond)) is None
