"""Iceberg's pointers: which metadata file each table is at. Reading them is the cut; swapping them is publishing.

All functions work in the caller's transaction. Only rows of the catalog `lake` are seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Insert, Table, and_, delete, or_, select, tuple_, union, update
from sqlalchemy.dialects import postgresql, sqlite

from spark_trickle.catalog.tables import ICEBERG_NAMESPACES, ICEBERG_TABLES
from spark_trickle.errors import ConflictError
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.publication import Swap
from spark_trickle.names import LAKE, TableName

TABLE, VIEW = "TABLE", "VIEW"

_MOST_NAMES = 500
"""Past this many, reading all rows is quicker than naming them. Either way it is one statement, so one moment."""

_T = ICEBERG_TABLES.c
_N = ICEBERG_NAMESPACES.c


@dataclass(frozen=True, slots=True)
class IcebergRows:
    """Iceberg's two tables as they are, columns in their order: for copying into a private catalog."""

    tables: tuple[tuple[str | None, ...], ...]
    namespaces: tuple[tuple[str | None, ...], ...]


def read(connection: Connection, names: Iterable[TableName] | None = None) -> dict[TableName, Pointer]:
    """The pointers of these tables and views, or of all. A name that does not exist is not in the answer."""
    wanted = None if names is None else set(names)
    query = select(_T.table_namespace, _T.table_name, _T.metadata_location, _T.iceberg_type).where(
        _T.catalog_name == LAKE, _T.metadata_location.is_not(None)
    )
    if wanted is not None and len(wanted) <= _MOST_NAMES:
        pairs = sorted((name.namespace, name.name) for name in wanted)
        query = query.where(tuple_(_T.table_namespace, _T.table_name).in_(pairs))
    found = (
        Pointer(TableName(namespace, name), location, kind or TABLE)
        for namespace, name, location, kind in connection.execute(query)
    )
    return {pointer.table: pointer for pointer in found if wanted is None or pointer.table in wanted}


def swap(connection: Connection, table: TableName, expected: str | None, new: str | None, kind: str = TABLE) -> None:
    """Move one pointer if it still is where it is expected; else ConflictError, and the transaction must roll back.

    `expected=None`: it must not exist and is inserted. `new=None`: it is deleted.
    """
    if expected is None and new is None:
        raise ValueError(f"a swap of '{table}' from nothing to nothing")
    if expected is None:
        # The count of an insert is not told by every driver; the rows it returns are.
        inserting = _inserting(connection, table, new, kind).returning(_T.table_name)
        moved = len(connection.execute(inserting).all())
    elif new is None:
        moved = connection.execute(delete(ICEBERG_TABLES).where(_is(table), _at(expected, kind))).rowcount
    else:
        move = update(ICEBERG_TABLES).where(_is(table), _at(expected, kind))
        moved = connection.execute(move.values(metadata_location=new, previous_metadata_location=expected)).rowcount
    if moved != 1:
        found = connection.execute(select(_T.metadata_location).where(_is(table))).scalar()
        raise ConflictError(table, expected, found)


def swap_all(connection: Connection, swaps: Iterable[Swap]) -> None:
    """Move several pointers. In the order of names, so that two transactions cannot wait for each other in a circle."""
    for one in sorted(swaps, key=lambda each: each.table):
        swap(connection, one.table, one.expected, one.new, one.kind)


def namespaces(connection: Connection) -> tuple[str, ...]:
    """All namespaces, those with only tables included; levels of nested ones joined with dots."""
    both = union(
        select(_N.namespace).where(_N.catalog_name == LAKE), select(_T.table_namespace).where(_T.catalog_name == LAKE)
    )
    return tuple(sorted(row[0] for row in connection.execute(both)))


def namespace_properties(connection: Connection, namespace: str) -> dict[str, str]:
    """What Iceberg notes of a namespace, without the mark that it exists."""
    query = select(_N.property_key, _N.property_value).where(_N.catalog_name == LAKE, _N.namespace == namespace)
    return {key: value or "" for key, value in connection.execute(query) if key is not None and key != "exists"}


def add_namespace(connection: Connection, namespace: str) -> None:
    """Create a namespace as Iceberg does; nothing happens when it exists."""
    values = {"catalog_name": LAKE, "namespace": namespace, "property_key": "exists", "property_value": "true"}
    connection.execute(_insert_if_absent(connection, ICEBERG_NAMESPACES).values(values))


def all_rows(connection: Connection) -> IcebergRows:
    """Everything Iceberg keeps for the catalog `lake`."""
    tables = connection.execute(select(ICEBERG_TABLES).where(_T.catalog_name == LAKE))
    found = connection.execute(select(ICEBERG_NAMESPACES).where(_N.catalog_name == LAKE))
    return IcebergRows(tuple(tuple(row) for row in tables), tuple(tuple(row) for row in found))


def _is(table: TableName) -> ColumnElement[bool]:
    return and_(_T.catalog_name == LAKE, _T.table_namespace == table.namespace, _T.table_name == table.name)


def _at(location: str, kind: str) -> ColumnElement[bool]:
    # Rows of Iceberg's older schema have no type; they are tables.
    typed = or_(_T.iceberg_type == TABLE, _T.iceberg_type.is_(None)) if kind == TABLE else _T.iceberg_type == kind
    return and_(_T.metadata_location == location, typed)


def _inserting(connection: Connection, table: TableName, location: str | None, kind: str) -> Insert:
    return _insert_if_absent(connection, ICEBERG_TABLES).values(
        catalog_name=LAKE,
        table_namespace=table.namespace,
        table_name=table.name,
        metadata_location=location,
        previous_metadata_location=None,
        iceberg_type=kind,
    )


def _insert_if_absent(connection: Connection, table: Table) -> Insert:
    """An insert that counts no row where one exists. An error instead would end the transaction on PostgreSQL."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    return postgresql.insert(table).on_conflict_do_nothing()
