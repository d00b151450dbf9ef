from __future__ import annotations

from pathlib import Path

import pytest

from spark_trickle.catalog.address import parse
from spark_trickle.errors import ConfigError


def test_a_sqlite_file_is_made_absolute_because_java_may_run_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    address = parse("sqlite:///wh/trickle.db", 30)
    assert address.path == tmp_path / "wh" / "trickle.db"
    assert address.jdbc_url() == f"jdbc:sqlite:{tmp_path}/wh/trickle.db?busy_timeout=30000&journal_mode=WAL"
    assert address.jdbc_properties() == {}


def test_a_postgresql_url_gives_java_host_port_and_the_options_it_shares() -> None:
    address = parse("postgresql://ann:p%40ss@db/lake?sslmode=require&connect_timeout=3&gssencmode=disable", 30)
    assert address.jdbc_url() == "jdbc:postgresql://db:5432/lake?sslmode=require&connectTimeout=3"
    assert address.jdbc_properties() == {"user": "ann", "password": "p@ss"}
    assert address.url.drivername == "postgresql+psycopg"


def test_an_ipv6_host_keeps_its_brackets() -> None:
    assert parse("postgresql+psycopg://ann@[::1]:6000/lake", 30).jdbc_url() == "jdbc:postgresql://[::1]:6000/lake"


def test_no_rendering_shows_the_password() -> None:
    address = parse("postgresql+psycopg://ann:hush@db/lake", 30)
    assert address.shown == "postgresql+psycopg://ann:***@db:5432/lake"
    assert "hush" not in f"{address} {address!r} {address.jdbc_url()}"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("nonsense", "not a database URL"),
        ("mysql://h/d", "'mysql' is not a database it can live in"),
        ("sqlite://", "plain file"),
        ("sqlite:///:memory:", "plain file"),
        ("sqlite:///a.db?mode=ro", "options after"),
        ("postgresql+psycopg:///lake", "name the host"),
        ("postgresql+psycopg://u@/lake?host=/run", "name the host"),
        ("postgresql+psycopg://h1,h2/lake", "several hosts"),
        ("postgresql+psycopg://h", "name the database"),
        ("postgresql+psycopg://h/d?password=hush", "before the '@'"),
        ("postgresql+asyncpg://h/d", "driver"),
        ("oracle://u:hush@h/d", "'oracle' is not"),
    ],
)
def test_a_url_that_only_one_side_would_understand_is_refused_with_the_reason(url: str, why: str) -> None:
    with pytest.raises(ConfigError, match="catalog '") as caught:
        parse(url, 30)
    assert why in str(caught.value)
    assert "hush" not in str(caught.value)
