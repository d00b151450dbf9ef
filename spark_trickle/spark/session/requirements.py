"""What a SparkSession that a user gives has to have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spark_trickle.errors import ConfigError
from spark_trickle.spark.session.stores import PACKAGES, Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def require_jvm(given: SparkSession) -> None:
    """A session of Spark Connect is a client only: Iceberg's Java API is out of its reach."""
    if not hasattr(given, "_jsparkSession"):
        raise ConfigError(
            f"the given session ({type(given).__module__}) has no JVM in this process: Spark Connect is not supported",
            hint="Give a session made with SparkSession.builder.master(...), or name a spark_master",
        )


def require_jars(spark: SparkSession, packages: Sequence[str], store: Store | None) -> None:
    """A user's own session may lack the jars: say so before the first query fails obscurely."""
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    needed = [("org.apache.iceberg.spark.SparkCatalog", PACKAGES[0]), ("org.sqlite.JDBC", PACKAGES[1])]
    if store is not None:
        needed.append((store.client, store.package))
    for name, package in needed:
        if loader.getResource(f"{name.replace('.', '/')}.class") is None:
            raise ConfigError(
                f"the given SparkSession does not have {package} on its class path",
                hint=f"Start it with spark.jars.packages={','.join(packages)}",
            )
