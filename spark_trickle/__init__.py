"""Stream tables for Apache Iceberg on Spark: a SQL query and a freshness, kept incrementally and consistently.

import spark_trickle as trickle

engine = trickle.connect("warehouse")
engine.sql("CREATE TABLE orders (region STRING, amount DECIMAL(12,2))")
engine.create_stream_table("totals", "SELECT region, SUM(amount) AS total FROM orders GROUP BY region")
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from spark_trickle.errors import (
    AlreadyExistsError,
    ConfigError,
    ConflictError,
    CycleError,
    NotFoundError,
    SchemaChangedError,
    SqlError,
    StreamTableError,
    TransientError,
    UnsupportedSqlError,
    UserError,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_trickle.engine import Engine
    from spark_trickle.events import Observer

__version__ = "0.1.0"


def connect(
    warehouse: str | None = None,
    *,
    catalog: str | None = None,
    spark: SparkSession | None = None,
    observers: Iterable[Observer] = (),
    **settings: Any,
) -> Engine:
    """Open a lake: a folder (with a SQLite catalog inside), or a database and a warehouse of your own.

    Settings come from `trickle.toml`, then `TRICKLE_*` variables, then these arguments. Spark starts on first use.
    """
    from spark_trickle.config import load
    from spark_trickle.engine import Engine
    from spark_trickle.notebook import Progress, in_notebook

    if in_notebook():
        observers = (*observers, Progress())
    return Engine(load(warehouse=warehouse, catalog=catalog, **settings), spark=spark, observers=observers)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext spark_trickle`: brings `%%trickle`, for SQL in cells of a notebook."""
    from spark_trickle.notebook import load

    load(shell)


__all__ = [
    "AlreadyExistsError",
    "ConfigError",
    "ConflictError",
    "CycleError",
    "NotFoundError",
    "SchemaChangedError",
    "SqlError",
    "StreamTableError",
    "TransientError",
    "UnsupportedSqlError",
    "UserError",
    "__version__",
    "connect",
]
