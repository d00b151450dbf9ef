"""What Spark and our own planner know of a query before it runs: columns, sources, operator tree, maintenance plan.

Spark is the judge of validity, types and sources; our planner of whether the query can be kept incrementally. A query
that Spark accepts and the planner does not is kept in FULL mode, with the planner's reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from spark_trickle.delta.nodes import plan as make_plan
from spark_trickle.delta.plan import PUBLIC, Column, MaintenancePlan
from spark_trickle.delta.show import show as show_plan
from spark_trickle.elsewhere.unversioned import INSTEAD
from spark_trickle.errors import NotFoundError, SqlError, UnsupportedSqlError, UserError
from spark_trickle.model.meaning import Meaning
from spark_trickle.model.stream_table import Source
from spark_trickle.names import LAKE, TableName, is_internal
from spark_trickle.ports import Analysis
from spark_trickle.spark.queries.as_usual import read_otherwise
from spark_trickle.spark.queries.changing import Changing, changing_parts
from spark_trickle.spark.queries.describing import Describing
from spark_trickle.spark.queries.fingerprints import function_notices, functions_named
from spark_trickle.spark.queries.queries import query_in
from spark_trickle.spark.session.failures import sql_errors
from spark_trickle.spark.session.user_functions import aggregates
from spark_trickle.sql.build import build
from spark_trickle.sql.build import notices as query_notices
from spark_trickle.sql.leaves import KeptLeaf, Leaf, SourceLeaf, Version, leaf_table, resolve
from spark_trickle.sql.normalize import normalized
from spark_trickle.sql.operators import Aggregate, Operator, Window, inputs, scans
from spark_trickle.sql.output_types import check_output_types, widened
from spark_trickle.sql.parse import TrickleSpark, tokenize
from spark_trickle.sql.refusals import Refused, refused
from spark_trickle.sql.show import show as show_tree
from spark_trickle.sql.sources import SourceTable, SourceView
from spark_trickle.storage.iceberg import rows_in
from spark_trickle.storage.views import load_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_trickle.spark.workspaces.workspace import Workspace

_CONSTANT_LEAVES = ("OneRowRelation", "LocalRelation", "Range", "EmptyRelation", "CTERelationRef", "UnionLoopRef")
_OF_ICEBERG = frozenset(
    f"_{name}" for name in ("file", "pos", "partition", "spec_id", "deleted", "row_id", "last_updated_sequence_number")
)
"""Metadata that each table has under these names: one with such a column can be written, and not be read."""


@dataclass(frozen=True, slots=True)
class AnalyzedQuery:
    """An analysis, with the plan that goes with it (None: FULL only)."""

    analysis: Analysis
    plan: MaintenancePlan | None
    completed: str | None = None
    """The query with everything decided that its text leaves open; None: it leaves nothing open."""


class _Sources:
    """What the names in a query mean: tables and views of the workspace. Remembers the views it met."""

    def __init__(self, workspace: Workspace, meaning: Meaning) -> None:
        self._workspace = workspace
        self._meaning = meaning
        self._heads = workspace.heads()
        self.views: list[TableName] = []

    def resolve(self, parts: tuple[str, ...]) -> SourceTable | SourceView:
        name = self._workspace.named(parts, self._meaning)
        if name is None:
            raise NotFoundError("table", f"{self._meaning.catalog}.{self._meaning.namespace}.{parts[-1]}")
        pointer = self._heads.get(name)
        if pointer is None:
            raise NotFoundError("table", name)
        if pointer.kind == "VIEW":
            view = load_view(self._workspace.session, name)
            self.views.append(name)
            return SourceView(view.text, view.default_namespace, view.columns, self._converted(name))
        schema = self._workspace.session.table(name.sql).schema
        return SourceTable(name, tuple((field.name, field.dataType.simpleString()) for field in schema.fields))

    def _converted(self, view: TableName) -> tuple[str, ...]:
        """The types of a view's columns where Spark makes them of what the text gives: it casts each, mostly to the
        same."""
        plan: Any = self._workspace.session.table(view.sql)._jdf.queryExecution().analyzed()
        while plan.getClass().getSimpleName() == "SubqueryAlias":
            plan = plan.child()
        items = plan.projectList()
        return tuple(_made_of_another(items.apply(place).child()) for place in range(items.length()))


def _made_of_another(value: Any) -> str:
    """The type that a cast makes of a value; "" if it had that type, or there is no cast."""
    if value.getClass().getSimpleName() != "Cast":
        return ""
    given, made = value.child().dataType(), value.dataType()
    return "" if given.asNullable().equals(made.asNullable()) else str(made.sql())


def analyze(workspace: Workspace, query: str, meaning: Meaning, stream_tables: Iterable[TableName]) -> AnalyzedQuery:
    """Everything that can be told of the query without running it."""
    workspace.speak(meaning)
    frame = query_in(workspace, query, meaning, "the query")
    with sql_errors("the query"):
        columns = tuple((field.name, field.dataType.simpleString()) for field in frame.schema.fields)
    _check_columns([name for name, _ in columns])
    check_output_types(columns)
    tables = _base_tables(workspace, frame)
    _check_tables(workspace, tables)
    sources = _Sources(workspace, meaning)
    kept, refusal = _Kept(), None
    try:
        kept = _read(workspace, query, columns, sources, frame)
    except (UnsupportedSqlError, SqlError) as err:
        refusal = err
    views = _views(workspace, query, sources) if refusal is not None else sources.views
    changing = changing_parts(workspace, frame, query, views)
    otherwise = read_otherwise(workspace, query, meaning, frame)
    if otherwise is not None:
        refusal = refused(Refused.SETTING, name=otherwise[0], value=otherwise[1])
    whole = workspace.kept_whole(tables)
    if changing is None and refusal is None and whole is None and kept.operator is not None:
        try:
            kept = _planned(workspace, kept.operator, kept, columns)
        except (UnsupportedSqlError, SqlError) as err:
            refusal = err
    plan = kept.plan
    reason, suggestion = _why_full(changing, refusal)
    if whole is not None:
        reason, suggestion = (whole, INSTEAD) if reason is None else (f"{whole}; {reason}", suggestion)
    return AnalyzedQuery(
        Analysis(
            columns=columns,
            sources=_sources(tables, views, set(stream_tables)),
            state=tuple(n.label for n in plan.nodes if n.label != PUBLIC) if plan else (),
            differential=plan is not None,
            reason=reason,
            suggestion=suggestion,
            nondeterministic=None if changing is None else changing.what,
            reads_clock=changing is not None and changing.clock,
            reading=fingerprint(plan) if plan is not None else "",
            tree=kept.tree,
            delta_sql=show_plan(plan, _row_counts(workspace, plan)) if plan is not None else "",
            notices=(
                *widened(columns),
                *kept.notices,
                *function_notices(workspace, query),
                *_registered(workspace, tables),
                *workspace.notices(tables),
            ),
            normalized=normalized(query),
            obstacles=kept.obstacles,
        ),
        plan,
        _over_sources(_whole(plan)).sql(dialect=TrickleSpark) if plan is not None and kept.completed else None,
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    """What our reading of a query has come to so far."""

    operator: Operator | None = None
    plan: MaintenancePlan | None = None
    tree: str = ""
    notices: tuple[str, ...] = ()
    completed: bool = False
    """Whether something was decided that the text leaves open."""
    obstacles: Mapping[TableName, str] = field(default_factory=dict)


def _read(
    workspace: Workspace, query: str, columns: tuple[tuple[str, str], ...], sources: _Sources, frame: DataFrame
) -> _Kept:
    """The operators of a query."""
    completions: list[str] = []
    obstacles: dict[TableName, str] = {}
    operator = build(query, sources, tuple(name for name, _ in columns), completions, obstacles)
    if functions_named(query, workspace.functions) and aggregates(frame) and not _groups(operator):
        raise refused(Refused.USER_AGGREGATE)
    notices = (*query_notices(query), *completions)
    return _Kept(operator, None, show_tree(operator), notices, bool(completions), obstacles)


def _planned(workspace: Workspace, operator: Operator, kept: _Kept, columns: tuple[tuple[str, str], ...]) -> _Kept:
    """With what keeps its answer."""
    with Describing(workspace) as described:
        plan = make_plan(operator, described)
        _check_types(described.describe(plan.public.query), columns)
    return replace(kept, plan=plan)


def _why_full(changing: Changing | None, refusal: SqlError | None) -> tuple[str | None, str | None]:
    """Why a query cannot be kept incrementally, and what could be done."""
    if changing is not None:
        instead = "Remove the function, or compute its value when the rows are written to the source"
        if changing.clock:
            then = "it reads the clock, so each refresh computes the query again, on its schedule"
            return f"{changing.what} is not deterministic: {then}", instead
        return f"{changing.what} is not deterministic", instead
    if isinstance(refusal, UnsupportedSqlError):
        return str(refusal), refusal.hint
    if refusal is not None:
        # Spark has accepted it, so it is not the user's mistake: our parser does not know the construct.
        return f"the incremental planner does not understand this query: {refusal}", None
    return None, None


def fingerprint(plan: MaintenancePlan) -> str:
    """How the query reads its sources: another fingerprint, and the same text gives another answer."""
    texts = "\n".join(f"{node.label}: {node.query.sql(dialect=TrickleSpark)}" for node in plan.nodes)
    return hashlib.sha256(texts.encode()).hexdigest()[:32]


def _views(workspace: Workspace, query: str, sources: _Sources) -> list[TableName]:
    """The views under a query that could not be read to its end: those that were met, and all whose names are words
    of its text. One too many is better than one whose redefinition nobody sees."""
    known = {name.name.lower(): name for name in workspace.views_of_lake()}
    found, texts = dict.fromkeys(sources.views), [query]
    while texts:
        words = {word.text.lower() for word in tokenize(texts.pop())}
        for name in [view for lowered, view in known.items() if lowered in words and view not in found]:
            found[name] = None
            texts.append(load_view(workspace.session, name).text)
    return list(found)


def _groups(operator: Operator) -> bool:
    return isinstance(operator, (Aggregate, Window)) or any(_groups(source) for source in inputs(operator))


def columns_read(plan: MaintenancePlan, leaf: KeptLeaf) -> tuple[str, ...]:
    """The columns of a leaf that its nodes read."""
    found = {
        item.source: None
        for node in plan.nodes
        for scan in scans(node.upkeep.operator)
        if scan.leaf == leaf
        for item in scan.items
    }
    return tuple(found)


def _sources(tables: list[TableName], views: list[TableName], known: set[TableName]) -> tuple[Source, ...]:
    listed = [Source(table=t, kind="STREAM_TABLE" if t in known else "TABLE") for t in tables]
    listed += [Source(table=v, kind="VIEW") for v in sorted(set(views))]
    return tuple(listed)


def _over_sources(query: exp.Expr) -> exp.Expr:
    """A query over leaves as one over the tables themselves."""

    def table(_: Version, leaf: Leaf) -> exp.Expr:
        assert isinstance(leaf, SourceLeaf)
        return exp.to_table(leaf.table.sql, dialect="spark")

    return resolve(query, table)


def _row_counts(workspace: Workspace, plan: MaintenancePlan) -> dict[Leaf, int]:
    return {source: rows_in(workspace.session, source.table) for source in plan.sources}


def _whole(plan: MaintenancePlan) -> exp.Expr:
    """All nodes as one query over the sources."""
    nodes: dict[Leaf, exp.Query] = {node.leaf: node.query for node in plan.nodes}

    def inlined(version: Version, leaf: Leaf) -> exp.Expr:
        if leaf in nodes:
            return exp.Subquery(this=resolve(nodes[leaf], inlined))
        return leaf_table(leaf, version)

    return resolve(plan.public.query, inlined)


def _check_types(found: tuple[Column, ...], wanted: tuple[tuple[str, str], ...]) -> None:
    """The plan must give exactly Spark's types, down to the names of struct fields; else it is not used."""
    for (name, kind), column in zip(wanted, found, strict=True):
        if column.type != kind:
            raise refused(Refused.OTHER_TYPE, name=name, found=column.type, wanted=kind)


def _check_columns(names: list[str]) -> None:
    if not names:
        raise UserError("the query has no columns", hint="Leave one of them in")
    seen: set[str] = set()
    for name in names:
        if name.lower() in _OF_ICEBERG:
            raise UserError(
                f"the query has a column called '{name}', a name that Iceberg has for itself: it could not be read",
                hint="Give it another name with AS",
            )
        if name.lower() in seen:
            raise UserError(
                f"the query has two columns called '{name}'", hint="Give each output column its own name with AS"
            )
        seen.add(name.lower())


def _check_tables(workspace: Workspace, tables: list[TableName]) -> None:
    """What Spark can read is not always a table: `orders.snapshots` is a view of the metadata of one."""
    heads = workspace.heads()
    for name in tables:
        if is_internal(name):
            raise UserError(
                f"the query reads '{name}', which holds internal state of a stream table",
                hint="Read the stream table itself, or its sources",
            )
        if name not in heads:
            raise UserError(
                f"the query reads '{name}', which is not a table of the lake but a look at a table's metadata",
                hint="Stream tables follow the rows of tables, stream tables and views",
            )


def _registered(workspace: Workspace, tables: list[TableName]) -> list[str]:
    """Tables of the lake that may be another catalog's, too: their files are somewhere else."""
    heads = workspace.heads()
    return [
        f"'{name}' lies outside of the warehouse ({heads[name].location}): if it was registered here from another "
        "catalog, what is committed there is not seen here; read it there, as catalog.namespace.table"
        for name in tables
        if not name.is_elsewhere and not workspace.holds(heads[name])
    ]


def _base_tables(workspace: Workspace, frame: DataFrame) -> list[TableName]:
    """The tables under the analysed plan, subqueries included; views are inlined there already."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    found: set[TableName] = set()
    subqueries = plan.subqueriesAll()
    plans = [plan, *(subqueries.apply(i) for i in range(subqueries.length()))]
    for part in plans:
        leaves = part.collectLeaves()
        for index in range(leaves.length()):
            name = _table_of(workspace, leaves.apply(index))
            if name is not None:
                found.add(name)
    return sorted(found)


def _table_of(workspace: Workspace, leaf: Any) -> TableName | None:
    kind = leaf.getClass().getSimpleName()
    if kind in _CONSTANT_LEAVES:
        return None
    if kind == "DataSourceV2Relation" and leaf.catalog().isDefined() and leaf.identifier().isDefined():
        identifier, catalog = leaf.identifier().get(), str(leaf.catalog().get().name())
        if catalog == LAKE:
            return TableName(".".join(identifier.namespace()), identifier.name())
        found = TableName.elsewhere(catalog, list(identifier.namespace()), identifier.name())
        if found in workspace.heads():
            return found
    raise UserError(
        f"the query reads '{leaf.simpleString(25)}', which is no table that can be followed",
        hint="Stream tables read Iceberg tables, of the lake and of other Iceberg catalogs that are configured "
        "(spark.sql.catalog.<name>), stream tables and views of the lake, Delta tables, files by their folders "
        "(parquet.`/folder`) and tables of JDBC catalogs; load other data into one first",
    )
