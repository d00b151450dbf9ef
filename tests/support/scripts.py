"""Random histories of three small tables, and random queries over them, as Hypothesis strategies.

Values repeat on purpose: few keys, NULLs, duplicate rows, so that groups vanish and revive and joins match often.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from tests.support.duck import Kept, Lake, Row, Table

TABLES = (
    Table(
        "orders", "id BIGINT NOT NULL, cust INTEGER, region VARCHAR, amount DECIMAL(12,2), qty INTEGER, price DOUBLE"
    ),
    Table("cust", "id BIGINT NOT NULL, name VARCHAR, tier INTEGER"),
    Table("items", "oid BIGINT, sku VARCHAR, n INTEGER NOT NULL"),
)
POOLS: dict[str, tuple[tuple[object, ...], ...]] = {
    "orders": (
        (1, 2, 3, 4, 5),
        (1, 2, 3, None),
        ("a", "b", None),
        ("0.10", "2.25", "-3.00", None),
        (0, 1, 2, 5, None),
        (0.5, 1.25, -0.0, 0.0, None),
    ),
    "cust": ((1, 2, 3, 4), ("x", "y", None), (0, 1, 2, None)),
    "items": ((1, 2, 3, 5, None), ("p", "q"), (0, 1, 2)),
}
ROWS: dict[str, st.SearchStrategy[Row]] = {
    table: st.tuples(*(st.sampled_from(pool) for pool in pools)) for table, pools in POOLS.items()
}


@dataclass(frozen=True)
class Edit:
    """What happens to one table in one window: some rows go (by position, modulo what is there), some come."""

    table: str
    gone: tuple[int, ...]
    new: tuple[Row, ...]


def edits(most: int = 3) -> st.SearchStrategy[Edit]:
    return st.sampled_from(sorted(ROWS)).flatmap(
        lambda table: st.builds(
            Edit,
            st.just(table),
            st.lists(st.integers(0, 40), max_size=most).map(tuple),
            st.lists(ROWS[table], max_size=most).map(tuple),
        )
    )


Script = list[list[Edit]]


def scripts(windows: int) -> st.SearchStrategy[Script]:
    """A first load, then windows in each of which several tables change."""
    load = st.tuples(*(st.lists(ROWS[table], max_size=6) for table in sorted(ROWS))).map(
        lambda found: [Edit(table, (), tuple(rows)) for table, rows in zip(sorted(ROWS), found, strict=True)]
    )
    later = st.lists(st.lists(edits(), min_size=1, max_size=4), min_size=windows, max_size=windows)
    return st.builds(lambda first, rest: [first, *rest], load, later)


def random_script(random: Random, windows: int) -> Script:
    """The same without Hypothesis, whose first example is always the emptiest."""

    def rows(table: str, most: int) -> tuple[Row, ...]:
        return tuple(tuple(random.choice(pool) for pool in POOLS[table]) for _ in range(random.randint(0, most)))

    script = [[Edit(table, (), rows(table, 7)) for table in sorted(POOLS)]]
    for _ in range(windows):
        tables = random.sample(sorted(POOLS), random.randint(1, 3))
        most = 40 if random.random() < 0.1 else 3  # now and then nearly everything goes
        gone = {table: tuple(random.randint(0, 40) for _ in range(random.randint(0, most))) for table in tables}
        script.append([Edit(table, gone[table], rows(table, 3)) for table in tables])
    return script


def perform(lake: Lake, window: list[Edit]) -> None:
    for edit in window:
        addresses = [address for (address,) in lake.run(f"SELECT rowid FROM after.{edit.table} ORDER BY rowid")]
        chosen = {addresses[place % len(addresses)] for place in edit.gone if addresses}
        if chosen:
            lake.run(f"DELETE FROM after.{edit.table} WHERE rowid IN ({', '.join(map(str, chosen))})")
        lake.insert(edit.table, edit.new)


def keep_through(query: str, script: Script, otherwise: str | None = None) -> Kept:
    """Create a stream table after the first window, refresh it after each other one, check all nodes each time.

    `otherwise` is the same query in words that DuckDB understands, where it is not Spark.
    """
    lake = Lake(TABLES)
    perform(lake, script[0])
    if otherwise is not None:
        lake.answer(otherwise)
        lake.answers[query] = lake.answers[otherwise]
    kept = Kept(lake, query)
    kept.check()
    for window in script[1:]:
        perform(lake, window)
        kept.step()
    return kept


@dataclass(frozen=True)
class Query:
    """A query and the numeric and other columns that it has."""

    text: str
    numbers: tuple[str, ...]
    others: tuple[str, ...]


_BASE = (
    Query("orders", ("id", "cust", "qty", "amount"), ("region",)),
    Query("cust", ("id", "tier"), ("name",)),
    Query("items", ("oid", "n"), ("sku",)),
)


@st.composite
def queries(draw: st.DrawFn, depth: int = 2) -> Query:
    """SELECTs of one or two relations: filtered, grouped, distinct, united, nested."""
    first, second = draw(_relations(depth)), draw(_relations(depth))
    numbers, others = [f"l.{c}" for c in first.numbers], [f"l.{c}" for c in first.others]
    text = f"FROM {first.text} AS l"
    if draw(st.booleans()):
        on = f"l.{draw(st.sampled_from(first.numbers))} = r.{draw(st.sampled_from(second.numbers))}"
        text += f" JOIN {second.text} AS r ON {on}"
        numbers += [f"r.{c}" for c in second.numbers]
        others += [f"r.{c}" for c in second.others]
    if draw(st.booleans()):
        column = draw(st.sampled_from(numbers))
        text += f" WHERE {column} {draw(st.sampled_from(['> 1', '<= 2', 'IS NOT NULL', '<> 2']))}"
    shape = draw(st.sampled_from(["plain", "grouped", "grouped", "distinct", "total"]))
    if shape == "total":
        return Query(
            f"SELECT COUNT(*) AS n, SUM({numbers[0]}) AS s, MAX({numbers[-1]}) AS m {text}", ("n", "s", "m"), ()
        )
    key = draw(st.sampled_from([*others, *numbers]))
    if shape == "grouped":
        calls = ("COUNT(*)", "SUM({})", "MIN({})", "MAX({})", "COUNT({})", "COUNT(DISTINCT {})", "AVG({})")
        chosen = draw(st.lists(st.sampled_from(calls), min_size=1, max_size=3))
        outputs = [f"{call.format(draw(st.sampled_from(numbers)))} AS c{i}" for i, call in enumerate(chosen)]
        having = draw(st.sampled_from(["", "", " HAVING COUNT(*) > 1"]))
        names = tuple(f"c{i}" for i in range(len(outputs)))
        return Query(f"SELECT {key} AS k, {', '.join(outputs)} {text} GROUP BY {key}{having}", names, ("k",))
    value = draw(st.sampled_from(numbers))
    distinct = "DISTINCT " if shape == "distinct" else ""
    select = f"SELECT {distinct}{value} AS v, {key} AS k {text}"
    if draw(st.booleans()):
        select += f" UNION{draw(st.sampled_from(['', ' ALL']))} SELECT {value} + 1 AS v, {key} AS k {text}"
    return Query(select, ("v",), ("k",))


def _relations(depth: int) -> st.SearchStrategy[Query]:
    base = st.sampled_from(_BASE)
    if depth <= 1:
        return base
    nested = queries(depth - 1).map(lambda query: Query(f"({query.text})", query.numbers, query.others))
    return base | nested
