"""How much a plan asks about types: as much as there is in a query, however often its parts are read."""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.nodes import plan
from spark_trickle.delta.plan import Column
from spark_trickle.sql.build import build
from tests.support.duck import Lake, Table

YEARLY = (
    "WITH y AS (SELECT 's' AS kind, k, SUM(v) AS total FROM a GROUP BY k UNION ALL SELECT 'c', k, SUM(v) FROM b GROUP "
    "BY k) SELECT {columns} FROM {tables} WHERE {conditions}"
)


class Listening(Lake):
    """Remembers what it was asked."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.asked: list[exp.Query] = []

    def describe(self, query: exp.Query) -> tuple[Column, ...]:
        self.asked.append(query)
        return super().describe(query)


def asked(times: int) -> list[exp.Query]:
    """What is asked for a query that reads the same part so often."""
    lake = Listening([Table("a", "k INTEGER, v INTEGER"), Table("b", "k INTEGER, v INTEGER")])
    names = [f"y{number}" for number in range(times)]
    query = YEARLY.format(
        columns=", ".join(f"{name}.total AS {name}" for name in names),
        tables=", ".join(f"y {name}" for name in names),
        conditions=" AND ".join([f"{name}.k = y0.k" for name in names[1:]] + ["y0.kind = 's'"]),
    )
    plan(build(query, lake), lake)
    return lake.asked


def test_what_a_query_reads_in_many_places_is_described_once() -> None:
    assert len(asked(8)) <= len(asked(2)) + 2


def test_a_part_of_a_plan_is_described_over_the_nodes_below_it_not_over_what_these_read() -> None:
    last = asked(8)[-1]
    read = [table.name for table in last.find_all(exp.Table)]
    assert len(read) >= 8
    assert not {"a", "b"} & set(read)
