"""EXISTS as a value, while everything that it depends on changes in one window."""

from __future__ import annotations

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query

FLAGGED = """
    SELECT a.id, b.name, EXISTS (SELECT 1 FROM wanted w WHERE w.id = a.id) OR b.name = 'x' AS flagged
    FROM a JOIN b ON a.b = b.id"""


def test_exists_under_or_while_both_sides_of_a_join_and_what_is_looked_for_change(engine: Engine) -> None:
    engine.sql("CREATE TABLE a (id INT, b INT); CREATE TABLE b (id INT, name STRING); CREATE TABLE wanted (id INT)")
    engine.sql("INSERT INTO a VALUES (1, 1), (2, 1), (3, 2), (NULL, 2); INSERT INTO b VALUES (1, 'x'), (2, 'y')")
    engine.sql("INSERT INTO wanted VALUES (1), (NULL)")
    engine.create_stream_table("flagged", FLAGGED, strict=True)
    assert_equals_query(engine, "flagged")
    for change in (
        "INSERT INTO a VALUES (4, 2), (5, 1); UPDATE b SET name = 'z' WHERE id = 1; INSERT INTO wanted VALUES (3), (4)",
        "DELETE FROM a WHERE id = 1; INSERT INTO b VALUES (2, 'x'); DELETE FROM wanted WHERE id = 3",
    ):
        engine.sql(change)
        assert engine.refresh_stream_table("flagged").action is Action.DIFFERENTIAL
        assert_equals_query(engine, "flagged")
