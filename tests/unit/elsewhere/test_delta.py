"""The log of a Delta table, read without a JVM: versions, what they consist of, what lies between two of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_trickle.elsewhere.delta import DeltaTables
from spark_trickle.elsewhere.delta_log import LogError
from spark_trickle.elsewhere.files import LocalFiles
from spark_trickle.elsewhere.formats import Formats, is_borrowed
from spark_trickle.elsewhere.unversioned import Place
from spark_trickle.errors import SourceAwayError
from spark_trickle.model.borrowed import BorrowedVersion, Follows
from spark_trickle.model.frontier import Frontier, Pin
from spark_trickle.names import TableName

SCHEMA = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
TABLES = DeltaTables(lambda _: LocalFiles())


def metadata(schema: dict[str, Any] = SCHEMA, **more: Any) -> dict[str, Any]:
    told = {"id": "a-table", "schemaString": json.dumps(schema), "partitionColumns": [], "configuration": {}, **more}
    return {"metaData": told}


def protocol(*features: str) -> dict[str, Any]:
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": list(features)}}


def data(folder: Path, name: str, rows: int, *, numbered: bool = False) -> dict[str, Any]:
    field = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"} if numbered else None)
    pq.write_table(pa.table({"id": list(range(rows))}, schema=pa.schema([field])), folder / name)
    return {"add": {"path": name.replace("%", "%25"), "partitionValues": {}, "size": 9, "dataChange": True}}


def removed(name: str, *, change: bool = True) -> dict[str, Any]:
    return {"remove": {"path": name, "dataChange": change}}


def commit(folder: Path, version: int, *actions: dict[str, Any], operation: str = "WRITE") -> None:
    (folder / "_delta_log").mkdir(exist_ok=True)
    lines = [{"commitInfo": {"operation": operation}}, *actions]
    (folder / "_delta_log" / f"{version:020d}.json").write_text("\n".join(json.dumps(line) for line in lines))


def names(version: BorrowedVersion) -> dict[str, int]:
    return {Path(file.path).name: file.rows for file in version.files}


def called(folder: Path, version: int) -> str:
    found = TABLES.called(TABLES.pin(str(folder)), version)
    assert found is not None
    return found


def version_of(location: str) -> int:
    return TABLES.id_of(location)


def test_versions_are_replayed_and_told_apart_by_their_commits(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        TABLES.pin(str(tmp_path))
    commit(tmp_path, 0, protocol(), metadata(), data(tmp_path, "a%20b.parquet", 3))
    commit(tmp_path, 1, data(tmp_path, "c.parquet", 4), removed("a%2520b.parquet"))
    first, last = called(tmp_path, 0), TABLES.pin(str(tmp_path))
    assert names(TABLES.read_at(first)) == {"a%20b.parquet": 3} and names(TABLES.read_at(last)) == {"c.parquet": 4}
    assert TABLES.read_at(first).shape.id == TABLES.read_at(last).shape.id
    commit(tmp_path, 1, data(tmp_path, "d.parquet", 5))
    with pytest.raises(LogError, match=r"version 1 cannot be read any more: the table was made again"):
        TABLES.read_at(last)
    steps, gone = TABLES.window([first, last], TABLES.pin(str(tmp_path)))
    assert (
        [step.version.number for step in steps] == [0, 1]
        and list(gone) == [version_of(last)]
        and "made again" in gone[version_of(last)]
    )
    assert steps[-1].version.id != version_of(last), "another version of the same number"


def test_compaction_is_cut_out_of_the_way_unless_its_files_are_gone(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), data(tmp_path, "a", 1))
    commit(tmp_path, 1, data(tmp_path, "b", 2))
    merged = data(tmp_path, "ab", 3)
    merged["add"]["dataChange"] = False
    commit(tmp_path, 2, merged, removed("a", change=False), removed("b", change=False), operation="OPTIMIZE")
    commit(tmp_path, 3, data(tmp_path, "c", 1))
    commit(tmp_path, 4, data(tmp_path, "d", 1), operation="RESTORE")
    since, until = called(tmp_path, 0), called(tmp_path, 4)
    steps, gone = TABLES.window([since, called(tmp_path, 3)], until)
    assert gone == {} and [(step.version.number, step.follows, step.linear) for step in steps[1:]] == [
        (1, Follows.CHANGE, True),
        (2, Follows.SAME_ROWS, True),
        (3, Follows.CHANGE, True),
        (4, Follows.CHANGE, False),
    ]
    (tmp_path / "b").unlink()
    steps, gone = TABLES.window([since], until)
    assert gone == {} and [step.version.number for step in steps] == [0, 4] and not steps[-1].linear
    (tmp_path / "a").unlink()
    steps, gone = TABLES.window([since], until)
    assert [step.version.number for step in steps] == [4] and "was vacuumed" in gone[version_of(since)]


def test_a_log_that_was_cleaned_up_begins_with_a_checkpoint(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), data(tmp_path, "a", 1))
    commit(tmp_path, 1, data(tmp_path, "b", 2))
    log = tmp_path / "_delta_log"
    kept = [protocol(), metadata(), {"sidecar": {"path": "side.parquet"}}]
    (log / f"{1:020d}.checkpoint.0000aaaa-0000-0000-0000-000000000000.json").write_text(
        "\n".join(json.dumps(action) for action in kept)
    )
    (log / "_sidecars").mkdir()
    adds = [{"path": name, "size": 9, "partitionValues": [("p", "1")], "stats": None} for name in ("a", "b")]
    add = pa.struct(
        [("path", pa.string()), ("size", pa.int64()), ("partitionValues", pa.map_(pa.string(), pa.string()))]
    )
    pq.write_table(pa.table({"add": pa.array(adds, add)}), log / "_sidecars" / "side.parquet")
    # Half of a checkpoint is none.
    (log / f"{1:020d}.checkpoint.0000000001.0000000002.parquet").write_bytes(b"")
    first = called(tmp_path, 0)
    (log / f"{0:020d}.json").unlink()
    commit(tmp_path, 2, data(tmp_path, "c", 3))
    assert names(DeltaTables(lambda _: LocalFiles()).read_at(TABLES.pin(str(tmp_path)))) == {"a": 1, "b": 2, "c": 3}
    with pytest.raises(LogError, match="its commit is no longer in the log"):
        TABLES.read_at(first)


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        ([protocol("variantType"), metadata()], "its features variantType cannot be read here"),
        ([{"protocol": {"minReaderVersion": 4}}, metadata()], "reader version 4"),
        ([protocol()], "says nothing of the columns"),
    ],
)
def test_what_cannot_be_read_rightly_is_refused(tmp_path: Path, actions: list[dict[str, Any]], told: str) -> None:
    commit(tmp_path, 0, *actions)
    with pytest.raises(LogError, match=told):
        TABLES.read_at(TABLES.pin(str(tmp_path)))


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ({"type": "void"}, "column 'c' is of type void"),
        ({"type": "string", "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}}, r"column 'c' is of type char\(3\)"),
        ({"type": "string", "metadata": {"__COLLATIONS": {"c": "UTF8_LCASE"}}}, "has a collation"),
        (
            {"type": "double", "metadata": {"delta.typeChanges": [{"fromType": "integer", "toType": "double"}]}},
            "was widened from integer to double",
        ),
    ],
)
def test_columns_that_mean_more_than_iceberg_can_say_are_refused(
    tmp_path: Path, column: dict[str, Any], told: str
) -> None:
    schema = {"type": "struct", "fields": [{"name": "c", "nullable": True, "metadata": {}, **column}]}
    commit(tmp_path, 0, protocol(), metadata(schema))
    with pytest.raises(LogError, match=told):
        TABLES.read_at(TABLES.pin(str(tmp_path)))


def test_a_file_that_numbers_its_columns_without_a_mapping_is_refused(tmp_path: Path) -> None:
    """Iceberg would take the numbers for its own, and read NULLs."""
    commit(tmp_path, 0, protocol(), metadata(), data(tmp_path, "a", 1, numbered=True))
    with pytest.raises(LogError, match="gives its columns numbers"):
        TABLES.read_at(TABLES.pin(str(tmp_path)))


def test_deletion_vectors_lie_where_the_protocol_says(tmp_path: Path) -> None:
    add = data(tmp_path, "a", 30)
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40}
    add["add"]["deletionVector"] = {**vector, "cardinality": 6}
    commit(tmp_path, 0, protocol("deletionVectors"), metadata(), add)
    (file,) = TABLES.read_at(TABLES.pin(str(tmp_path))).files
    assert file.deletes is not None
    assert file.deletes.path == f"{tmp_path}/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert (file.deletes.offset, file.deletes.size, file.deletes.rows) == (4, 48, 6)
    add["add"]["deletionVector"]["storageType"] = "i"
    commit(tmp_path, 1, add)
    with pytest.raises(LogError, match="is in the log itself"):
        TABLES.read_at(TABLES.pin(str(tmp_path)))


def test_versions_of_one_number_are_told_apart_and_shown_by_it(tmp_path: Path) -> None:
    one, other = (
        Pin(TableName("a", "b"), "uuid", version_of(location), 0, location)
        for location in (f"delta:{tmp_path}/_delta_log/{7:020d}.json#{stamp}" for stamp in ("1.2", "1.3"))
    )
    assert one.snapshot_id != other.snapshot_id and one.version == other.version == 7
    assert str(Frontier((one,))) == "a.b@7" and Frontier((other,))["a.b"] == 7
    assert Pin(TableName("a", "b"), "uuid", 5, 0, "/a/b/metadata/00007-x.metadata.json").version == 5


@pytest.mark.parametrize("half", [b'{"add": {"path": "b.par', b"[1]", b"\xff\xfe", b"PAR1 and no more"])
def test_a_log_that_is_not_whole_is_waited_for(tmp_path: Path, half: bytes) -> None:
    table = TableName.elsewhere("delta", (), str(tmp_path))
    formats = Formats(LocalFiles, lambda _: Place("delta", str(tmp_path)))
    commit(tmp_path, 0, protocol(), metadata(), data(tmp_path, "a.parquet", 3))
    first = formats.of([table])[table]
    assert isinstance(first, str)
    log = tmp_path / "_delta_log"
    (log / f"{1:020d}.json").write_bytes(half)
    if half.startswith(b"PAR1"):
        commit(tmp_path, 1, data(tmp_path, "b.parquet", 4))
        (log / f"{1:020d}.checkpoint.parquet").write_bytes(half)
    last = formats.of([table])[table]
    assert isinstance(last, str)
    for ask in (formats.read_at, formats.notices, lambda table, last: formats.window(table, [first], last)):
        with pytest.raises(SourceAwayError, match=f"'delta.`{tmp_path}`' cannot be read now: .*{1:020d}"):
            ask(table, last)
    (log / f"{1:020d}.checkpoint.parquet").unlink(missing_ok=True)
    commit(tmp_path, 1, data(tmp_path, "b.parquet", 4))
    last = formats.of([table])[table]
    assert isinstance(last, str) and set(names(formats.read_at(table, last))) == {"a.parquet", "b.parquet"}


@pytest.mark.parametrize("called", ["a-table", "", "5F0C1B1E-8a57-4a5c-9a6e-0d1f2a3b4c5d"])
def test_a_table_is_told_by_a_uuid_whatever_its_log_calls_it(tmp_path: Path, called: str) -> None:
    commit(tmp_path, 0, protocol(), metadata(id=called), data(tmp_path, "a.parquet", 3))
    told = TABLES.read_at(TABLES.pin(str(tmp_path))).uuid
    assert str(UUID(told)) == told and told == TABLES.read_at(TABLES.pin(str(tmp_path))).uuid
    assert called.lower() in (told, "a-table", "")


def test_a_kind_is_told_by_how_its_versions_are_called(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata())
    assert is_borrowed(TABLES.pin(str(tmp_path)))
    assert not is_borrowed("s3://lake/o/metadata/00012-x.metadata.json") and not is_borrowed("unversioned:csv:/o#12")
    # What another kind would call its versions is shown by its number as well.
    assert Pin(TableName("a", "b"), "uuid", 5, 0, "other:/data/o#12").version == 12
    assert Pin(TableName("a", "b"), "uuid", 5, 0, "s3://lake/o#7/metadata/00012-x.metadata.json").version == 5
