from __future__ import annotations

from pathlib import Path

import pytest

from spark_trickle.catalog.address import parse, with_password_of
from spark_trickle.errors import ConfigError


def test_a_sqlite_file_is_made_absolute_because_java_may_run_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    address = parse("sqlite:///wh/trickle.db", 30)
    assert address.path == tmp_path / "wh" / "trickle.db"
    assert address.jdbc_url() == f"jdbc:sqlite:{tmp_path}/wh/trickle.db?busy_timeout=30000&journal_mode=WAL"
    assert address.jdbc_properties() == {}


def test_a_postgresql_url_gives_java_host_port_and_the_options_it_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "another")
    address = parse("postgresql://ann:p%40ss@db/lake?sslmode=require&connect_timeout=3&gssencmode=disable", 30)
    assert address.jdbc_url() == "jdbc:postgresql://db:5432/lake?sslmode=require&connectTimeout=3"
    assert address.jdbc_properties() == {"user": "ann", "password": "p@ss"}, "what is written there comes first"
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


def _passfile(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "pass file"
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.fixture
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PGPASSWORD", "PGPASSFILE", "PGUSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("_nothing_set")
def test_java_gets_the_password_that_libpq_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql+psycopg://ann@db:5433/lake"
    assert "password" not in parse(url, 30).jdbc_properties()
    home = tmp_path / ".pgpass"
    home.write_text("db:5433:lake:ann:at home\n")
    home.chmod(0o600)
    assert parse(url, 30).jdbc_properties() == {"user": "ann", "password": "at home"}
    lines = (
        "# db:5433:lake:ann:comment\nother:*:*:*:no\ndb:5432:*:ann:port\n*:*:lake:ann:pa\\:ss\\\\w\ndb:*:*:*:later\n"
    )
    monkeypatch.setenv("PGPASSFILE", str(_passfile(tmp_path, lines)))
    assert parse(url, 30).jdbc_properties()["password"] == "pa:ss\\w"
    assert parse("postgresql://db/lake", 30).jdbc_properties()["password"] == "later"
    monkeypatch.setenv("PGUSER", "ann")
    assert parse("postgresql://db:5433/lake", 30).jdbc_properties() == {"user": "ann", "password": "pa:ss\\w"}
    monkeypatch.setenv("PGPASSWORD", "hush")
    address = parse(url, 30)
    assert address.jdbc_properties()["password"] == "hush"
    assert "hush" not in f"{address} {address!r} {address.jdbc_url()} {address.shown}"


@pytest.mark.usefixtures("_nothing_set")
def test_a_password_file_may_be_named_in_the_url_and_one_that_others_may_read_is_none(tmp_path: Path) -> None:
    file = _passfile(tmp_path, "*:*:*:*:fine")
    url = f"postgresql://ann@db/lake?passfile={file}"
    assert parse(url, 30).jdbc_properties()["password"] == "fine"
    file.chmod(0o644)
    assert "password" not in parse(url, 30).jdbc_properties(), "libpq does not read it either"
    assert "password" not in parse(url.replace("pass file", "no such file"), 30).jdbc_properties()


def test_a_file_may_hold_the_password_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("p@ss/w: rd\n")
    bare = "postgresql+psycopg://ann@db/lake?sslmode=require"
    address = parse(with_password_of(bare, str(file)), 30)
    assert address.jdbc_properties() == {"user": "ann", "password": "p@ss/w: rd"}
    assert "p@ss" not in address.shown and "rd" not in address.shown
    assert with_password_of("postgresql://ann:own@db/lake", str(file)) == "postgresql://ann:own@db/lake"
    assert with_password_of("sqlite:///a.db", str(file)) == "sqlite:///a.db"
    with pytest.raises(ConfigError, match=r"password file .* cannot be read: No such file"):
        with_password_of(bare, str(tmp_path / "missing"))
