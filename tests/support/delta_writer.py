"""Writes a Delta table as its protocol says, for tests in which there is no Spark that can."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def write_version(folder: Path, number: int, rows: dict[str, list[int]], removed: str | None = None) -> str:
    """One commit, which adds a file with BIGINT columns and may remove another; gives the name of its file."""
    name = f"part-{number:05}.parquet"
    (folder / "_delta_log").mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({key: pa.array(values, pa.int64()) for key, values in rows.items()}), folder / name)
    fields = [{"name": key, "type": "long", "nullable": True, "metadata": {}} for key in rows]
    schema = json.dumps({"type": "struct", "fields": fields})
    size = (folder / name).stat().st_size
    actions: list[dict[str, object]] = [
        {"commitInfo": {"operation": "WRITE"}},
        {"add": {"path": name, "partitionValues": {}, "size": size, "dataChange": True}},
    ]
    if removed is not None:
        actions.append({"remove": {"path": removed, "dataChange": True}})
    if number == 0:
        actions.append({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
        actions.append(
            {"metaData": {"id": "a-table", "schemaString": schema, "partitionColumns": [], "configuration": {}}}
        )
    written = folder / "_delta_log" / f"{number:020d}.json.unfinished"
    written.write_text("\n".join(map(json.dumps, actions)))
    written.rename(written.with_suffix(""))
    return name
