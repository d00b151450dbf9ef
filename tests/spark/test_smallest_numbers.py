"""The smallest number of each integer type, written as a literal, is what Spark says it is."""

from __future__ import annotations

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from tests.spark.engines import assert_equals_query

QUERY = "SELECT id, -128Y AS y, -32768S AS s, -2147483648 AS i, -9223372036854775808L AS l FROM t WHERE id > -128Y"


def test_a_minus_sign_belongs_to_its_number(engine: Engine) -> None:
    engine.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (-128)")
    engine.create_stream_table("smallest", QUERY, refresh_mode="DIFFERENTIAL", strict=True)
    for statement in ("INSERT INTO t VALUES (2), (-129)", "DELETE FROM t WHERE id = 1"):
        engine.sql(statement)
        assert engine.refresh_stream_table("smallest").action is Action.DIFFERENTIAL
        assert_equals_query(engine, "smallest")
