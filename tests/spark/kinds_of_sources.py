"""Kinds of tables that stream tables read, each on the real thing: how others write them and take them away."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from sqlalchemy import create_engine, make_url, text

from spark_trickle.engine import Engine
from tests.spark.elsewhere import KINDS as ICEBERG_KINDS
from tests.spark.elsewhere import NAME, far_catalog
from tests.spark.engines import opened

JDBC_CATALOG = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
VERSIONED = ("own", *ICEBERG_KINDS, "delta")
KINDS = (*VERSIONED, "parquet", "database")
Row = tuple[int, str | None, int]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A table with the columns id, k, v that somebody else writes."""

    name: str
    engine: Engine
    table: str
    """What queries call it."""
    do: Callable[[str], object]
    """Carries out SQL of whoever writes there, over `table`."""
    make: Callable[[], object]
    """Makes it, empty, with its three columns."""
    unmake: Callable[[], object]
    take_away: Callable[[], object] | None = None
    bring_back: Callable[[], object] | None = None
    """None: it cannot be away."""

    @property
    def versioned(self) -> bool:
        return self.name in VERSIONED

    @property
    def mode(self) -> str:
        return "DIFFERENTIAL" if self.versioned else "FULL"

    def insert(self, *rows: Row) -> None:
        shown = ", ".join(f"({i}, {'NULL' if k is None else repr(k)}, {v})" for i, k, v in rows)
        self.do(f"INSERT INTO {self.table} (id, k, v) VALUES {shown}")

    def add_column(self) -> None:
        self.do(f"ALTER TABLE {self.table} ADD COLUMN w INT")


@dataclass
class Folder:
    """A folder of Parquet files that somebody writes anew with each change, as they do who have no table format."""

    spark: SparkSession
    path: Path
    files: int = field(default=0)

    def make(self) -> None:
        self._write("SELECT CAST(1 AS BIGINT) AS id, 'x' AS k, 1 AS v WHERE false")

    def do(self, statement: str) -> None:
        """INSERT adds a file; all else writes the folder anew, as a temporary table that is changed says."""
        self.spark.read.parquet(str(self.path)).createOrReplaceTempView("was")
        words = statement.split()
        if words[0] == "INSERT":
            rows = statement[statement.index("VALUES") :]
            self._write(f"SELECT CAST(id AS BIGINT) AS id, CAST(k AS STRING) AS k, v FROM ({rows}) AS n(id, k, v)")
        elif words[0] == "DELETE":
            where = statement.partition(" WHERE ")[2]
            self._write(f"SELECT * FROM was WHERE NOT ({where})" if where else "SELECT * FROM was LIMIT 0", anew=True)
        elif words[0] == "UPDATE":
            change, _, where = statement.partition(" SET v = ")[2].partition(" WHERE ")
            self._write(f"SELECT id, k, IF({where}, {change}, v) AS v FROM was", anew=True)
        else:
            self._write("SELECT *, CAST(NULL AS INT) AS w FROM was", anew=True)

    def unmake(self) -> None:
        shutil.rmtree(self.path)

    def _write(self, query: str, *, anew: bool = False) -> None:
        rows = self.spark.sql(query).toArrow()
        if anew:
            self.unmake()
        self.path.mkdir(exist_ok=True)
        self.files += 1
        pq.write_table(rows, self.path / f"part-{self.files:05}.parquet")


@contextmanager
def kind_of_source(
    name: str, spark: SparkSession, folder: Path, fixture: Callable[[str], Any], **options: Any
) -> Iterator[Kind]:
    """Args:
    fixture: gives what only one kind needs, by its name.
    options: settings of the engine, where the kind does not bring its own.
    """
    if name in ICEBERG_KINDS:
        with far_catalog(name, spark, folder) as far:
            yield Kind(
                name=name,
                engine=far.engine,
                table=f"{NAME}.db.orders",
                do=far.sql,
                make=lambda: far.make("db.orders"),
                unmake=lambda: far.sql(f"DROP TABLE {NAME}.db.orders PURGE"),
                take_away=far.take_away,
                bring_back=far.bring_back,
            )
        return
    path = folder / "orders"

    def hide() -> None:
        path.rename(folder / "hidden")

    def show() -> None:
        (folder / "hidden").rename(path)

    if name == "database":
        with _database(spark, folder, fixture("postgres_url"), **options) as kind:
            yield kind
        return
    with opened(spark, folder / "lake", **options) as engine:
        if name == "own":
            yield Kind(
                name=name,
                engine=engine,
                table="orders",
                do=engine.sql,
                make=lambda: engine.sql("CREATE TABLE orders (id BIGINT, k STRING, v INT)"),
                # As who has only Spark: we would refuse to drop what is read.
                unmake=lambda: engine.spark.sql("DROP TABLE orders"),
            )
        elif name == "parquet":
            files = Folder(spark, path)
            yield Kind(
                name=name,
                engine=engine,
                table=f"parquet.`{path}`",
                do=files.do,
                make=files.make,
                unmake=files.unmake,
                take_away=hide,
                bring_back=show,
            )
        else:
            table, others = f"delta.`{path}`", fixture("deltas")
            yield Kind(
                name=name,
                engine=engine,
                table=table,
                do=others.sql,
                make=lambda: others.sql(f"CREATE TABLE {table} (id BIGINT, k STRING, v INT) USING delta"),
                unmake=lambda: shutil.rmtree(path),
                take_away=hide,
                bring_back=show,
            )


@contextmanager
def _database(spark: SparkSession, folder: Path, url: str, **options: Any) -> Iterator[Kind]:
    address, session = make_url(url), spark.newSession()
    settings = {
        "": JDBC_CATALOG,
        ".url": f"jdbc:postgresql://{address.host}:{address.port}/{address.database}",
        ".driver": "org.postgresql.Driver",
        ".user": address.username or "",
        ".password": address.password or "",
    }
    for key, value in settings.items():
        session.conf.set(f"spark.sql.catalog.pg{key}", value)
    made = create_engine(url)

    def do(statement: str) -> None:
        with made.begin() as connection:
            connection.execute(text(statement.replace("pg.public.", "public.")))

    try:
        with opened(session, folder / "lake", **options) as engine:
            # Sessions beside one know none of its settings.
            for key, value in settings.items():
                engine.spark.conf.set(f"spark.sql.catalog.pg{key}", value)
            yield Kind(
                name="database",
                engine=engine,
                table="pg.public.orders",
                do=do,
                make=lambda: do("CREATE TABLE public.orders (id BIGINT, k TEXT, v INT)"),
                unmake=lambda: do("DROP TABLE public.orders"),
                take_away=lambda: do("ALTER TABLE public.orders RENAME TO hidden"),
                bring_back=lambda: do("ALTER TABLE public.hidden RENAME TO orders"),
            )
    finally:
        made.dispose()
