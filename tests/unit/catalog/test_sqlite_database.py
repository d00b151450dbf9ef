from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from spark_trickle.catalog import pointers, schema
from spark_trickle.catalog.database import Database
from spark_trickle.errors import ConfigError, UnavailableError
from spark_trickle.names import TableName

ORDERS = TableName("default", "orders")


def test_the_file_is_in_write_ahead_mode_and_its_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "trickle.db"
    Database.open(f"sqlite:///{path}").close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_icebergs_tables_are_exactly_as_iceberg_would_make_them(tmp_path: Path) -> None:
    path = tmp_path / "trickle.db"
    Database.open(f"sqlite:///{path}").close()
    with closing(sqlite3.connect(path)) as connection:
        columns = {
            table: connection.execute(
                f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{table}')"
            ).fetchall()
            for table in ("iceberg_tables", "iceberg_namespace_properties")
        }
    assert columns["iceberg_tables"] == [
        ("catalog_name", "VARCHAR(255)", 1, 1),
        ("table_namespace", "VARCHAR(255)", 1, 2),
        ("table_name", "VARCHAR(255)", 1, 3),
        ("metadata_location", "VARCHAR(1000)", 0, 0),
        ("previous_metadata_location", "VARCHAR(1000)", 0, 0),
        ("iceberg_type", "VARCHAR(5)", 0, 0),
    ]
    assert columns["iceberg_namespace_properties"] == [
        ("catalog_name", "VARCHAR(255)", 1, 1),
        ("namespace", "VARCHAR(255)", 1, 2),
        ("property_key", "VARCHAR(255)", 0, 3),
        ("property_value", "VARCHAR(1000)", 0, 0),
    ]


def test_a_writer_waits_for_a_foreign_transaction_and_then_goes_on(tmp_path: Path) -> None:
    """As Spark's commit through JDBC would hold the file for a moment."""
    path = tmp_path / "trickle.db"
    database = Database.open(f"sqlite:///{path}")
    foreign = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    foreign.execute("BEGIN IMMEDIATE")

    def finish() -> None:
        time.sleep(0.3)
        foreign.execute("INSERT INTO iceberg_tables VALUES ('lake', 'default', 'orders', 'm1', NULL, 'TABLE')")
        foreign.execute("COMMIT")

    thread = threading.Thread(target=finish)
    thread.start()
    with database.write() as connection:
        pointers.swap(connection, ORDERS, "m1", "m2")
    thread.join()
    foreign.close()
    database.close()


def test_a_foreign_transaction_that_does_not_end_makes_it_busy(tmp_path: Path) -> None:
    path = tmp_path / "trickle.db"
    database = Database.open(f"sqlite:///{path}", busy_timeout_seconds=0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as foreign:
        foreign.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError, match="busy"), database.write():
            pytest.fail("two writers at once")
        with database.read() as connection:
            assert pointers.read(connection) == {}
    database.close()


def test_a_file_that_is_no_database_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "trickle.db").write_text("this is not a database, though it is long enough to look like one" * 20)
    with pytest.raises(ConfigError, match="not a database"):
        Database.open(f"sqlite:///{tmp_path}/trickle.db")


def test_a_folder_that_cannot_be_made_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot make the folder"):
        Database.open(f"sqlite:///{tmp_path}/file/trickle.db")


def test_the_constant_head_is_the_newest_migration_and_numbers_have_no_gaps() -> None:
    numbers = sorted(path.name[:4] for path in schema.MIGRATIONS.glob("[0-9]*.py"))
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]
    assert numbers[-1] == schema.HEAD


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match=r"ann:\*\*\*@127.0.0.1:1/lake' cannot be reached") as caught:
        Database.open("postgresql+psycopg://ann:hush@127.0.0.1:1/lake")
    assert "hush" not in str(caught.value)
