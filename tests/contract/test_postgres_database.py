"""What only PostgreSQL can do to a transaction: break the connection, or roll back while saying that it committed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import DBAPIError

from spark_trickle.catalog import pointers
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.database import Database
from spark_trickle.errors import CommitUnknownError, ConfigError, InternalError, UnavailableError
from spark_trickle.model.publication import Swap
from spark_trickle.model.watermark import LAST_MOMENT, Advance
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON
from tests.support.postgres import Cluster

ORDERS = TableName("default", "orders")


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    opened = Database.open(postgres_url)
    yield opened
    opened.close()


def locations(database: Database) -> list[str]:
    with database.read() as connection:
        return [pointer.location for pointer in pointers.read(connection).values()]


def end_session_of(connection: Connection, cluster: Cluster) -> None:
    process = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    cluster.execute(f"SELECT pg_terminate_backend({process}, 5000)")


def test_a_connection_that_breaks_at_commit_leaves_the_outcome_unknown(
    database: Database, postgres_cluster: Cluster
) -> None:
    with pytest.raises(CommitUnknownError, match="broke during COMMIT"), database.write() as connection:
        pointers.swap(connection, ORDERS, None, "m1")
        end_session_of(connection, postgres_cluster)
    assert locations(database) == []


def test_moments_at_the_end_of_time_are_read_on_a_server_of_another_time_zone(
    postgres_url: str, postgres_cluster: Cluster
) -> None:
    """There it is the year 10000 already, which Python does not know: nobody could read the catalog any more."""
    name = make_url(postgres_url).database
    postgres_cluster.execute(f"ALTER DATABASE {name} SET timezone TO 'Pacific/Kiritimati'")
    catalog = Catalog.open(postgres_url)
    catalog.swap([Swap(ORDERS, None, "00000-x.metadata.json")])
    catalog.change_watermarks([Advance(source=ORDERS, watermark=LAST_MOMENT, at=NOON, by="etl")])
    assert catalog.cut().watermarks.latest[ORDERS].watermark == LAST_MOMENT
    catalog.close()


def test_a_connection_that_breaks_before_commit_is_an_ordinary_failure(
    database: Database, postgres_cluster: Cluster
) -> None:
    with pytest.raises(UnavailableError), database.write() as connection:
        end_session_of(connection, postgres_cluster)
        pointers.swap(connection, ORDERS, None, "m1")
    assert locations(database) == []


def test_pooled_connections_that_the_server_ended_are_replaced_unnoticed(
    database: Database, postgres_cluster: Cluster
) -> None:
    assert locations(database) == []
    postgres_cluster.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname LIKE 'test_%'")
    assert locations(database) == []


def test_a_statement_error_that_was_swallowed_does_not_look_like_a_commit(database: Database) -> None:
    with pytest.raises(InternalError, match="not let through"), database.write() as connection:
        pointers.swap(connection, ORDERS, None, "m1")
        with suppress(DBAPIError):
            connection.execute(text("SELECT 1/0"))
    assert locations(database) == []


def test_a_database_that_does_not_exist_is_a_wrong_setting(postgres_cluster: Cluster) -> None:
    with pytest.raises(ConfigError, match=r"no_such_database.*Check the setting 'catalog'") as caught:
        Database.open(postgres_cluster.url("no_such_database"))
    assert "secret" not in str(caught.value)


def test_java_is_told_the_same_server_with_user_and_password_apart(database: Database) -> None:
    assert database.jdbc_url().startswith("jdbc:postgresql://127.0.0.1:")
    assert "secret" not in database.jdbc_url()
    assert database.jdbc_properties() == {"user": "trickle", "password": "secret"}
    assert "secret" not in f"{database.shown_url}{database!r}"
