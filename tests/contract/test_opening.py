"""Opening a catalog from several real processes, and racing between them, on each database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from spark_trickle.catalog import schema
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.database import Database
from spark_trickle.catalog.tables import OURS
from spark_trickle.errors import ConfigError
from spark_trickle.model.publication import Swap
from spark_trickle.names import TableName

ROOT = Path(__file__).parents[2]
ORDERS = TableName("default", "orders")

OPEN = """
import sys
from spark_trickle.catalog.database import Database
Database.open(sys.argv[1]).close()
print("alembic" in sys.modules)
"""

RACE = """
import sys
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.errors import ConflictError
from spark_trickle.model.publication import Swap
from spark_trickle.names import TableName

catalog = Catalog.open(sys.argv[1])
table, won = TableName("default", "orders"), 0
while won < 20:
    found = catalog.pointers()[table].location
    try:
        catalog.swap([Swap(table, found, str(int(found) + 1))])
        won += 1
    except ConflictError:
        pass
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def outcome(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out.strip(), err


def test_several_processes_that_open_a_new_catalog_at_once_all_succeed(url: str) -> None:
    for code, _, err in [outcome(process) for process in [start(OPEN, url) for _ in range(4)]]:
        assert code == 0, err
    with Database.open(url).read() as connection:
        assert schema.revision(connection) == schema.HEAD


def test_opening_a_catalog_that_is_up_to_date_does_not_import_alembic(url: str) -> None:
    assert outcome(start(OPEN, url))[1] == "True"
    assert outcome(start(OPEN, url))[1] == "False"


def test_processes_that_count_by_swapping_lose_no_step(url: str) -> None:
    catalog = Catalog.open(url)
    catalog.swap([Swap(ORDERS, None, "0")])
    for code, _, err in [outcome(process) for process in [start(RACE, url) for _ in range(3)]]:
        assert code == 0, err
    assert catalog.pointers()[ORDERS].location == "60"
    catalog.close()


def test_the_migrations_make_the_tables_that_the_code_expects(url: str) -> None:
    names = set(OURS.tables)
    options = {"include_name": lambda name, kind, _: kind != "table" or name in names}
    with Database.open(url).read() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts=options), OURS) == []


def test_a_catalog_of_a_newer_version_is_refused(url: str) -> None:
    database = Database.open(url)
    with database.write() as connection:
        connection.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'"))
    database.close()
    with pytest.raises(ConfigError, match="schema 9999"):
        Database.open(url)


def test_a_catalog_that_iceberg_made_before_us_is_taken_over(url: str) -> None:
    """Iceberg's older schema, without a type, holding a table already."""
    if url.startswith("sqlite"):
        Path(url.removeprefix("sqlite:///")).parent.mkdir()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(
            text(
                "CREATE TABLE iceberg_tables(catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,"
                "table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000),"
                "previous_metadata_location VARCHAR(1000), PRIMARY KEY (catalog_name, table_namespace, table_name))"
            )
        )
        connection.execute(text("INSERT INTO iceberg_tables VALUES ('lake', 'default', 'orders', 'm1', NULL)"))
    engine.dispose()
    catalog = Catalog.open(url)
    assert catalog.pointers()[ORDERS].location == "m1"
    assert catalog.namespaces() == ("default", "trickle_internal")
    catalog.close()
