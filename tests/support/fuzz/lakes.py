"""A lake of the fuzzer: a few tables, a story of everyday life, and many queries over them, all from one seed.

On Spark a table costs more than a query, so many stream tables share the same tables and the same refreshes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from tests.support.fuzz.cases import some_features
from tests.support.fuzz.everyday import everyday
from tests.support.fuzz.names import PLAIN, Naming, hostile
from tests.support.fuzz.queries import random_query
from tests.support.fuzz.schema import FRIENDLY, History, Kind, Source, SourceColumn
from tests.support.fuzz.settings import other_settings
from tests.support.fuzz.wild import WILD

NOT_IN_SPARK = frozenset({"qualify"})
"""Constructs that Spark 4.1 has not."""
LIMITS = ("small_change_rows", "rewrite_table_rows", "broadcast_table_rows", "held_table_rows", "lookup_table_rows")
"""Sizes from which on tables and changes are treated as large."""


@dataclass(frozen=True)
class Written:
    """A query, and what the grammar put into it."""

    text: str
    used: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Lake:
    """Everything that happens, but for what comes of it."""

    seed: int
    sources: tuple[Source, ...]
    history: History
    acts: tuple[str, ...]
    """What each state was reached by."""
    queries: tuple[Written, ...]
    naming: Naming = PLAIN
    limits: dict[str, int] = field(default_factory=dict)
    settings: dict[int, dict[str, str]] = field(default_factory=dict)
    """What the session that refreshes has set otherwise, by cycle."""

    def alone(self, query: Written) -> Lake:
        return replace(self, queries=(query,))


def random_lake(
    seed: int, queries: int, cycles: int, *, tiny: bool, names: bool = True, values: bool = True, settings: bool = True
) -> Lake:
    """About half of the lakes have wild values, most have hostile names, some are refreshed by sessions with other
    settings; a tiny one takes every way of large tables.
    """
    random = Random(seed)
    sources = _sources(random, wild=random.random() < 0.6 and values)
    history, acts = everyday(random, sources, cycles)
    written = tuple(_query(random, sources) for _ in range(queries))
    naming = PLAIN
    if random.random() < 0.7 and names:
        columns = dict.fromkeys(column.name for source in sources for column in source.columns)
        naming = hostile(random, [source.name for source in sources], columns, queries)
    limits = tiny_limits(random) if tiny else {}
    otherwise = other_settings(random, cycles) if random.random() < 0.4 and settings else {}
    return Lake(seed, sources, history, acts, written, naming, limits, otherwise)


def tiny_limits(random: Random) -> dict[str, int]:
    limits = {name: random.choice((0, 0, 1, 2, 5)) for name in LIMITS}
    # Queries run in the driver's thread, as jobs, or some here and some there.
    limits["local_query_rows"] = random.choice((0, 5, 250_000))
    if random.random() < 0.5:
        # Small changes of large tables: what is beside them is looked up, in a cache that may have no room, or be off.
        del limits["small_change_rows"]
        limits |= {"lookup_table_rows": 0, "held_table_rows": 0, "row_cache_bytes": random.choice((1 << 30, 30_000, 0))}
    return limits


def _query(random: Random, sources: tuple[Source, ...]) -> Written:
    query, writer = random_query(random, sources, some_features(random) - NOT_IN_SPARK, deep=(0, 0, 1, 1, 2), room=3)
    return Written(query.text, frozenset(writer.used))


def _sources(random: Random, *, wild: bool) -> tuple[Source, ...]:
    """Tables that share names of columns; a name has one kind and one type everywhere."""
    columns = [SourceColumn("i0", Kind.INT, random.choice(("INT", "BIGINT")), False)]
    for place in range(1, 7):
        if wild and random.random() < 0.6:
            kind = random.choice(list(WILD))
            letter, types = WILD[kind]
            type_ = random.choice(types)[0]
        else:
            kind = random.choices(list(FRIENDLY), weights=(5, 2, 2, 4, 1, 1))[0]
            letter, types_ = FRIENDLY[kind]
            type_ = random.choice(types_).replace("VARCHAR", "STRING")
        columns.append(SourceColumn(f"{letter}{place}", kind, type_, random.random() < 0.1))
    sources = []
    for place in range(3):
        chosen = sorted({0, *random.sample(range(len(columns)), random.randint(2, 4))})
        sources.append(Source(f"t{place}", tuple(columns[n] for n in chosen)))
    return tuple(sources)
