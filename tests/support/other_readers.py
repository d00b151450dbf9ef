"""Readers that are not ours: DuckDB with its Iceberg extension, and PyIceberg writing into a catalog of ours."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog


def duckdb_with_iceberg() -> duckdb.DuckDBPyConnection:
    """The extensions come as Python packages, so nothing is downloaded when tests run."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    for name in ("avro", "httpfs", "iceberg"):
        package = importlib.util.find_spec(f"duckdb_extension_{name}")
        assert package is not None and package.origin is not None, f"duckdb-extension-{name} is not installed"
        file = Path(package.origin).parent / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
        connection.execute(f"LOAD '{file}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def writer(catalog_url: str, warehouse: str, **properties: str) -> SqlCatalog:
    """PyIceberg on the catalog of a lake that exists."""
    return SqlCatalog("lake", uri=catalog_url, warehouse=warehouse, init_catalog_tables="false", **properties)


def write_table(catalog: SqlCatalog, name: tuple[str, ...], /, **columns: list[Any]) -> None:
    """Add rows to a table, which is made if it is new."""
    rows = pa.table(columns)
    catalog.create_namespace_if_not_exists(name[:-1])
    catalog.create_table_if_not_exists(name, schema=rows.schema).append(rows)
