"""Where the tables of all other catalogs are, once for each cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from spark_trickle.elsewhere.files import LocalFiles
from spark_trickle.elsewhere.formats import Formats, no_source, without_folder
from spark_trickle.elsewhere.heads import Found, missing, not_configured, unreachable
from spark_trickle.elsewhere.pins import Elsewhere
from spark_trickle.elsewhere.settings import ICEBERG, CatalogSettings, catalogs_in
from spark_trickle.elsewhere.unversioned import Place
from spark_trickle.model.publication import Cut
from spark_trickle.model.stream_table import Source, StreamTable
from spark_trickle.names import TableName
from tests.support.catalog_values import stream_table

ONE, TWO = TableName.elsewhere("one", ["db"], "t"), TableName.elsewhere("two", ["db"], "t")
FORMATS = Formats(LocalFiles, lambda table: Place("avro", "/data") if table.name == "t" else missing(table))


@dataclass
class Asked:
    """Heads that are told what to say."""

    says: dict[TableName, str] = field(default_factory=dict)
    times: int = 0
    closed: bool = False

    def of(self, tables: Iterable[TableName]) -> Found:
        self.times += 1
        return {table: self.says.get(table) or missing(table) for table in tables}

    def close(self) -> None:
        self.closed = True


def reading(name: str, source: TableName) -> StreamTable:
    return stream_table(name, sources=(Source(table=source, kind="TABLE"),))


def test_settings_tell_which_catalogs_there_are() -> None:
    found = catalogs_in(
        {
            "spark.sql.catalog.lake": ICEBERG,
            "spark.sql.catalog.spark_catalog": "x",
            "spark.sql.catalog.one": ICEBERG,
            "spark.sql.catalog.one.catalog-impl": "org.apache.iceberg.rest.RESTCatalog",
            "spark.sql.catalog.one.uri": "http://host",
            "spark.sql.catalog.one.more.uri": "no",
            "spark.sql.catalog.pg": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
            "spark.sql.shuffle.partitions": "2",
        }
    )
    assert {name: (each.kind, each.is_iceberg) for name, each in found.items()} == {
        "one": ("rest", True),
        "pg": ("hive", False),
    }
    assert found["one"].properties["uri"] == "http://host" and "http" not in repr(found)


def test_what_has_not_moved_is_the_same_object_and_each_catalog_is_asked_once() -> None:
    heads, catalogs = Asked({ONE: "m1"}), {"one": CatalogSettings("one", ICEBERG, {"type": "hive"})}
    elsewhere = Elsewhere(lambda: catalogs, lambda _: heads, FORMATS)
    first, away = elsewhere.pointers([ONE, TWO, ONE])
    assert first[ONE].location == "m1" and away == {TWO: not_configured(TWO)}
    again, _ = elsewhere.pointers([ONE])
    assert again[ONE] is first[ONE] and heads.times == 2
    heads.says[ONE] = "m2"
    assert elsewhere.pointers([ONE])[0][ONE] != first[ONE]
    catalogs["one"] = CatalogSettings("one", ICEBERG, {"type": "hive", "uri": "other"})
    elsewhere.pointers([ONE])
    assert heads.closed
    elsewhere.close()


def test_a_catalog_in_which_a_bug_of_ours_shows_takes_nobody_along(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Asked):
        def of(self, tables: Iterable[TableName]) -> Found:
            raise RuntimeError("Bearer 5ecr3t-token is no dictionary")

    by_name = {"one": Broken(), "two": Asked({TWO: "m2"})}
    catalogs = {name: CatalogSettings(name, ICEBERG, {"type": "hive"}) for name in by_name}
    elsewhere = Elsewhere(lambda: catalogs, lambda settings: by_name[settings.name], FORMATS)
    for tables in ([ONE, TWO], [ONE]):
        found, away = elsewhere.pointers(tables)
        assert set(found) == {*tables} - {ONE} and "by a bug of spark-trickle: RuntimeError" in away[ONE].reason
    assert "is no dictionary" in caplog.text and "5ecr3t" not in caplog.text + away[ONE].reason


def test_a_cut_has_the_tables_of_other_catalogs_that_its_stream_tables_read() -> None:
    heads, catalogs = Asked({ONE: "m1"}), {"one": CatalogSettings("one", ICEBERG, {"type": "hive"})}
    elsewhere = Elsewhere(lambda: catalogs, lambda _: heads, FORMATS)
    plain = Cut("id", {}, {}, ())
    assert elsewhere.added_to(plain) is plain and heads.times == 0
    tables = {table.name: table for table in (reading("a", ONE), reading("b", TWO))}
    cut = elsewhere.added_to(Cut("id", {}, tables, ()))
    assert set(cut.pointers) == {ONE} and set(cut.away) == {TWO} and cut.id != "id"
    assert elsewhere.added_to(Cut("id", {}, tables, ())).id == cut.id
    heads.says[ONE] = "m2"
    assert elsewhere.added_to(Cut("id", {}, tables, ())).id != cut.id


def test_what_is_away_says_which_catalog() -> None:
    assert "catalog 'one'" in unreachable("one", "x").reason and "'one.db.t'" in missing(ONE).reason


def test_tables_that_are_not_icebergs_are_asked_for_by_their_kind() -> None:
    pg = CatalogSettings("pg", "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog", {})
    elsewhere = Elsewhere(lambda: {"pg": pg}, lambda _: None, FORMATS)
    table, other = (TableName.elsewhere("pg", ["db"], each) for each in ("t", "u"))
    nowhere, unread = (TableName.elsewhere(kind, [], "/nowhere/at/all") for kind in ("delta", "parquet"))
    found, away = elsewhere.pointers([table, other, nowhere, unread])
    assert found == {} and away == {
        table: no_source(table, "it is a table of kind 'avro'"),
        other: missing(other),
        nowhere: missing(nowhere),
        unread: without_folder(unread, "/nowhere/at/all"),
    }
    assert "pg.db.t" in away[table].reason and "avro" in away[table].reason
