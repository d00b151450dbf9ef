"""A stream table kept in DuckDB: the same programs and merge statements as on Spark, run in milliseconds and compared
with the query.

Leaves are schemas here (`before`, `after`, `changes`, `step`): the generated SQL runs as it is, in DuckDB's dialect.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import duckdb
from sqlglot import exp

from spark_trickle.delta import transitions
from spark_trickle.delta.merge import keyed_merge_statement, keyed_removal_statement, keyed_rewritten
from spark_trickle.delta.nodes import plan
from spark_trickle.delta.plan import PUBLIC, WEIGHT, Column, MaintenancePlan, Node
from spark_trickle.delta.program import Program, Writing, program
from spark_trickle.delta.sizes import MOVED_ROWS, STEP_ROWS, Own, Sizes
from spark_trickle.errors import NotFoundError
from spark_trickle.names import DEFAULT_NAMESPACE, TableName
from spark_trickle.sql.build import build
from spark_trickle.sql.leaves import (
    KeptLeaf,
    Leaf,
    SourceLeaf,
    StateLeaf,
    Version,
    leaf_table,
    leaves_of,
    resolve,
)
from spark_trickle.sql.parse import parse_query
from spark_trickle.sql.sources import SourceTable, SourceView
from tests.support.duck_dialect import duck_sql, in_duckdb, literal, spark_type, with_word_all
from tests.support.duck_program import Carrier

Row = tuple[Any, ...]
_PUBLIC = StateLeaf(PUBLIC)


def source(name: str) -> SourceLeaf:
    """The leaf of a table of the lake."""
    return SourceLeaf(TableName(DEFAULT_NAMESPACE, name))


def duck_name(leaf: Leaf, version: Version = Version.AFTER) -> str:
    """The table of DuckDB that a leaf is."""
    return leaf_table(leaf, version).sql(dialect="duckdb")


@dataclass(frozen=True)
class Table:
    """A source: its columns as DuckDB declares them; `NOT NULL` counts."""

    name: str
    columns: str


@dataclass
class Lake:
    """Sources in DuckDB, with what they were at the last refresh."""

    tables: Sequence[Table]
    views: dict[str, str] = field(default_factory=dict)
    connection: Any = field(default_factory=lambda: duckdb.connect(config={"threads": 1}))
    answers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for schema in ("before", "after", "changes", "step", "planned"):
            self.run(f"CREATE SCHEMA {schema}")
        self.schemas: dict[str, tuple[tuple[str, str], ...]] = {}
        self.required: set[str] = set()
        self.planned: dict[Leaf, bool] = {}
        for table in self.tables:
            leaf = source(table.name)
            self.run(f"CREATE TABLE {duck_name(leaf)} ({table.columns})")
            self.remember(leaf)
            found = self.run(f"DESCRIBE {duck_name(leaf)}")
            self.schemas[table.name] = tuple((name, spark_type(kind)) for name, kind, *_ in found)
            self.required |= {name for name, _, nullable, *_ in found if nullable == "NO"}

    def run(self, sql: str) -> list[Row]:
        return self.connection.execute(sql).fetchall()  # type: ignore[no-any-return]

    def fill(self, table: str, query: str) -> int:
        """Put what a query gives into a table; how many rows are there?"""
        return self.run(f"CREATE OR REPLACE TABLE {table} AS {query}")[0][0]  # type: ignore[no-any-return]

    def insert(self, table: str, rows: Iterable[Row]) -> None:
        values = ", ".join("(" + ", ".join(literal(value) for value in row) + ")" for row in rows)
        if values:
            self.run(f"INSERT INTO {duck_name(source(table))} VALUES {values}")

    def remember(self, leaf: KeptLeaf) -> None:
        """What is now will be `before`."""
        self.run(f"CREATE OR REPLACE TABLE {duck_name(leaf, Version.BEFORE)} AS SELECT * FROM {duck_name(leaf)}")

    def diff(self, leaf: KeptLeaf) -> int:
        """Fill `changes` of a table; how many rows are there? 0.0 and -0.0 are different here, as they are in files."""
        columns = self.run(f"DESCRIBE {duck_name(leaf)}")
        floating = {name for name, kind, *_ in columns if kind in ("DOUBLE", "FLOAT")}
        values = [f'ANY_VALUE("{name}") AS "{name}"' if name in floating else f'"{name}"' for name, *_ in columns]
        keys = [f'"{name}"::TEXT' if name in floating else f'"{name}"' for name, *_ in columns]
        return self.fill(
            duck_name(leaf, Version.CHANGES),
            f"SELECT {', '.join(values)}, SUM(_trickle_w)::BIGINT AS {WEIGHT} FROM "
            f"(SELECT *, 1 AS _trickle_w FROM {duck_name(leaf)} "
            f"UNION ALL SELECT *, -1 FROM {duck_name(leaf, Version.BEFORE)}) "
            f"GROUP BY {', '.join(keys)} HAVING SUM(_trickle_w) <> 0",
        )

    def resolve(self, parts: tuple[str, ...]) -> SourceTable | SourceView:
        name = parts[-1].lower()
        if name in self.views:
            return SourceView(self.views[name], "default")
        if name not in self.schemas:
            raise NotFoundError("table", ".".join(parts))
        return SourceTable(source(name).table, self.schemas[name])

    def describe(self, query: exp.Query) -> tuple[Column, ...]:
        required = self.required if self._certain(query) else set()
        found = self.run(f"DESCRIBE {self._over_planned(query)}")
        return tuple(
            Column(name, spark_type(kind), not _is_required(output, required))
            for (name, kind, *_), output in zip(found, query.selects, strict=True)
        )

    def keep(self, leaf: StateLeaf, query: exp.Query) -> tuple[Column, ...]:
        self.run(f'CREATE OR REPLACE TABLE planned."{leaf}" AS SELECT * FROM ({self._over_planned(query)}) LIMIT 0')
        self.planned[leaf] = self._certain(query)
        return self.describe(query)

    def _certain(self, query: exp.Query) -> bool:
        """Is no column NULL that no table has as NULL? What stands beside a row without partner is."""
        padded = any(join.side in ("LEFT", "RIGHT", "FULL") and not join.kind for join in query.find_all(exp.Join))
        return not padded and all(
            isinstance(leaf, SourceLeaf) or self.planned.get(leaf, False) for _, leaf in leaves_of(query)
        )

    def _over_planned(self, query: exp.Query) -> str:
        """The query over nodes that do not exist yet: over empty tables with their columns."""

        def empty(version: Version, leaf: Leaf) -> exp.Expr:
            planned = leaf in self.planned
            return exp.table_(str(leaf), db="planned", quoted=True) if planned else leaf_table(leaf, version)

        return duck_sql(resolve(query, empty), copy=False)

    def answer(self, query: str) -> Counter[Row]:
        """The user's query over the sources as they are now."""
        if query not in self.answers:
            self.answers[query] = self._answer(query)
        return multiset(self.run(self.answers[query]))

    def _answer(self, query: str) -> str:
        tree = parse_query(query)
        names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        for table in list(tree.find_all(exp.Table)):
            view = self.views.get(table.name.lower())
            if view is not None:
                alias = exp.TableAlias(this=exp.to_identifier(table.alias or table.name))
                table.replace(exp.Subquery(this=parse_query(view), alias=alias))
        for table in list(tree.find_all(exp.Table)):
            if table.name.lower() not in names:
                leaf = leaf_table(source(table.name.lower()))
                named = exp.alias_(leaf, table.alias or table.name, table=True, quoted=True)
                named.set("joins", table.args.get("joins"))  # of `(a JOIN b)`
                table.replace(named)
        return in_duckdb(with_word_all(tree)).sql(dialect="duckdb", copy=False)


@dataclass
class Kept:
    """One stream table over a lake."""

    lake: Lake
    text: str
    maintenance: MaintenancePlan = field(init=False)
    carrier: Carrier = field(init=False)
    turns: int = 0
    written: int = 0
    """Rows of change that reached a table."""
    texts: dict[object, str] = field(default_factory=dict)
    """SQL that was generated before."""
    programs: dict[object, Program | None] = field(default_factory=dict)
    large: Mapping[Leaf, int] = field(default_factory=dict)
    """Leaves that count as large: all tables for every other text, unless somebody says otherwise."""
    thorough: bool = True
    """Look also at what is made on the way: each node, the whole rewritten table, the change that is told."""

    def __post_init__(self) -> None:
        self.carrier = Carrier(self.lake, duck_name)
        self.maintenance = plan(build(self.text, self.lake), self.lake)
        if len(self.text) % 2:
            self.large = {leaf: 10 ** (place % 3) for place, leaf in enumerate(self.maintenance.sources)}
        for node in self.maintenance.nodes:
            self.lake.run(f"CREATE TABLE {duck_name(node.leaf)} AS {duck_sql(node.query)}")
        for leaf in self.leaves:
            self.lake.remember(leaf)

    @property
    def leaves(self) -> tuple[KeptLeaf, ...]:
        """All that nodes read."""
        return (*self.maintenance.sources, *(node.leaf for node in self.maintenance.nodes[:-1]))

    def refresh(self) -> None:
        """Take what changed in the sources into every node, in order."""
        lake = self.lake
        if self.thorough:
            lake.remember(_PUBLIC)
        changed: set[KeptLeaf] = {leaf for leaf in self.maintenance.sources if lake.diff(leaf)}
        for node in self.maintenance.nodes:
            made = self._program(node, frozenset(changed))
            if made is None or not self._carried_out(node, made):
                continue
            if node.label == PUBLIC and not self.thorough:  # nobody reads its change
                continue
            if written := lake.diff(node.leaf):
                changed.add(node.leaf)
                self.written += written
            if self.thorough and made.writing is Writing.TRANSITIONS:
                self._check_change(node)
        for leaf in changed - {_PUBLIC}:
            lake.remember(leaf)

    def _program(self, node: Node, changed: frozenset[KeptLeaf]) -> Program | None:
        """Every other time as if the node's own table were large, and its one row could not be brought."""
        self.turns += 1
        large = self.turns % 2 == 0
        key = (node.label, changed, large)
        if key not in self.programs:
            # How much larger one is than another counts, too.
            tables = {leaf: STEP_ROWS * (1 + rows) + 1 for leaf, rows in self.large.items()}
            own = Own(rows=MOVED_ROWS + large, travels=not large)
            self.programs[key] = program(node, changed, Sizes(tables=tables, own=own))
        return self.programs[key]

    @property
    def recomputations(self) -> int:
        """Groups that were computed again."""
        return self.carrier.recomputations

    @property
    def staged(self) -> bool:
        """Was a part of some change computed before the rest?"""
        return any(each is not None and each.shares for each in self.programs.values())

    def _carried_out(self, node: Node, made: Program) -> bool:
        """Is there anything to write?"""
        if not self.carrier.rows_to_write(node, made):
            return False
        if made.writing is Writing.CHANGE:
            self._apply_change(node)
        elif made.writing is Writing.TRANSITIONS:
            self._apply(node)
        else:
            self.lake.run(f"DELETE FROM {duck_name(node.leaf)}")
            self.lake.run(f"INSERT INTO {duck_name(node.leaf)} FROM step.delta")
        return True

    def check(self) -> None:
        """Every node equals its query, and the public one the user's text."""
        for node in self.maintenance.nodes if self.thorough else ():
            text = self._text((node.label, "query"), node, lambda n: n.query)
            assert self.rows(node.leaf) == multiset(self.lake.run(text)), f"{node.label} of {self.text}"
        assert self.rows() == self.lake.answer(self.text), self.text

    def rows(self, leaf: KeptLeaf = _PUBLIC) -> Counter[Row]:
        return multiset(self.lake.run(f"FROM {duck_name(leaf)}"))

    def step(self) -> None:
        self.refresh()
        self.check()

    def _apply(self, node: Node) -> None:
        """What becomes of the groups is in `step.transitions`."""
        lake = self.lake
        rows = self._make("row", node, transitions.new_rows)
        if node.key:
            self._note_rewritten(node, transitions.rewritten)
            if self._two_steps():
                self._run("removal", node, transitions.removal_statement)
                lake.run(f"INSERT INTO {duck_name(node.leaf)} FROM step.row")
            else:
                self._run("write", node, transitions.write_statement)
            self._check_rewritten(node)
        elif rows:
            lake.run(f"DELETE FROM {duck_name(node.leaf)}")
            lake.run(f"INSERT INTO {duck_name(node.leaf)} FROM step.row")

    def _apply_change(self, node: Node) -> None:
        """The change of the rows themselves is in `step.delta`."""
        lake = self.lake
        names = ", ".join(f'"{name}"' for name in node.columns)
        if self.thorough:
            repeated = lake.run(f"SELECT {names} FROM step.delta GROUP BY ALL HAVING COUNT(*) > 1 OR SUM({WEIGHT}) = 0")
            assert not repeated or node.upkeep.floating, f"not consolidated: {repeated}"
        if not node.key:
            self._apply_rows(node)
            return
        self._note_rewritten(node, keyed_rewritten)
        if self._two_steps():
            self._run("keyed removal", node, keyed_removal_statement)
            lake.run(f"INSERT INTO {duck_name(node.leaf)} SELECT {names} FROM step.delta WHERE {WEIGHT} > 0")
        else:
            self._run("merge", node, keyed_merge_statement)
        self._check_rewritten(node)

    def _note_rewritten(self, node: Node, make: Callable[[Node], exp.Expr | None]) -> None:
        """What a table will be where it is written anew as a whole."""
        if self.thorough:
            self._make("rewritten", node, make)

    def _check_rewritten(self, node: Node) -> None:
        if self.thorough:
            expected = multiset(self.lake.run("FROM step.rewritten"))
            assert expected == self.rows(node.leaf), f"{node.label} of {self.text}"

    def _two_steps(self) -> bool:
        """Every other time rows are removed and added in two statements, as it is done with large tables."""
        self.turns += 1
        return self.turns % 2 == 0

    def _check_change(self, node: Node) -> None:
        """The change that is told to others is the change that was made, which is in `changes`."""
        self._make("change", node, transitions.change)
        told = self.lake.run("SELECT * FROM step.change")
        names = ", ".join(f'"{name}"' for name in (*node.columns, WEIGHT))
        made = self.lake.run(f"SELECT {names} FROM {duck_name(node.leaf, Version.CHANGES)}")
        assert multiset(told) == multiset(made), f"{node.label} of {self.text}"

    def _make(self, step: str, node: Node, make: Callable[[Node], exp.Expr | None]) -> int:
        return self.lake.fill(f"step.{step}", self._text((node.label, step), node, make))

    def _apply_rows(self, node: Node) -> None:
        """Rows are deleted by address, so that of equal rows only as many go as should."""
        lake, table = self.lake, duck_name(node.leaf)
        same = " AND ".join(
            f't."{name}" IS NOT DISTINCT FROM d."{name}" AND t."{name}"::TEXT IS NOT DISTINCT FROM d."{name}"::TEXT'
            for name in node.columns
        )
        names = ", ".join(f'"{name}"' for name in node.columns)
        wanted = lake.run(f"SELECT COALESCE(SUM(-{WEIGHT}), 0) FROM step.delta WHERE {WEIGHT} < 0")[0][0]
        gone = (
            wanted
            and lake.run(
                f"DELETE FROM {table} WHERE rowid IN (SELECT address FROM (SELECT t.rowid AS address, d.{WEIGHT} AS w, "
                f"ROW_NUMBER() OVER (PARTITION BY d.rowid) AS n FROM {table} AS t JOIN step.delta AS d ON {same} "
                f"WHERE d.{WEIGHT} < 0) WHERE n <= -w)"
            )[0][0]
        )
        assert gone == wanted, f"{wanted} rows should go, {gone} were there: {self.text}"
        lake.run(
            f"INSERT INTO {table} SELECT {names} FROM "
            f"(SELECT *, UNNEST(range({WEIGHT}::BIGINT)) FROM step.delta WHERE {WEIGHT} > 0)"
        )

    def _run(self, kind: object, node: Node, make: Callable[[Node], exp.Expr | None]) -> None:
        self.lake.run(self._text((node.label, kind), node, make))

    def _text(self, key: object, node: Node, make: Callable[[Node], exp.Expr | None]) -> str:
        if key not in self.texts:
            made = make(node)
            assert made is not None
            self.texts[key] = duck_sql(made, node.leaf, copy=made is node.query)
        return self.texts[key]


def multiset(rows: Iterable[Row]) -> Counter[Row]:
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> Any:
    """Numbers as numbers: 1, 1.0 and Decimal(1) are the same answer; the last digits of a double are not compared."""
    if isinstance(value, (Decimal, float, int)) and not isinstance(value, bool):
        number = float(value)
        if math.isnan(number):
            return "NaN"
        return float(f"{number:.10g}")
    if isinstance(value, list):
        return tuple(_plain(part) for part in value)
    if isinstance(value, dict):
        return tuple((name, _plain(part)) for name, part in value.items())
    return value


def _is_required(output: exp.Expr, required: set[str]) -> bool:
    bare = output.unalias()
    return isinstance(bare, exp.Column) and re.sub(r"_\d+$", "", bare.name) in required
