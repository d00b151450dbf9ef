"""Writes docs/sql.md from the tables of rules, functions and refusals. `tests/test_docs.py` checks that it is up to
date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from inspect import cleandoc
from pathlib import Path
from types import ModuleType

from spark_trickle.delta import partitions
from spark_trickle.delta.rules import RULES, STATEFUL, aggregate, distinct
from spark_trickle.model.meaning import ALWAYS, OF_READING, OF_VALUES
from spark_trickle.sql import operators, ties
from spark_trickle.sql.completed import DECISIONS
from spark_trickle.sql.determinism import CLOCK, OTHERS
from spark_trickle.sql.functions import (
    ALGEBRAIC,
    APPROXIMATE,
    COMPLETED,
    GENERATORS,
    RECOMPUTABLE,
    TIME_WINDOW,
    algebraic,
    function_name,
)
from spark_trickle.sql.parse import parse_query
from spark_trickle.sql.refusals import Refused

ROOT = Path(__file__).parents[1]

HEAD = """# The SQL that is kept

What of Spark's SQL is kept incrementally, and how. What is not is recomputed whole (`FULL`), with the reason; a
`strict` stream table refuses it. `engine.explain_query(sql)` tells before anything is created.

Made from the code by `scripts/document_sql.py`.

## What a text means

Where names are looked up, and the settings that decide what a query answers, are pinned with its definition: see
[Consistency](consistency.md). Nothing but a query is accepted as one; a statement is refused, and not run.

{settings}

What reads the clock is recomputed on its schedule, wherever it is written: {clock}; `DATE` and `TIMESTAMP` literals and
casts of 'now', 'today', 'tomorrow' and 'yesterday'; the same in views and SQL functions. These are not deterministic,
and recomputed when a source has changed: {random}.

## Operators

A query becomes a tree of operators. Each has a rule that gives its change from the changes of its inputs. Δ is a
change: rows with a weight, positive for rows that came, negative for rows that went. `before` and `after` are a table
at the two ends of the window, both read from Iceberg's snapshots. The rule is SQL: `explain` prints it.

An operator *with state* is kept in a table of its own, unless it is the last one and its columns suffice.

Steps after `|>` become the operators of the SELECT that each stands for, one over the other.
"""

STANDS_FOR = {
    "Scan": "a table, a view's tables, a stream table",
    "OneRow": "SELECT without FROM, VALUES",
    "Filter": "WHERE, HAVING, QUALIFY, ON of inner joins",
    "Project": "the select list; the parts of GROUPING SETS, CUBE, ROLLUP, PIVOT and UNPIVOT that are computed",
    "Join": "inner joins of any number of tables: comma, CROSS, ON, USING, NATURAL; scalar subqueries; LATERAL",
    "UnionAll": "UNION ALL; the two sides of UNION, INTERSECT and EXCEPT",
    "OuterJoin": "LEFT, RIGHT and FULL JOIN; correlated scalar subqueries; LEFT JOIN LATERAL",
    "Match": "EXISTS, IN, NOT EXISTS, NOT IN, SEMI and ANTI JOIN; as conditions, and as values (a mark)",
    "Generate": "LATERAL VIEW, and in the select list or FROM: "
    + ", ".join(f"`{name}`" for name in sorted(GENERATORS - {TIME_WINDOW}))
    + f"; windows of time: `{TIME_WINDOW}(...)` in the select list or GROUP BY",
    "Aggregate": "GROUP BY, GROUPING SETS, CUBE, ROLLUP, PIVOT, INTERSECT and EXCEPT [ALL], aggregates over everything",
    "Distinct": "SELECT DISTINCT, UNION",
    "Window": "functions with OVER",
    "Limit": "ORDER BY with LIMIT and OFFSET; of a correlated subquery it becomes a row number per outer row",
    "Recursion": "WITH RECURSIVE",
}
WITH_STATE: dict[type, ModuleType] = {
    operators.Aggregate: aggregate,
    operators.Distinct: distinct,
    operators.Window: partitions,
    operators.Limit: partitions,
    operators.Recursion: partitions,
}

CORRELATED = """### Correlated subqueries

They are made independent before any rule sees them: equalities with outer columns become join keys, which pass through
groupings as keys and through windows as partition keys. What cannot pass is decided inside the subquery, for each
different combination of outer values. `IN` as a value is true or false, never NULL, as in Spark; `NOT IN` knows NULLs.
"""

EXAMPLE = """## What explain shows

For `{query}`:

```
{plan}
```
"""

EXACT = """## Exactness

- A stream table equals its query at its frontier, as a multiset, with Spark's types.
- Integers and decimals are exact. Sums of them are merged; a decimal so wide that a product with a weight could lose
  digits is recomputed per group instead.
- A floating sum (and an average of floating values) is added to when rows come. Its group is recomputed when rows left
  it, or when the sum became so small beside its parts that digits are lost (`1e16 + 1 - 1e16`).
- `verify` runs the query itself and compares. Floating columns may differ by 1e-9 of their value, because the order of
  additions is not fixed even between two runs of one query.
- A query with a function that gives another answer each time (`rand()`, `uuid()`, `current_timestamp`, ...) is not
  kept incrementally.
- A group whose change does not fit the type of its sum (9e18 becomes -9e18) is recomputed; a sum that does not fit
  fails as the query does.
- An average of `BIGINT` is its exact sum, as a double, divided by the count: it is right but for the last digit, in
  whatever order rows came. Spark adds doubles, row by row. As long as no sum on its way has more than 53 bits, both
  are the same; then Spark's last digits differ; and where large numbers cancel (`9e18 + 1 - 9e18`), its answer depends
  on the order of rows, and `verify`, which asks it, may tell of a difference that is not ours.
  `AVG(CAST(x AS DECIMAL(20,0)))` is exact in both.

## Types of columns

A stream table's columns have the types of its query. Iceberg has no integers shorter than `INT`: `TINYINT` and
`SMALLINT` become that, and a notice says so. What it cannot hold at all is refused when the stream table is made:
intervals, `TIME`, columns without a type (`NULL` alone), and texts with a collation, which nobody would keep.
"""


def text() -> str:
    return "\n".join([_head(), _operators(), CORRELATED, _aggregates(), _windows(), _example(), EXACT, _refusals()])


def _head() -> str:
    always = "; ".join(f"`{key}` ({value} in sessions of ours)" for key, value in sorted(ALWAYS.items()))
    kept = _listed(OF_VALUES)
    lines = [
        f"- Always pinned: {always}.",
        "- Pinned where they are not what Spark has by itself: all other SQL settings that change an answer.",
        f"- Kept incrementally with any value: {kept}.",
        f"- Kept incrementally where Spark reads the query as it does without them: {_listed(OF_READING)}.",
        "- With others a query is recomputed whole; the reason tells.",
    ]
    return HEAD.format(settings="\n".join(lines), clock=_listed(CLOCK), random=_listed(OTHERS))


def _operators() -> str:
    known: dict[type, ModuleType] = {kind: sys.modules[rule.__module__] for kind, rule in RULES.items()} | WITH_STATE
    assert set(known) == set(RULES) | STATEFUL
    sections = []
    for module in dict.fromkeys(known.values()):
        kinds = [kind for kind in known if known[kind] is module]
        names = [kind.__name__ for kind in kinds]
        state = "with state" if kinds[0] in STATEFUL else "without state"
        lines = [f"### {', '.join(names)} ({state})", ""]
        lines += [f"- **{name}**: {STANDS_FOR[name]}" for name in names]
        sections.append("\n".join([*lines, "", cleandoc(module.__doc__ or ""), ""]))
    return "\n".join(sections)


def _aggregates() -> str:
    merged = {name for name in RECOMPUTABLE if _is_merged(name)}
    lines = [
        "## Aggregates",
        "",
        "| aggregates | how they are kept |",
        "|---|---|",
        f"| {_listed(ALGEBRAIC | merged)} | merged into their value; if a group lost its extremum, it is recomputed |",
        f"| {_listed(RECOMPUTABLE - merged)} | the groups that changed are recomputed |",
        f"| {_listed(COMPLETED)} | first decided, see below; then like the aggregates that they become |",
        f"| {_listed(APPROXIMATE)} | recomputed; a notice says that the value is approximated anew |",
        "",
        "FILTER becomes CASE, so it changes nothing of this for COUNT, SUM, AVG, MIN and MAX. Where all aggregates",
        "with DISTINCT take the same values, the grouping is kept in two levels, both merged, if the types allow it:",
        "first the different values of each group, then the groups. Other uses of DISTINCT recompute the groups that",
        "changed. One aggregate that must be recomputed makes its whole grouping so.",
        "",
        "Some aggregates may give several answers for the same rows. One of them is chosen, always the same, and a",
        "notice says which:",
        "",
        "| aggregates | answer |",
        "|---|---|",
    ]
    for decide in dict.fromkeys(DECISIONS.values()):
        names = _listed(name for name, found in DECISIONS.items() if found is decide)
        lines.append(f"| {names} | {_plain(decide.__doc__)} |")
    return "\n".join([*lines, ""])


def _windows() -> str:
    lines = [
        "## Window functions and ties",
        "",
        "Partitions that a change touches are computed again. Where the result depends on which of several equal rows",
        "comes first, the order is completed with the other columns that the query reads, and a notice says so; so is",
        "the order of a LIMIT. Rows that agree on all of them cannot be told apart.",
        "",
        "| functions with OVER | what ties mean |",
        "|---|---|",
        f"| {_listed(ties.RANKS)} | nothing: equal rows get the same |",
        f"| {_listed(ties.POSITIONS)} | the completed order decides |",
        f"| {_listed(ties.PICKS | ties.LISTS)} | the completed order decides, within the frame that was written |",
        f"| {_listed(ties.BY_ARRIVAL - APPROXIMATE)} and approximations | the completed order decides |",
        "| other aggregates | with a frame of ROWS the completed order decides; else nothing |",
        "",
    ]
    return "\n".join(lines)


def _example() -> str:
    golden = (ROOT / "tests" / "cases" / "delta" / "aggregate.sql").read_text(encoding="utf-8")
    query, rest = golden.split("\n", 1)[1].split("\n---- plan\n", 1)
    return EXAMPLE.format(query=query, plan=rest.split("\n\n-- title", 1)[0].strip())


def _refusals() -> str:
    lines = [
        "## What is refused, and what to write instead",
        "",
        "Each message names the construct, its line and column, and the rewrite. Words in braces are filled in.",
        "",
        "| construct | why | write instead |",
        "|---|---|---|",
    ]
    for what in Refused:
        entry = what.value
        lines.append(f"| {' | '.join(_cell(part) for part in (entry.construct, entry.why, entry.rewrite))} |")
    return "\n".join([*lines, ""])


def _is_merged(name: str) -> bool:
    """Whether the builder makes an aggregate of it that is merged."""
    return function_name(algebraic(parse_query(f"SELECT {name}(x)").selects[0])) in ALGEBRAIC


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _plain(doc: str | None) -> str:
    return _cell(" ".join(cleandoc(doc or "").split()))


def _cell(part: str) -> str:
    return part.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


if __name__ == "__main__":
    (ROOT / "docs" / "sql.md").write_text(text(), encoding="utf-8")
