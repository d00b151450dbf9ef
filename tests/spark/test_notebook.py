"""A notebook from top to bottom, in a kernel of its own: what is shown, and how errors look."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

CELLS = (
    """import os, spark_trickle
%load_ext spark_trickle
engine = spark_trickle.connect(os.environ["LAKE"], spark_master="local[2]", spark_driver_memory="1g")""",
    """%%trickle
CREATE TABLE orders (id BIGINT, `<b>region` STRING);
INSERT INTO orders VALUES (1, 'eu'), (2, '<img src=x onerror=alert(1)>');
CREATE STREAM TABLE totals SCHEDULE '1m' AS SELECT `<b>region` AS region, COUNT(*) AS n FROM orders GROUP BY 1""",
    "engine.create_stream_table('more', 'SELECT region FROM totals WHERE n > 0')",
    "engine.sql(\"INSERT INTO orders VALUES (3, 'eu')\")\nengine.refresh_stream_tables(['totals', 'more'])",
    "%%trickle engine --limit 1\nSELECT region, n FROM totals ORDER BY n DESC",
    "%trickle SELECT regoin FROM totals",
    "engine.status()",
    "engine.history()",
    "engine.why('totals')",
    "engine.explain('totals')",
    "engine.verify('totals')",
    "engine.graph('svg')",
    "%%trickle --into frame\nSELECT COUNT(*) AS n FROM more",
    "frame.collect()[0].n, engine.refresh_stream_table('totals')",
    "engine.close()",
)


def shown(cell: Any, kind: str) -> str:
    return "".join(each.get("data", {}).get(kind, "") for each in cell.outputs)


def test_a_notebook_shows_what_it_does(tmp_path: Path) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])  # type: ignore[no-untyped-call]
    environment = {**os.environ, "LAKE": str(tmp_path / "lake")}
    client = NotebookClient(book, timeout=300, kernel_name="python3", allow_errors=True)
    client.execute(env=environment, cwd=str(tmp_path))
    kept = os.environ.get("TRICKLE_NOTEBOOK_TO")
    if kept:
        nbformat.write(book, kept)  # type: ignore[no-untyped-call]
    errors = [out for cell in book.cells for out in cell.outputs if out.output_type == "error"]
    (slip,) = errors
    assert slip.traceback == [
        "SqlError: the statement is not valid: there is no column `regoin`. Did you mean `region` or `n`? "
        "(line 1, column 8)"
    ]
    html = [shown(cell, "text/html") for cell in book.cells]
    assert all("<img" not in each and "<b>region" not in each for each in html)
    made, created, refreshed, rows = html[1:5]
    assert "totals" in made and "stream table more" in created
    assert "DIFFERENTIAL" in refreshed and "+1 −1" in refreshed
    assert "only the first 1 rows" in rows
    assert "equals its query" in html[10]
    assert shown(book.cells[11], "image/svg+xml").startswith("<svg")
    assert "RefreshOutcome('totals': NO_DATA" in shown(book.cells[13], "text/plain")
    said = "".join(out.text for cell in book.cells for out in cell.outputs if out.output_type == "stream")
    assert "SQLQueryContextLogger" not in said and "Traceback" not in said
