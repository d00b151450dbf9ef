"""Iceberg's Java API, reached through the driver's gateway: loading a table, naming a version, asking about snapshots.

What is read of many Java objects is read of all of them in one call (`Bulk`): a call costs some 50 µs, and a table may
have thousands of files. What changed between versions is in `changes`; views are in `views`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaClass
from pyspark.errors import AnalysisException

from spark_trickle.errors import InternalError, NotFoundError
from spark_trickle.model.frontier import Pin
from spark_trickle.names import TableName
from spark_trickle.storage.windows import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

Java: TypeAlias = Any
"""An object that lives in the driver's JVM."""

JavaTable: TypeAlias = Java
"""An `org.apache.iceberg.Table`."""

PINNED: WeakKeyDictionary[SparkSession, Callable[[TableName, Pin | None], JavaTable]] = WeakKeyDictionary()
"""Who has the tables of other catalogs that a session sees, where it sees them at pinned versions only."""

GONE = "trickle.gone"
"""Begins a property of a table that is not Iceberg's, which says why a version cannot be read."""

_GUAVA = "org.apache.iceberg.relocated.com.google.common"
DATASET = "org.apache.spark.sql.classic.Dataset"
_LOADER = "org.apache.iceberg.spark.Spark3Util"
_SEPARATOR = "\x00"  # the one character that no path can have


def jvm(spark: SparkSession) -> Java:
    """The gateway's view of the JVM."""
    return spark._jvm


def static(spark: SparkSession, name: str) -> Java:
    """A class by its full name, for its static methods and constructors. Walking there by packages asks the JVM about
    each of them, every time."""
    gateway: Any = spark.sparkContext._gateway
    return JavaClass(name, gateway._gateway_client)


def java_class(spark: SparkSession, name: str) -> Java:
    """A class object. Jars that Spark was told to add are known to the context class loader only."""
    return static(spark, "java.lang.Thread").currentThread().getContextClassLoader().loadClass(name)


def no_arguments(spark: SparkSession, of: str) -> Java:
    """An empty array of a class of `java.lang`, as reflection wants it."""
    gateway: Any = spark.sparkContext._gateway
    return gateway.new_array(static(spark, f"java.lang.{of}"), 0)


def array(spark: SparkSession, of: str, items: Sequence[Java]) -> Java:
    """A Java array of a class of `java.lang`."""
    gateway: Any = spark.sparkContext._gateway
    made = gateway.new_array(static(spark, f"java.lang.{of}"), len(items))
    for index, item in enumerate(items):
        made[index] = item
    return made


def identifier(spark: SparkSession, levels: Sequence[str], name: str) -> Java:
    """A name as Iceberg's catalogs want it."""
    namespace = static(spark, "org.apache.iceberg.catalog.Namespace").of(array(spark, "String", levels))
    return static(spark, "org.apache.iceberg.catalog.TableIdentifier").of(namespace, name)


def load(spark: SparkSession, name: TableName, since: Pin | None = None) -> JavaTable:
    """The table as it is now in this session's catalog.

    Args:
        since: an older version that is going to be read, too.
    """
    pinned = PINNED.get(spark) if name.is_elsewhere else None
    if pinned is not None:
        return pinned(name, since)
    try:
        return static(spark, _LOADER).loadIcebergTable(spark._jsparkSession, name.sql)
    except AnalysisException as err:
        if err.getCondition() in ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND"):
            raise NotFoundError("table", name) from err
        raise


def pin(table: JavaTable, name: TableName) -> Pin:
    """The version that `table` was loaded at."""
    metadata = table.operations().current()
    current = metadata.currentSnapshot()
    return Pin(
        name,
        str(metadata.uuid()),
        None if current is None else int(current.snapshotId()),
        int(metadata.currentSchemaId()),
        str(metadata.metadataFileLocation()),
    )


def counts(snapshot: Java, *keys: str) -> list[int | None]:
    """Numbers that the writer of a snapshot gave in its summary; None where it did not.

    Asked for one by one: walking a Java map ends in a Java exception, which costs more than all the rest.
    """
    summary = snapshot.summary()
    found = [summary.get(key) for key in keys]
    return [None if value is None else int(value) for value in found]


def total_records(table: JavaTable, snapshot_id: int) -> int | None:
    """Rows of a snapshot, or more where equality deletes apply to it; None when its writer did not say."""
    snapshot = table.snapshot(snapshot_id)
    if snapshot is None:
        return None
    total, deleted = counts(snapshot, "total-records", "total-position-deletes")
    return None if total is None else total - (deleted or 0)


def rows_in(spark: SparkSession, name: TableName) -> int:
    """How many rows a table has now; 0 where nobody can tell."""
    java = load(spark, name)
    current = java.currentSnapshot()
    return 0 if current is None else total_records(java, int(current.snapshotId())) or 0


class History(Mapping[int, Snapshot]):
    """Snapshots that a table still has, by their ids. A table may have thousands, and who asks wants the last few:
    those are asked for one by one, and all at once by whoever goes further back."""

    ONE_BY_ONE = 32

    def __init__(self, spark: SparkSession, table: JavaTable) -> None:
        self._spark = spark
        self._table = table
        self._known: dict[int, Snapshot] = {}
        self._complete = False

    def __getitem__(self, snapshot_id: int) -> Snapshot:
        if snapshot_id not in self._known and not self._complete:
            if len(self._known) < self.ONE_BY_ONE:
                found = self._table.snapshot(snapshot_id)
                if found is None:
                    raise KeyError(snapshot_id)
                values = (found.parentId(), found.operation(), found.schemaId())
                self._known[snapshot_id] = _snapshot(snapshot_id, *values)
            else:
                self._read_all()
        return self._known[snapshot_id]

    def __iter__(self) -> Iterator[int]:
        self._read_all()
        return iter(self._known)

    def __len__(self) -> int:
        self._read_all()
        return len(self._known)

    def ancestors(self, snapshot_id: int) -> Iterator[Snapshot]:
        """A snapshot and those it was made from, newest first, as far as they are kept."""
        at: int | None = snapshot_id
        while at is not None and at in self:
            yield self[at]
            at = self[at].parent

    def _read_all(self) -> None:
        if not self._complete:
            bulk = Bulk(self._spark)
            kept = bulk.to_list(self._table.snapshots())
            names = ("snapshotId", "parentId", "operation", "schemaId")
            columns = (bulk.read(kept, f"Snapshot.{name}") for name in names)
            self._known = {int(row[0]): _snapshot(*row) for row in zip(*columns, strict=True)}
            self._complete = True


def _snapshot(snapshot_id: Any, parent: Any, operation: Any, schema: Any) -> Snapshot:
    """Of Java's values, or their texts: what is not there is null or empty."""
    return Snapshot(
        int(snapshot_id),
        None if parent in (None, "") else int(parent),
        "" if operation is None else str(operation),
        None if schema in (None, "") else int(schema),
    )


_FUNCTIONS: WeakKeyDictionary[object, dict[str, Java]] = WeakKeyDictionary()
"""Getters as Java functions, for each gateway: making one takes ten calls."""


class Bulk:
    """Reads properties of many Java objects at once, by getters composed into Java functions."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._functions = _FUNCTIONS.setdefault(spark.sparkContext._gateway, {})
        self._lists = static(spark, f"{_GUAVA}.collect.Lists")
        self._joiner = static(spark, f"{_GUAVA}.base.Joiner").on(_SEPARATOR).useForNull("")

    def to_list(self, items: Java) -> Java:
        """A Java list of what an iterable holds."""
        return self._lists.newArrayList(items)

    def pick(self, items: Java, indices: Iterable[int]) -> Java:
        """A Java list of some of the items."""
        picked = static(self._spark, "java.util.ArrayList")()
        for index in indices:
            picked.add(items.get(index))
        return picked

    def map(self, items: Java, *getters: str) -> Java:
        """The items with each getter applied in turn, written `Interface.method` for those of `org.apache.iceberg`."""
        for getter in getters:
            items = self._lists.transform(items, self._function(getter))
        return items

    def flatten(self, lists: Java) -> Java:
        """The items of a list of lists, as one list."""
        return self.to_list(static(self._spark, f"{_GUAVA}.collect.Iterables").concat(lists))

    def read(self, items: Java, *getters: str) -> list[str]:
        """A property of each item as text; null is the empty string."""
        count = int(items.size())
        if count == 0:
            return []
        values = str(self._joiner.join(self.map(items, *getters))).split(_SEPARATOR)
        if len(values) != count:
            raise InternalError(f"read {len(values)} values of {count} objects", facts={"getters": getters})
        return values

    def _function(self, getter: str) -> Java:
        if getter not in self._functions:
            interface, _, method = getter.partition(".")
            found = java_class(self._spark, f"org.apache.iceberg.{interface}").getMethod(
                method, no_arguments(self._spark, "Class")
            )
            handle = static(self._spark, "java.lang.invoke.MethodHandles").publicLookup().unreflect(found)
            function = java_class(self._spark, f"{_GUAVA}.base.Function")
            proxies = static(self._spark, "java.lang.invoke.MethodHandleProxies")
            self._functions[getter] = proxies.asInterfaceInstance(function, handle)
        return self._functions[getter]
