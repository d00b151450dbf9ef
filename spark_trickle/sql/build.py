"""A query as an operator tree: sets of rows, CTEs, views, FROM and joins. The clauses of one SELECT are in `select`,
expressions in `bind`, simplifications in `rewrite`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from spark_trickle.errors import SqlError, UserError
from spark_trickle.names import TableName
from spark_trickle.sql import generators, joins, monotone, pivot, select
from spark_trickle.sql.bind import Binding, bind
from spark_trickle.sql.clauses import check_clauses
from spark_trickle.sql.free import free
from spark_trickle.sql.leaves import SourceLeaf
from spark_trickle.sql.limits import is_order_without_cut, limited
from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Item,
    Limit,
    OneRow,
    Operator,
    Project,
    Recursion,
    Scan,
    ScanColumn,
    Window,
    column,
    inputs,
)
from spark_trickle.sql.parse import parse_query, unsupported, wrong
from spark_trickle.sql.pipes import PIPED
from spark_trickle.sql.recursion import again, recursion, refers_to_itself
from spark_trickle.sql.refusals import Refused, refused
from spark_trickle.sql.relations import Built, Relation, union_all
from spark_trickle.sql.rewrite import simplified
from spark_trickle.sql.rows_read import piped
from spark_trickle.sql.scope import Names, Scope, is_reserved
from spark_trickle.sql.set_operations import set_operation
from spark_trickle.sql.shorthand import named_by_text
from spark_trickle.sql.sources import SourceCatalog, SourceView
from spark_trickle.sql.subqueries import Pending

_MAX_DEPTH = 60


def build(
    query: str,
    catalog: SourceCatalog,
    output_names: tuple[str, ...] | None = None,
    completions: list[str] | None = None,
    obstacles: dict[TableName, str] | None = None,
) -> Operator:
    """The operator tree of a query.

    Args:
        output_names: names of the output columns, where the engine that runs the query knows better.
        completions: filled with what was decided where the text leaves several answers open, one sentence each.
        obstacles: filled with the sources in which the query is not monotone, and what is in the way.

    Raises:
        SqlError: the text cannot be understood.
        UnsupportedSqlError: it can, but a part of it cannot be kept incrementally.
    """
    tree = parse_query(query)
    check_clauses(tree, query)
    lambdas = {name.name for found in tree.find_all(exp.Lambda) for name in found.expressions}
    # A column with the name of a lambda's parameter would be captured by it.
    builder = Builder(query, catalog, Names(lambdas), mentioned=mentioned(tree))
    built = builder.query(tree, {})
    if completions is not None:
        completions.extend(dict.fromkeys(builder.completions))
    names = output_names or built.names
    if len(names) != len(built.outputs):
        raise SqlError(f"the query has {len(built.outputs)} columns, and {len(names)} names were given")
    _check_outputs(names)
    items = tuple(Item(name, column(found)) for name, (_, found) in zip(names, built.outputs, strict=True))
    read = Project(built.operator, items)
    made = simplified(read)
    if obstacles is not None:
        obstacles.update(monotone.obstacles(read, made))
    return made


def notices(query: str) -> tuple[str, ...]:
    """What a user should know about a query that is kept."""
    tree = parse_query(query)
    if tree.args.get("limit") is not None or tree.args.get("offset") is not None:
        return ()
    clauses = [clause for clause in ("order", "sort", "distribute", "cluster") if tree.args.get(clause) is not None]
    return tuple(
        f"{clause.upper()} BY is not kept: a table has no order. Put it in the queries that read the stream table"
        for clause in clauses
    )


def _check_outputs(names: tuple[str, ...]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if is_reserved(name):
            raise refused(Refused.RESERVED_NAME, name=name)
        if name.lower() in seen:
            raise UserError(f"two output columns are named '{name}'", hint="Give one of them another name with AS")
        seen[name.lower()] = name


@dataclass(frozen=True, slots=True)
class Cte:
    """A WITH entry, and what it sees itself."""

    query: exp.Query
    columns: tuple[str, ...]
    visible: Mapping[str, Cte]
    outer: Scope | None = None
    """What is around the query that defines it."""
    name: str = ""
    """Its name, if it reads itself."""
    again: str = ""
    """Inside the step of a recursion: the name of that in the tree, and its columns, as (written, in the tree)."""
    found: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds the queries of one text; a view's text has a builder of its own."""

    text: str
    catalog: SourceCatalog
    names: Names
    namespace: tuple[str, ...] = ()
    depth: int = 0
    shared: dict[int, tuple[exp.Expr, Built]] = field(default_factory=dict)
    """CTEs that were built, by identity (so they must live on): used again, a grouping in them is kept once."""
    completions: list[str] = field(default_factory=list)
    """What was decided where the text leaves several answers open, for the user to read."""
    kinds: dict[str, str] = field(default_factory=dict)
    """Spark's types of columns of the tree, where they are known."""
    unkept_orders: list[exp.Expr] = field(default_factory=list)
    """Queries with an order that cuts nothing. Mostly it means nothing; but a LIMIT right over it would cut in it."""
    mentioned: frozenset[tuple[str, str]] | None = None
    """The names that the text says, as (table or nothing, name), in lower case; None: it may mean any."""

    def query(self, node: exp.Expr, ctes: Mapping[str, Cte], outer: Scope | None = None) -> Built:
        """Any query: SELECT, set operation, parenthesised, with or without WITH."""
        ctes = self.with_entries(node, ctes, outer)
        if is_order_without_cut(node):
            self.unkept_orders.append(node)
        if isinstance(node, exp.Select):
            return select.select(self, node, ctes, outer or Scope())
        if isinstance(node, exp.Subquery):
            built = self.query(node.this, ctes, outer)
        elif isinstance(node, exp.SetOperation):
            built = set_operation(self, node, ctes, outer)
        elif isinstance(node, exp.Values):
            built = self._values(node, outer)
        else:
            raise unsupported(self.text, node, Refused.QUERY_FORM, name=type(node).__name__.upper())
        return limited(self, node, built, Binding(self.text, Scope(), Pending(self, ctes), outer=outer or Scope()))

    def with_entries(self, node: exp.Expr, ctes: Mapping[str, Cte], outer: Scope | None) -> Mapping[str, Cte]:
        """What is visible inside a query: also the entries of its own WITH."""
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        known = dict(ctes)
        for entry in clause.expressions:
            name = entry.alias.lower()
            columns = tuple(found.name for found in entry.args["alias"].args.get("columns") or ())
            itself = clause.args.get("recursive") and refers_to_itself(entry)
            known[name] = Cte(entry.this, columns, dict(known), outer, entry.alias if itself else "")
        return known

    def _values(self, node: exp.Values, outer: Scope | None) -> Built:
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        branches = []
        where = Binding(self.text, Scope(), Pending(self, {}), outer=outer or Scope())
        for row in rows:
            items = tuple(Item(self.names.fresh(f"col{i}"), bind(value, where)) for i, value in enumerate(row, 1))
            outputs = tuple((f"col{i}", item.name) for i, item in enumerate(items, 1))
            branches.append(Built(Project(OneRow(), items), outputs))
        return branches[0] if len(branches) == 1 else union_all(tuple(branches), self.names)

    def relation(  # noqa: C901  one case per kind of entry
        self, node: exp.Expr, ctes: Mapping[str, Cte], outer: Scope | None = None
    ) -> Relation:
        """One entry of FROM, with the joins that are written inside its parentheses."""
        self._reject_relation(node)
        match node:
            case exp.Table():
                found = self._table(node, ctes, outer)
            case exp.Subquery() if node.meta.get(PIPED):
                found = piped(self, node.this, ctes, outer)
            case exp.Subquery() if isinstance(node.this, (exp.Table, exp.Subquery)) and not node.alias:
                found = self.relation(node.this, ctes, outer)
            case exp.Subquery() if isinstance(node.this, exp.Table) or _is_joined(node.this):
                inside = self.relation(node.this, ctes, outer)
                outputs = tuple((v.name, v.column) for v in inside.scope.star())
                found = self.renamed(Built(inside.operator, outputs), node)
            case exp.Subquery():
                found = self.renamed(self.query(node.this, self.with_entries(node, ctes, outer), outer), node)
            case exp.Lateral() if isinstance(node.this, exp.Subquery):
                found = self.renamed(self.query(node.this, ctes, outer), node)
            case exp.Values():
                found = self.renamed(self._values(node, outer), node)
            case exp.Unnest():
                raise unsupported(self.text, node, Refused.UNNEST, "UNNEST")
            case _:
                name = type(node).__name__.upper()
                raise unsupported(self.text, node, Refused.FROM_ENTRY, name, name=name)
        for turned in node.args.get("pivots") or ():
            found = pivot.pivoted(self, found, turned, ctes)
        for join in node.args.get("joins") or ():
            found = self.join(found, join, ctes, outer)
        return found

    def _reject_relation(self, node: exp.Expr) -> None:
        if node.args.get("sample"):
            raise unsupported(self.text, node.args["sample"], Refused.SAMPLE, "TABLESAMPLE")
        if node.args.get("version"):
            raise unsupported(self.text, node.args["version"], Refused.TIME_TRAVEL, "OF")

    def renamed(self, built: Built, node: exp.Expr) -> Relation:
        """A query under the alias that FROM gives it."""
        alias = node.args.get("alias")
        columns = tuple(found.name for found in alias.args.get("columns") or ()) if alias else ()
        if columns and len(columns) != len(built.outputs):
            raise wrong(self.text, node, f"{len(columns)} names for {len(built.outputs)} columns")
        return built.under((node.alias,) if node.alias else (), columns)

    def _table(self, node: exp.Table, ctes: Mapping[str, Cte], outer: Scope | None) -> Relation:
        named = named_by_text(node.this)
        if named is None and not all(isinstance(part, exp.Identifier) for part in node.parts):
            where = Binding(self.text, Scope(), Pending(self, ctes), outer=outer or Scope())
            return generators.table_function(self, node, where)
        parts = tuple(named or (part.name for part in node.parts))
        qualifier = (node.alias,) if node.alias else parts
        alias = node.args.get("alias")
        columns = tuple(found.name for found in alias.args.get("columns") or ()) if alias else ()
        if self.depth > _MAX_DEPTH:
            raise SqlError(f"'{'.'.join(parts)}' is defined by itself, or by more than {_MAX_DEPTH} views")
        cte = ctes.get(parts[0].lower()) if len(parts) == 1 else None
        if cte is not None:
            built = again(self, cte) if cte.again else self._shared_cte(cte)
            return built.under(qualifier, columns or cte.columns)
        source = self.catalog.resolve(parts if len(parts) > 1 else (*self.namespace, *parts))
        if isinstance(source, SourceView):
            tree = parse_query(source.text)
            check_clauses(tree, source.text)
            inner = Builder(
                source.text,
                self.catalog,
                self.names,
                tuple(source.default_namespace.split(".")),
                self.depth + 1,
                completions=self.completions,
                kinds=self.kinds,
                unkept_orders=self.unkept_orders,
                mentioned=mentioned(tree),
            )
            return self._as_made(inner.query(tree, {}), source).under(qualifier, columns)
        if not node.alias:
            qualifier = _whole_name(source.table, parts)
        items = tuple(ScanColumn(self._named(name, qualifier[-1]), name, kind) for name, kind in source.columns)
        self.kinds.update((item.name, item.type) for item in items)
        outputs = tuple((item.source, item.name) for item in items)
        return Built(Scan(SourceLeaf(source.table), items), outputs).under(qualifier, columns)

    def _as_made(self, built: Built, view: SourceView) -> Built:
        """A view with as many columns as it was made with, under the names and with the types of then: as Spark does,
        by position, whatever `*` has come to stand for in its text."""
        names = view.columns or built.names
        built = Built(built.operator, tuple((name, col) for name, (_, col) in zip(names, built.outputs, strict=False)))
        if not any(view.converted):
            return built
        items = []
        for (name, found), kind in zip(built.outputs, view.converted, strict=True):
            value = exp.cast(column(found), exp.DataType.build(kind, dialect="spark")) if kind else column(found)
            items.append(Item(self.names.fresh(name), value))
            self.kinds[items[-1].name] = kind or self.kinds.get(found, "")
        outputs = tuple((name, item.name) for (name, _), item in zip(built.outputs, items, strict=True))
        return Built(Project(built.operator, tuple(items)), outputs)

    def _named(self, column: str, table: str) -> str:
        """A name in the tree. A column that the text does not mention takes none that another could have: a table that
        gains a column nobody reads leaves the tree, and all that is kept for it, as it was."""
        said = {("", column.lower()), (table.lower(), column.lower())}
        unread = self.mentioned is not None and said.isdisjoint(self.mentioned)
        return self.names.fresh(f"unread_{column}" if unread else column)

    def _shared_cte(self, cte: Cte) -> Built:
        _, before = self.shared.get(id(cte.query), (None, None))
        if before is None or not _groups(before.operator) or free(before.operator):
            built = recursion(self, cte) if cte.name else self.query(cte.query, cte.visible, cte.outer)
            self.shared[id(cte.query)] = (cte.query, built)
            return built
        fresh = {found: self.names.fresh(found) for _, found in before.outputs}
        items = tuple(Item(name, column(found)) for found, name in fresh.items())
        return Built(Project(before.operator, items), tuple((name, fresh[found]) for name, found in before.outputs))

    def join(self, left: Relation, node: exp.Join, ctes: Mapping[str, Cte], outer: Scope | None = None) -> Relation:
        """One more relation beside those before it."""
        if isinstance(node.this, exp.Lateral) and isinstance(node.this.this, exp.Func):
            where = Binding(self.text, left.scope, Pending(self, ctes), outer=outer or Scope())
            found = generators.lateral_join(self, left, node, where)
        else:
            found = joins.join(self, left, node, ctes, outer or Scope())
        for turned in node.args.get("pivots") or ():
            found = pivot.pivoted(self, found, turned, ctes)
        return found


def mentioned(tree: exp.Query) -> frozenset[tuple[str, str]] | None:
    """The names that a query reads, as (table or nothing, name), in lower case; None: also others, by `*`, NATURAL."""
    stars = [star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
    if stars or any(str(join.args.get("method") or "").upper() == "NATURAL" for join in tree.find_all(exp.Join)):
        return None
    found = set()
    for name in tree.find_all(exp.Identifier):
        if isinstance(name.parent, (exp.Table, exp.TableAlias)) or name.arg_key == "alias":
            continue  # given, not read
        of = name.parent.args.get("table") if isinstance(name.parent, exp.Column) and name.arg_key == "this" else None
        found.add(("" if of is None else of.name.lower(), name.name.lower()))
    return frozenset(found)


def _whole_name(table: TableName, written: tuple[str, ...]) -> tuple[str, ...]:
    """By what columns of a table without an alias can be named: any end of this. A view goes by what is written."""
    whole = (table.catalog, *table.levels, table.name)
    same = [part.lower() for part in whole[-len(written) :]] == [part.lower() for part in written]
    return whole if same else written


def _is_joined(node: exp.Expr) -> bool:
    """Is it a subquery in FROM that others are joined with, all in one pair of parentheses?"""
    return isinstance(node, exp.Subquery) and bool(node.args.get("joins"))


def _groups(operator: Operator) -> bool:
    kept = (Aggregate, Distinct, Window, Limit, Recursion)
    return isinstance(operator, kept) or any(_groups(source) for source in inputs(operator))
