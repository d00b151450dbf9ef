"""The shapes of `tests/cases/shapes*.sql` on Spark and Iceberg: all are stream tables over the same three tables,
through stories of everyday life.
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

CYCLES = 4
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
    """Half of the shapes with default settings, the others as if all tables were large; which is by chance."""
    random = Random(seed)
    pools = {id(column): POOLS[source.name][place] for source in SOURCES for place, column in enumerate(source.columns)}
    history, acts = everyday(random, SOURCES, CYCLES, lambda column: random.choice(pools[id(column)]))
    shapes = random.sample(SHAPES, len(SHAPES))[part::2]
    limits = tiny_limits(random) if part else {}
    return Lake(seed, SOURCES, history, acts, tuple(Written(text, APPROXIMATE) for text in shapes), limits=limits)


@pytest.mark.parametrize("part", range(2))
def test_shapes_are_followed_differentially_through_everyday_life(spark: SparkSession, part: int) -> None:
    wrong = [each for each in tell(spark, made(SEED, part)) if each.verdict is not Verdict.RIGHT]
    told = "\n".join(f"{each.verdict}: {each.kind}: {each.why}\n  {each.text}" for each in wrong)
    assert not wrong, f"TRICKLE_SHAPES_SPARK_SEED={SEED}\n{told}"
