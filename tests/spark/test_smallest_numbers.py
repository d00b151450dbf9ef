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


def test_a_minus_sign_belongs_to_an_exact_decimal(engine: Engine) -> None:
    """Negated by an operation, Spark would round it to 34 digits: another number, or none of 38 digits."""
    number = "-12345678901234567890123456789012345678"
    engine.sql(f"CREATE TABLE t (d DECIMAL(38,0)); INSERT INTO t VALUES ({number}BD), (5)")
    least = "-99999999999999999999999999999999999999BD"
    queries = {
        "equal": f"SELECT d, {number}BD AS same FROM t WHERE d = {number}BD",
        "among": f"SELECT d FROM t WHERE d NOT IN ({least}, -0.99999BD)",
    }
    for name, query in queries.items():
        engine.create_stream_table(name, query, refresh_mode="DIFFERENTIAL", strict=True)
    for statement in (f"INSERT INTO t VALUES ({number}BD), ({least})", "DELETE FROM t WHERE d = 5"):
        engine.sql(statement)
        for name in queries:
            assert engine.refresh_stream_table(name).action in (Action.DIFFERENTIAL, Action.NO_DATA)
            assert_equals_query(engine, name)
    assert engine.spark.table("equal").count() == 2
