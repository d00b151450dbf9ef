"""What people read when they mistype: one sentence, a suggestion, and nothing on standard error."""

from __future__ import annotations

import pytest

from spark_trickle.cli.rows import fetch
from spark_trickle.engine import Engine
from spark_trickle.errors import ComputeError, SqlError, StreamTableError


def said(engine: Engine, text: str) -> str:
    with pytest.raises(StreamTableError) as raised:
        fetch(engine.sql(text), 10)
    assert isinstance(raised.value, (SqlError, ComputeError))
    return str(raised.value)


def test_a_slip_in_sql_is_told_in_a_sentence_with_what_may_have_been_meant(
    engine: Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    engine.sql("CREATE TABLE orders (id BIGINT, region STRING, `odd ``name` INT)")
    engine.create_stream_table("totals", "SELECT region, COUNT(*) AS n FROM orders GROUP BY region")
    capfd.readouterr()
    not_valid = "the statement is not valid: "
    assert said(engine, "SELECT regoin FROM orders") == (
        f"{not_valid}there is no column `regoin`. Did you mean `region` or `id` or `odd ``name`? (line 1, column 8)"
    )
    assert said(engine, "SELECT 1 FROM ordrs") == (
        f"{not_valid}the table or view `ordrs` does not exist (line 1, column 15). Did you mean 'orders'?"
    )
    assert said(engine, "INSERT INTO nothing_like_it VALUES (1)").endswith("does not exist (line 1, column 13)")
    assert said(engine, "SELECT rond(id) FROM orders") == f"{not_valid}there is no function `rond` (line 1, column 8)"
    assert said(engine, "SELEC 1") == f"{not_valid}Syntax error at or near 'SELEC' (line 1, column 1)"
    assert "Division by zero" in said(engine, "SELECT 1/0 FROM orders UNION ALL SELECT 1/0")
    query = said(engine, "CREATE STREAM TABLE t AS SELECT n FROM total")
    assert query.endswith("the table or view `total` does not exist (line 1, column 15). Did you mean 'totals'?")
    # Iceberg's extensions cannot read the parameters of functions, and say nothing about it.
    assert said(engine, "CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x") == (
        "Spark failed on the statement: UnsupportedOperationException"
    )
    with pytest.raises(SqlError, match="Did you mean 'orders'"), engine.transaction() as tx:
        tx.sql("DELETE FROM order")
    for text in ("SQLSTATE", "[", "org.apache"):
        assert text not in said(engine, "SELECT regoin FROM orders")
    assert capfd.readouterr().err == ""
