"""Columns of a source that are moved, added or renamed under queries that read them by position or by `*`.

What the stream table holds is always one meaning as a whole: that of its creation, or that of now. A strict one may
also refuse, and then holds what it held.
"""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from spark_trickle.engine import Engine
from spark_trickle.errors import SchemaChangedError, StreamTableError
from tests.support.printed import Printed, printed

TEXTS = (
    "SELECT * FROM {t}",
    "SELECT * FROM {t} UNION SELECT * FROM {t} WHERE id > 1",
    "SELECT p, COUNT(*) AS n FROM {t} AS x(o, p, q) GROUP BY p",
    "WITH w(o, p, q) AS (SELECT * FROM {t}) SELECT p, MAX(q) AS q FROM w GROUP BY p",
    "SELECT x.* FROM u AS o, LATERAL (SELECT * FROM {t} AS i WHERE i.id = o.id) AS x",
    "SELECT * FROM {t} NATURAL JOIN u",
    "SELECT DISTINCT * EXCEPT (id) FROM {t}",
    "SELECT id, a FROM (SELECT * FROM {t}) WHERE b <> 'x'",
    "SELECT a, b, COUNT(*) AS n FROM {t} GROUP BY a, b",
    "SELECT u.w, s.* FROM u LEFT JOIN {t} AS s ON s.id = u.id",
)
CHANGES = {
    "moved": "ALTER TABLE t ALTER COLUMN b FIRST",
    "added": "ALTER TABLE t ADD COLUMN z STRING AFTER id",
    "swapped": "; ".join(f"ALTER TABLE t RENAME COLUMN {a} TO {b}" for a, b in ("ac", "ba", "cb")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_columns_is_never_half_seen(engine: Engine, change: str) -> None:
    engine.sql("CREATE TABLE t (id INT, a STRING, b STRING); CREATE TABLE u (id INT, w STRING)")
    engine.sql(
        "INSERT INTO t VALUES (1, 'x', 'y'), (2, 'y', 'x'), (3, 'x', 'x'); INSERT INTO u VALUES (1, 'v'), (2, 'w')"
    )
    held = {f"st{place}": text for place, text in enumerate(TEXTS)}
    for name, text in held.items():
        engine.create_stream_table(name, text.format(t="t"), refresh_mode="DIFFERENTIAL", strict=True)
    engine.sql(CHANGES[change])
    problems = []
    for cycle, statement in enumerate(
        (
            "INSERT INTO t (id, a, b) VALUES (4, 'new', 'old'); INSERT INTO u VALUES (4, 'u')",
            "DELETE FROM t WHERE id = 1; UPDATE u SET w = 'all'",
        )
    ):
        engine.sql(statement)
        engine.spark.sql("CREATE OR REPLACE TEMPORARY VIEW as_it_was AS SELECT id, a, b FROM t")
        for name, text in held.items():
            before = _rows(engine, f"SELECT * FROM {name}")
            meanings = [_rows(engine, text.format(t=table)) for table in ("t", "as_it_was")]
            try:
                outcome = str(engine.refresh_stream_table(name).action)
            except StreamTableError as err:
                outcome, meanings = f"refused: {err}", [before]
            found = _rows(engine, f"SELECT * FROM {name}")
            if found not in meanings:
                problems.append(f"{change}, cycle {cycle}, {outcome}: {text}: {found} is none of {meanings}")
    for name, text in held.items():
        if _rows(engine, text.format(t="t")) is None:
            with pytest.raises(SchemaChangedError, match="no longer fits its sources"):
                engine.refresh_stream_table(name, mode="FULL")
            continue
        engine.refresh_stream_table(name, mode="FULL")
        if _rows(engine, f"SELECT * FROM {name}") != _rows(engine, text.format(t="t")):
            problems.append(f"{change}, recomputed: {text}")
    assert not problems, "\n".join(problems)


def _rows(engine: Engine, query: str) -> Printed | None:
    """None: Spark refuses the query now."""
    try:
        return printed(engine.spark.sql(query))
    except PySparkException:
        return None
