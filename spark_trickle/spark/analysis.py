"""What Spark and our own planner know of a query before it runs: columns, sources, operator tree, maintenance plan.

Spark is the judge of validity, types and sources; our planner of whether the query can be kept incrementally. A query
that Spark accepts and the planner does not is kept in FULL mode, with the planner's reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from spark_trickle.delta.nodes import plan as make_plan
from spark_trickle.delta.plan import PUBLIC, Column, MaintenancePlan, Version, leaf, resolve
from spark_trickle.delta.show import show as show_plan
from spark_trickle.errors import NotFoundError, SqlError, UnsupportedSqlError, UserError
from spark_trickle.model.stream_table import Source
from spark_trickle.names import DEFAULT_NAMESPACE, LAKE, TableName
from spark_trickle.ports import Analysis
from spark_trickle.spark.failures import sql_errors
from spark_trickle.spark.user_functions import aggregates, is_deterministic
from spark_trickle.sql.build import build
from spark_trickle.sql.build import notices as query_notices
from spark_trickle.sql.determinism import nondeterministic
from spark_trickle.sql.normalize import normalized
from spark_trickle.sql.operators import Aggregate, Operator, Window, inputs, scans
from spark_trickle.sql.parse import tokenize
from spark_trickle.sql.refusals import Refused, refused
from spark_trickle.sql.show import show as show_tree
from spark_trickle.sql.sources import SourceTable, SourceView
from spark_trickle.storage.views import load_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_trickle.spark.workspace import Workspace

_CONSTANT_LEAVES = ("OneRowRelation", "LocalRelation", "Range", "EmptyRelation", "CTERelationRef", "UnionLoopRef")


@dataclass(frozen=True, slots=True)
class AnalyzedQuery:
    """An analysis, with the plan that goes with it (None: FULL only)."""

    analysis: Analysis
    plan: MaintenancePlan | None
    completed: str | None = None
    """The query with everything decided that its text leaves open; None: it leaves nothing open."""


class _Sources:
    """What the names in a query mean: tables and views of the workspace. Remembers the views it met."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.views: list[TableName] = []

    def resolve(self, parts: tuple[str, ...]) -> SourceTable | SourceView:
        levels = parts[1:] if len(parts) > 2 and parts[0].lower() == LAKE else parts
        name = TableName(".".join(levels[:-1]) or DEFAULT_NAMESPACE, levels[-1])
        pointer = self._workspace.heads().get(name)
        if pointer is None:
            raise NotFoundError("table", name)
        if pointer.kind == "VIEW":
            view = load_view(self._workspace.session, name)
            self.views.append(name)
            return SourceView(view.text, view.default_namespace)
        schema = self._workspace.session.table(name.sql).schema
        return SourceTable(str(name), tuple((field.name, field.dataType.simpleString()) for field in schema.fields))


def analyze(workspace: Workspace, query: str, stream_tables: Iterable[TableName]) -> AnalyzedQuery:
    """Everything that can be told of the query without running it."""
    with sql_errors("the query"):
        frame = workspace.session.sql(query)
        columns = tuple((field.name, field.dataType.simpleString()) for field in frame.schema.fields)
    _check_columns([name for name, _ in columns])
    tables = _base_tables(frame)
    _check_tables(workspace, tables)
    random = nondeterministic(query)
    where = ", ".join(f"{found.name}() at line {found.line}, column {found.column}" for found in random[:1]) or None
    if where is None and not is_deterministic(frame):
        where = "a function of the query"
    sources = _Sources(workspace)
    notices: list[str] = []
    completions: list[str] = []
    reason = suggestion = None
    plan, tree, delta_sql = None, "", ""
    try:
        operator = build(query, sources, tuple(name for name, _ in columns), completions)
        if _mentions(query, workspace.functions) and aggregates(frame) and not _groups(operator):
            raise refused(Refused.USER_AGGREGATE)
        notices.extend((*query_notices(query), *completions))
        tree = show_tree(operator)
        if where is None:
            plan = make_plan(operator, lambda found: _describe(workspace, found))
            _check_types(workspace, plan, columns)
    except UnsupportedSqlError as err:
        plan, reason, suggestion = None, str(err), err.hint
    except SqlError as err:
        # Spark has accepted it, so it is not the user's mistake: our parser does not know the construct.
        reason = f"the incremental planner does not understand this query: {err}"
    if where is not None:
        reason = f"{where} is not deterministic"
        suggestion = "Remove the function, or compute its value when the rows are written to the source"
    if plan is not None:
        delta_sql = show_plan(plan)
    known = set(stream_tables)
    return AnalyzedQuery(
        Analysis(
            columns=columns,
            sources=_sources(tables, sources.views, known),
            state=tuple(n.label for n in plan.nodes if n.label != PUBLIC) if plan else (),
            differential=plan is not None,
            reason=reason,
            suggestion=suggestion,
            nondeterministic=where,
            tree=tree,
            delta_sql=delta_sql,
            notices=tuple(notices),
            normalized=normalized(query),
        ),
        plan,
        _over_sources(_whole(plan)).sql(dialect="spark") if plan is not None and completions else None,
    )


def _mentions(query: str, functions: tuple[str, ...]) -> bool:
    """Does a word of the query name a user's function?"""
    known = {name.lower() for name in functions}
    return bool(known) and any(word.text.lower() in known for word in tokenize(query))


def _groups(operator: Operator) -> bool:
    return isinstance(operator, (Aggregate, Window)) or any(_groups(source) for source in inputs(operator))


def columns_read(plan: MaintenancePlan, source: str) -> tuple[str, ...]:
    """The columns of a leaf that its nodes read."""
    found = {
        item.source: None
        for node in plan.nodes
        for scan in scans(node.upkeep.operator)
        if scan.source == source
        for item in scan.items
    }
    return tuple(found)


def _sources(tables: list[TableName], views: list[TableName], known: set[TableName]) -> tuple[Source, ...]:
    listed = [Source(table=t, kind="STREAM_TABLE" if t in known else "TABLE") for t in tables]
    listed += [Source(table=v, kind="VIEW") for v in sorted(set(views))]
    return tuple(listed)


def _describe(workspace: Workspace, query: exp.Expr) -> tuple[Column, ...]:
    """Spark's own idea of the types of a query over sources."""

    with sql_errors("the maintenance plan"):
        fields = workspace.session.sql(_over_sources(query).sql(dialect="spark")).schema.fields
    return tuple(Column(field.name, field.dataType.simpleString(), field.nullable) for field in fields)


def _over_sources(query: exp.Expr) -> exp.Expr:
    """A query over leaves as one over the tables themselves."""
    return resolve(query, lambda _, source: exp.to_table(TableName.parse(source).sql, dialect="spark"))


def _whole(plan: MaintenancePlan) -> exp.Expr:
    """All nodes as one query over the sources."""
    nodes = {node.label: node.query for node in plan.nodes}

    def inlined(version: Version, source: str) -> exp.Expr:
        if source in nodes:
            return exp.Subquery(this=resolve(nodes[source], inlined))
        return leaf(version, source)

    return resolve(plan.public.query, inlined)


def _check_types(workspace: Workspace, plan: MaintenancePlan, wanted: tuple[tuple[str, str], ...]) -> None:
    """The plan must give exactly Spark's types, down to the names of struct fields; else it is not used."""
    found = _describe(workspace, _whole(plan))
    for (name, kind), column in zip(wanted, found, strict=True):
        if column.type != kind:
            raise refused(Refused.OTHER_TYPE, name=name, found=column.type, wanted=kind)


def _check_columns(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise UserError(
                f"the query has two columns called '{name}'", hint="Give each output column its own name with AS"
            )
        seen.add(name.lower())


def _check_tables(workspace: Workspace, tables: list[TableName]) -> None:
    """What Spark can read is not always a table: `orders.snapshots` is a view of the metadata of one."""
    heads = workspace.heads()
    for name in tables:
        if name not in heads:
            raise UserError(
                f"the query reads '{name}', which is not a table of the lake but a look at a table's metadata",
                hint="Stream tables follow the rows of tables, stream tables and views",
            )


def _base_tables(frame: DataFrame) -> list[TableName]:
    """The tables under the analysed plan, subqueries included; views are inlined there already."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    found: set[TableName] = set()
    subqueries = plan.subqueriesAll()
    plans = [plan, *(subqueries.apply(i) for i in range(subqueries.length()))]
    for part in plans:
        leaves = part.collectLeaves()
        for index in range(leaves.length()):
            name = _table_of(leaves.apply(index))
            if name is not None:
                found.add(name)
    return sorted(found)


def _table_of(leaf: Any) -> TableName | None:
    kind = leaf.getClass().getSimpleName()
    if kind in _CONSTANT_LEAVES:
        return None
    if kind == "DataSourceV2Relation" and leaf.catalog().isDefined() and leaf.identifier().isDefined():
        identifier = leaf.identifier().get()
        if leaf.catalog().get().name() == LAKE:
            return TableName(".".join(identifier.namespace()), identifier.name())
    raise UserError(
        f"the query reads '{leaf.simpleString(25)}', which is not an Iceberg table of catalog '{LAKE}'",
        hint="Stream tables read Iceberg tables, stream tables and views of the lake; load other data into one first",
    )
