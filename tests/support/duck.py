"""A stream table kept in DuckDB: the same plan, deltas and merge statements as on Spark, run in milliseconds and
compared with the query.

Leaves are schemas here (`before`, `after`, `changes`, `step`), so the generated SQL runs as it is, in DuckDB's
dialect.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

import duckdb
from sqlglot import exp

from spark_trickle.delta import transitions
from spark_trickle.delta.differentiate import delta
from spark_trickle.delta.merge import keyed_merge_statement, keyed_removal_statement, keyed_rewritten, recomputed
from spark_trickle.delta.nodes import plan
from spark_trickle.delta.partitions import partition_change
from spark_trickle.delta.plan import WEIGHT, Bag, Column, Delta, MaintenancePlan, Node, Partitions, bounded_by
from spark_trickle.delta.ranges import KEY_RANGE
from spark_trickle.errors import NotFoundError
from spark_trickle.sql.build import build
from spark_trickle.sql.parse import parse_query
from spark_trickle.sql.sources import SourceTable, SourceView

_SPARK_TYPES = {
    "TINYINT": "tinyint", "SMALLINT": "smallint", "INTEGER": "int", "BIGINT": "bigint", "HUGEINT": "decimal(38,0)",
    "DOUBLE": "double", "FLOAT": "float", "VARCHAR": "string", "BOOLEAN": "boolean",
    "DATE": "date", "TIMESTAMP": "timestamp_ntz",
}  # fmt: skip
Row = tuple[Any, ...]


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
        for schema in ("before", "after", "changes", "step"):
            self.run(f"CREATE SCHEMA {schema}")
        self.schemas: dict[str, tuple[tuple[str, str], ...]] = {}
        self.required: set[str] = set()
        for table in self.tables:
            self.run(f"CREATE TABLE after.{table.name} ({table.columns})")
            self.remember(table.name)
            found = self.run(
                f"SELECT column_name, data_type, is_nullable FROM information_schema.columns "
                f"WHERE table_schema = 'after' AND table_name = '{table.name}' ORDER BY ordinal_position"
            )
            self.schemas[table.name] = tuple((name, spark_type(kind)) for name, kind, _ in found)
            self.required |= {name for name, _, nullable in found if nullable == "NO"}

    def run(self, sql: str) -> list[Row]:
        return self.connection.execute(sql).fetchall()  # type: ignore[no-any-return]

    def query(self, query: exp.Expr) -> str:
        return in_duckdb(_with_bounds(query)).sql(dialect="duckdb")

    def insert(self, table: str, rows: Iterable[Row]) -> None:
        values = ", ".join("(" + ", ".join(_literal(value) for value in row) + ")" for row in rows)
        if values:
            self.run(f"INSERT INTO after.{table} VALUES {values}")

    def remember(self, table: str) -> None:
        """What is now will be `before`."""
        self.run(f'CREATE OR REPLACE TABLE before."{table}" AS SELECT * FROM after."{table}"')

    def diff(self, table: str) -> bool:
        """Fill `changes` of a table; is there any? 0.0 and -0.0 are different here, as they are in files."""
        columns = self.run(f'DESCRIBE after."{table}"')
        floating = {name for name, kind, *_ in columns if kind in ("DOUBLE", "FLOAT")}
        values = [f'ANY_VALUE("{name}") AS "{name}"' if name in floating else f'"{name}"' for name, *_ in columns]
        keys = [f'"{name}"::TEXT' if name in floating else f'"{name}"' for name, *_ in columns]
        self.run(
            f'CREATE OR REPLACE TABLE changes."{table}" AS SELECT {", ".join(values)}, SUM(w)::BIGINT AS {WEIGHT} FROM '
            f'(SELECT *, 1 AS w FROM after."{table}" UNION ALL SELECT *, -1 AS w FROM before."{table}") '
            f"GROUP BY {', '.join(keys)} HAVING SUM(w) <> 0"
        )
        return bool(self.run(f'SELECT 1 FROM changes."{table}" LIMIT 1'))

    def resolve(self, parts: tuple[str, ...]) -> SourceTable | SourceView:
        name = parts[-1].lower()
        if name in self.views:
            return SourceView(self.views[name], "default")
        if name not in self.schemas:
            raise NotFoundError("table", ".".join(parts))
        return SourceTable(name, self.schemas[name])

    def describe(self, query: exp.Query) -> tuple[Column, ...]:
        found = self.run(f"DESCRIBE {self.query(query)}")
        outputs = query.selects
        # What stands beside a row without partner is NULL, whatever the column says.
        certain = not any(join.side in ("LEFT", "RIGHT", "FULL") and not join.kind for join in query.find_all(exp.Join))
        certain &= all(table.name in self.schemas for table in query.find_all(exp.Table) if table.db)
        required = self.required if certain else set()
        return tuple(
            Column(name, spark_type(kind), not _is_required(output, required))
            for (name, kind, *_), output in zip(found, outputs, strict=True)
        )

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
                table.set("db", exp.to_identifier("after"))
                table.set("catalog", None)
        return in_duckdb(tree).sql(dialect="duckdb")


@dataclass
class Kept:
    """One stream table over a lake."""

    lake: Lake
    text: str
    maintenance: MaintenancePlan = field(init=False)
    recomputations: int = 0
    """Groups that were computed again."""
    turns: int = 0
    written: int = 0
    """Rows of change that reached a table."""
    texts: dict[object, str | None] = field(default_factory=dict)
    """SQL that was generated before."""
    deltas: dict[object, Delta | None] = field(default_factory=dict)
    large: frozenset[str] = frozenset()
    """Leaves that count as large: all of them for every other text."""

    def __post_init__(self) -> None:
        self.maintenance = plan(build(self.text, self.lake), self.lake.describe)
        if len(self.text) % 2:
            self.large = frozenset(self.maintenance.sources)
        for node in self.maintenance.nodes:
            self.lake.run(f'CREATE TABLE after."{node.label}" AS {self.lake.query(node.query)}')
        for table in (*self.maintenance.sources, *(node.label for node in self.maintenance.nodes)):
            self.lake.remember(table)

    def refresh(self) -> None:
        """Take what changed in the sources into every node, in order."""
        lake = self.lake
        changed = {table for table in self.maintenance.sources if lake.diff(table)}
        for node in self.maintenance.nodes:
            if not self._compute(
                (node.label, frozenset(changed)), node, partial(delta, changed=frozenset(changed), large=self.large)
            ):
                continue
            if isinstance(node.upkeep, Partitions):
                lake.run("CREATE OR REPLACE TABLE step.groups AS FROM step.delta")
                if not self._compute((node.label, "change"), node, partition_change):
                    continue
            self._apply(node)
            if lake.diff(node.label):
                changed.add(node.label)
                self.written += lake.run(f'SELECT COUNT(*) FROM changes."{node.label}"')[0][0]
        for table in changed:
            lake.remember(table)

    def _compute(self, key: object, node: Node, make: Callable[[Node], Delta | None]) -> bool:
        """Fill `step.delta`, and what it shares before; is there any row?"""
        if key not in self.deltas:
            self.deltas[key] = make(node)
        change = self.deltas[key]
        if change is None:
            return False
        for shared in change.shared:
            text = self._text((key, shared.name), node, lambda _, q=shared.query: q)  # type: ignore[misc]
            self.lake.run(f"CREATE OR REPLACE TABLE step.{shared.name} AS {text}")
        text = self._text((key, "delta"), node, lambda _: change.query)
        self.lake.run(f"CREATE OR REPLACE TABLE step.delta AS {text}")
        return bool(self.lake.run("SELECT 1 FROM step.delta LIMIT 1"))

    def check(self) -> None:
        """Every node equals its query, and the public one the user's text."""
        for node in self.maintenance.nodes:
            text = self._text((node.label, "query"), node, lambda n: n.query)
            assert text is not None
            assert self.rows(node.label) == multiset(self.lake.run(text)), f"{node.label} of {self.text}"
        assert self.rows() == self.lake.answer(self.text), self.text

    def rows(self, label: str = "public") -> Counter[Row]:
        return multiset(self.lake.run(f'FROM after."{label}"'))

    def step(self) -> None:
        self.refresh()
        self.check()

    def _apply(self, node: Node) -> None:
        lake = self.lake
        if isinstance(node.upkeep, (Bag, Partitions)):
            names = ", ".join(f'"{name}"' for name in node.columns)
            repeated = lake.run(f"SELECT {names} FROM step.delta GROUP BY ALL HAVING COUNT(*) > 1 OR SUM({WEIGHT}) = 0")
            assert not repeated or node.upkeep.floating, f"not consolidated: {repeated}"
            if node.key:
                self._make("rewritten", node, keyed_rewritten)
            if node.key and self._two_steps():
                self._run("keyed removal", node, keyed_removal_statement)
                lake.run(f'INSERT INTO after."{node.label}" SELECT {names} FROM step.delta WHERE {WEIGHT} > 0')
            elif node.key:
                self._run("merge", node, keyed_merge_statement)
            else:
                self._apply_rows(node)
            if node.key:
                assert multiset(lake.run("FROM step.rewritten")) == self.rows(node.label), (
                    f"{node.label} of {self.text}"
                )
            return
        self._make("transitions", node, transitions.transitions)
        again = lake.run(f"SELECT COUNT(*) FROM step.transitions WHERE {transitions.FLAG}")[0][0]
        if again:
            self.recomputations += again
            self._make("groups", node, transitions.flagged_keys)
            self._make("recomputed", node, recomputed)
            self._make("settled", node, transitions.settled)
            lake.run("CREATE OR REPLACE TABLE step.transitions AS FROM step.settled")
        self._make("row", node, transitions.new_rows)
        if node.key:
            self._make("rewritten", node, transitions.rewritten)
            if self._two_steps():
                self._run("removal", node, transitions.removal_statement)
                lake.run(f'INSERT INTO after."{node.label}" FROM step.row')
            else:
                self._run("write", node, transitions.write_statement)
            assert multiset(lake.run("FROM step.rewritten")) == self.rows(node.label), f"{node.label} of {self.text}"
        else:
            if lake.run("FROM step.row"):
                lake.run(f'DELETE FROM after."{node.label}"')
                lake.run(f'INSERT INTO after."{node.label}" FROM step.row')
        self._check_change(node)

    def _two_steps(self) -> bool:
        """Every other time rows are removed and added in two statements, as it is done with large tables."""
        self.turns += 1
        return self.turns % 2 == 0

    def _check_change(self, node: Node) -> None:
        """The change that is told to others is the change that was made."""
        self._make("change", node, transitions.change)
        told = self.lake.run("SELECT * FROM step.change")
        self.lake.diff(node.label)
        names = ", ".join(f'"{name}"' for name in (*node.columns, WEIGHT))
        made = self.lake.run(f'SELECT {names} FROM changes."{node.label}"')
        assert multiset(told) == multiset(made), f"{node.label} of {self.text}"

    def _make(self, step: str, node: Node, make: Callable[[Node], exp.Expr | None]) -> None:
        self.lake.run(f"CREATE OR REPLACE TABLE step.{step} AS {self._text((node.label, step), node, make)}")

    def _apply_rows(self, node: Node) -> None:
        """Rows are deleted by address, so that of equal rows only as many go as should."""
        lake, table = self.lake, f'after."{node.label}"'
        same = " AND ".join(
            f't."{name}" IS NOT DISTINCT FROM d."{name}" AND t."{name}"::TEXT IS NOT DISTINCT FROM d."{name}"::TEXT'
            for name in node.columns
        )
        names = ", ".join(f'"{name}"' for name in node.columns)
        wanted = lake.run(f"SELECT COALESCE(SUM(-{WEIGHT}), 0) FROM step.delta WHERE {WEIGHT} < 0")[0][0]
        gone = lake.run(
            f"DELETE FROM {table} WHERE rowid IN (SELECT address FROM (SELECT t.rowid AS address, d.{WEIGHT} AS w, "
            f"ROW_NUMBER() OVER (PARTITION BY d.rowid) AS n FROM {table} AS t JOIN step.delta AS d ON {same} "
            f"WHERE d.{WEIGHT} < 0) WHERE n <= -w)"
        )[0][0]
        assert gone == wanted, f"{wanted} rows should go, {gone} were there: {self.text}"
        lake.run(
            f"INSERT INTO {table} SELECT {names} FROM "
            f"(SELECT *, UNNEST(range({WEIGHT}::BIGINT)) FROM step.delta WHERE {WEIGHT} > 0)"
        )

    def _run(self, kind: object, node: Node, make: Callable[[Node], exp.Expr | None]) -> None:
        text = self._text((node.label, kind), node, make)
        assert text is not None
        self.lake.run(text)

    def _text(self, key: object, node: Node, make: Callable[[Node], exp.Expr | None]) -> str | None:
        def put(found: exp.Expr) -> exp.Expr:
            if isinstance(found, exp.Table) and found.db == "step" and found.name == "target":
                alias = found.args.get("alias")
                return exp.Table(this=exp.to_identifier(node.label), db=exp.to_identifier("after"), alias=alias)
            return found

        if key not in self.texts:
            made = make(node)
            self.texts[key] = None if made is None else self.lake.query(made.transform(put))
        return self.texts[key]


def spark_type(kind: str) -> str:
    """DuckDB's type in Spark's words."""
    if kind.startswith("DECIMAL"):
        return kind.lower().replace(" ", "")
    if kind.endswith("[]"):
        return f"array<{spark_type(kind[:-2])}>"
    return _SPARK_TYPES.get(kind, kind.lower())


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


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'::DOUBLE" if isinstance(value, float) else f"'{value}'"


def _is_required(output: exp.Expr, required: set[str]) -> bool:
    bare = output.unalias()
    return isinstance(bare, exp.Column) and re.sub(r"_\d+$", "", bare.name) in required


def in_duckdb(query: exp.Expr) -> exp.Expr:
    """Spark's generators in DuckDB's words."""
    query = query.transform(_sequence)
    for select in list(query.find_all(exp.Select)):
        for view in select.args.pop("laterals", None) or ():
            names = [found.name for found in view.args["alias"].args["columns"]]
            made = zip(_unnested(view.this), names, strict=True)
            rows = exp.select(*(exp.alias_(v, n, quoted=True) for v, n in made))
            alias = exp.TableAlias(this=view.args["alias"].this)
            lateral = exp.Lateral(this=exp.Subquery(this=rows), alias=alias)
            join = exp.Join(this=lateral, kind="CROSS")
            if view.args.get("outer"):
                join = exp.Join(this=lateral, side="LEFT", on=exp.true())
            select.append("joins", join)
    return query


def _sequence(node: exp.Expr) -> exp.Expr:
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if name == "array":
        return exp.Array(expressions=node.expressions)
    word = {"sequence": "GENERATE_SERIES", "raise_error": "ERROR"}.get(name)
    return exp.Anonymous(this=word, expressions=node.expressions) if word else node


def _unnested(call: exp.Expr) -> list[exp.Expr]:
    name, (array, *_) = call.name.lower(), call.expressions
    unnest = exp.Anonymous(this="UNNEST", expressions=[array.copy()])
    if name == "explode":
        return [unnest]
    if name == "posexplode":
        places = exp.Anonymous(this="RANGE", expressions=[exp.Anonymous(this="LEN", expressions=[array.copy()])])
        return [exp.Anonymous(this="UNNEST", expressions=[places]), unnest]
    raise NotImplementedError(name)


def _with_bounds(query: exp.Expr) -> exp.Expr:
    """Bounds of the changed values in the place of `key_range`, as the executor puts them there."""

    def put(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Anonymous) or node.name.lower() != KEY_RANGE:
            return node
        key, source, column = node.expressions
        changes = exp.table_(source.name, db=bounded_by(source.name).value, quoted=True)
        bound = exp.column(exp.to_identifier(column.name, quoted=True))
        low, high = (exp.select(kind(this=bound)).from_(changes.copy()).subquery() for kind in (exp.Min, exp.Max))
        return exp.Between(this=key, low=low, high=high)

    return query.transform(put)
