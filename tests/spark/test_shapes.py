"""Shapes of `tests/cases/shapes*.sql` on Spark and Iceberg: all are stream tables over the same three tables, through
stories of everyday life. `TRICKLE_SHAPES_SPARK_SEED` chooses others.
"""

from __future__ import annotations

from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.equivalence.test_shapes import SHAPES
from tests.support.fuzz.cases import Verdict
from tests.support.fuzz.everyday import everyday
from tests.support.fuzz.lakes import Lake, Written, tiny_limits
from tests.support.fuzz.on_spark import tell
from tests.support.fuzz.schema import Kind, Source, SourceColumn
from tests.support.scripts import POOLS, TABLES
from tests.support.seeds import first_seed

CYCLES = 3
MANY = (80, 40)
"""So many with default limits, and so many with limits so low that every table is a large one: that takes longer."""
OTHERWISE = frozenset(
    {
        # Spark 4.1 forgets below LIMIT which rows belong to which, where the two sides are of different types.
        "SELECT c.id, (SELECT o.id FROM orders o WHERE o.cust = c.id ORDER BY o.qty DESC, o.id LIMIT 1) AS best "
        "FROM cust c",
        # It takes an OFFSET from the rows of all outer ones together.
        "SELECT c.id, (SELECT COUNT(*) FROM (SELECT o.qty FROM orders o WHERE o.cust = c.id OFFSET 1) x) AS rest "
        "FROM cust c",
    }
)
"""Shapes that Spark itself answers wrongly."""
APPROXIMATE = frozenset({"deviation"})
"""Some shapes have numbers whose last digits depend on the order of rows."""
SEED = first_seed("TRICKLE_SHAPES_SPARK_SEED", in_ci=2001)
_KINDS = {"BIGINT": Kind.INT, "INTEGER": Kind.INT, "VARCHAR": Kind.TEXT, "DECIMAL(12,2)": Kind.DECIMAL}


def _source(name: str, columns: str) -> Source:
    found = []
    for column in columns.replace("12,2", "12;2").split(", "):
        called, kind, *rest = column.replace(";", ",").split()
        type_ = kind.replace("VARCHAR", "STRING").replace("INTEGER", "INT")
        found.append(SourceColumn(called, _KINDS.get(kind, Kind.DOUBLE), type_, bool(rest)))
    return Source(name, tuple(found))


SOURCES = tuple(_source(table.name, table.columns) for table in TABLES)


def made(seed: int, part: int) -> Lake:
    """Some shapes with default settings, others as if all tables were large; which is by chance."""
    random = Random(seed)
    pools = {id(column): POOLS[source.name][place] for source in SOURCES for place, column in enumerate(source.columns)}
    history, acts = everyday(random, SOURCES, CYCLES, lambda column: random.choice(pools[id(column)]))
    shapes = [shape for shape in random.sample(SHAPES, len(SHAPES)) if shape not in OTHERWISE][part::2]
    limits = tiny_limits(random) if part else {}
    chosen = shapes[: MANY[part]]
    return Lake(seed, SOURCES, history, acts, tuple(Written(text, APPROXIMATE) for text in chosen), limits=limits)


@pytest.mark.parametrize("part", range(2))
def test_shapes_are_followed_differentially_through_everyday_life(spark: SparkSession, part: int) -> None:
    kept = tell(spark, made(SEED, part))
    # What is INVALID Spark itself refuses: QUALIFY, and some subqueries.
    wrong = [each for each in kept if each.verdict not in (Verdict.RIGHT, Verdict.INVALID)]
    assert sum(each.verdict is Verdict.RIGHT for each in kept) > 0.8 * len(kept)
    shown = "\n".join(f"{each.verdict}: {each.kind}: {each.why}\n  {each.text}" for each in wrong)
    assert not wrong, f"TRICKLE_SHAPES_SPARK_SEED={SEED}\n{shown}"
