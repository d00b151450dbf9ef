"""Views of the lake: their text, and which version of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_trickle.errors import UserError
from spark_trickle.model.frontier import Pin
from spark_trickle.names import DEFAULT_NAMESPACE, LAKE, TableName
from spark_trickle.storage.iceberg import identifier

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class ViewText:
    """What a view says, and the namespace its unqualified names are looked up in."""

    text: str
    default_namespace: str
    columns: tuple[str, ...]
    """What its columns are called, as it was made."""


def load_view(spark: SparkSession, name: TableName) -> ViewText:
    """The Spark text of a view."""
    view = _load(spark, name)
    representation = view.sqlFor("spark")
    if representation is None:
        raise UserError(f"view '{name}' has no text for Spark", hint="Create it again from Spark")
    namespace = view.currentVersion().defaultNamespace()
    levels = list(namespace.levels()) if namespace is not None else []
    fields = view.schema().columns()
    columns = tuple(str(fields[place].name()) for place in range(fields.size()))
    return ViewText(str(representation.sql()), ".".join(levels) or DEFAULT_NAMESPACE, columns)


def view_pin(spark: SparkSession, name: TableName, location: str) -> Pin:
    """The version of a view: another version id is another definition."""
    view = _load(spark, name)
    return Pin(name, str(view.uuid()), None, int(view.currentVersion().versionId()), location)


def _load(spark: SparkSession, name: TableName) -> Any:
    jvm: Any = spark._jvm
    catalog = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergCatalog(spark._jsparkSession, LAKE)
    return catalog.loadView(identifier(spark, name.levels, name.name))
