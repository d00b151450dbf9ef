"""Text that is read is written again with the same meaning."""

from __future__ import annotations

import pytest

from spark_trickle.errors import SqlError
from spark_trickle.sql.parse import TrickleSpark, parse_query

SAME = """
date_sub(d, a - b)
date_trunc(unit, d)
instr(a, b)
nvl(a, b)
array_size(a)
percentile_approx(a, 0.5)
decode(a, 1, 2)
log(a)
count(a, b)
count(DISTINCT a, b)
max_by(a, b)
collect_list(a)
regexp_extract(a, 'x', 1)
aggregate(a, 0, (acc, x) -> acc + x)
named_struct('a', 1)
timestampdiff(month, a, b)
a - (b - c)
a IS DISTINCT FROM b
CAST(a AS DECIMAL(10, 2))
arr[0]
array(a, b)[0]
list[1]
interval '1 day -2 hours'
positive(a)
current_user
""".strip().split("\n")


@pytest.mark.parametrize("expression", SAME)
def test_an_expression_is_written_as_it_was_read(expression: str) -> None:
    written = parse_query(f"SELECT {expression}").selects[0].sql(dialect="spark", normalize_functions=False)
    assert written.lower() == expression.lower()


def test_a_time_of_day_is_no_moment() -> None:
    assert parse_query("SELECT TIME '10:00:00'").sql(dialect=TrickleSpark) == "SELECT CAST('10:00:00' AS TIME)"


def test_a_doubled_quote_is_a_quote() -> None:
    assert parse_query("SELECT 'it''s'").selects[0].name == "it's"
    assert parse_query("SELECT 'it''s'").sql(dialect="spark") == r"SELECT 'it\'s'"


@pytest.mark.parametrize("text", ["", "SELECT", "SELECT 1; SELECT 2", "DROP TABLE t", "SELECT 'open"])
def test_what_is_not_one_query_is_refused(text: str) -> None:
    with pytest.raises(SqlError):
        parse_query(text)
