"""An operator tree as SQL over leaves; putting real tables there is the caller's work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from spark_trickle.sql.functions import TIME_WINDOW
from spark_trickle.sql.leaves import leaf_table
from spark_trickle.sql.operators import (
    Again,
    Aggregate,
    Distinct,
    Filter,
    Generate,
    Item,
    Join,
    Limit,
    Match,
    MatchKind,
    OneRow,
    Operator,
    OuterJoin,
    Project,
    Recursion,
    Scan,
    UnionAll,
    Window,
    column,
    inputs,
    scans,
    used,
)


def render(operator: Operator) -> exp.Query:
    """The query that computes the operator, with its columns in order."""
    return _Renderer(_prefix(operator)).query(operator)


def _prefix(operator: Operator) -> str:
    """A prefix for names of subqueries, different from all columns: `q1.a` must never mean a field of a struct `q1`."""
    names = {name.lower() for scan in scans(operator) for name in scan.columns} | _all_names(operator)
    prefix = "q"
    while any(name.startswith(prefix) and name[len(prefix) :].isdigit() for name in names):
        prefix += "q"
    return prefix


def _all_names(operator: Operator) -> set[str]:
    return {name.lower() for name in operator.columns}.union(*(_all_names(source) for source in inputs(operator)))


@dataclass(slots=True)
class _Renderer:
    prefix: str
    count: int = field(default=0)
    recursions: dict[str, str] = field(default_factory=dict)
    """Names of recursions in the text. Each is written once: the dialect moves all of them to the top."""

    def query(self, operator: Operator) -> exp.Query:
        if isinstance(operator, UnionAll):
            return self._union(operator)
        if isinstance(operator, Limit):
            return self._limit(operator)
        if isinstance(operator, Recursion):
            return self._recursion(operator)
        items: tuple[Item, ...] = tuple(Item(name, column(name)) for name in operator.columns)
        source: Operator = operator
        if isinstance(source, Project):
            items, source = source.items, source.input
        if isinstance(source, Aggregate) and all(item.is_rename for item in items):
            return self._grouped(source, items)
        if isinstance(source, Distinct):
            return (
                self._over(source.input, items, ()).distinct() if source is operator else self._over(source, items, ())
            )
        if isinstance(source, Window) and all(item.is_rename for item in items):
            values = {item.name: item.expression for item in source.items}
            return self._over(source.input, _computed(items, values), ())
        if isinstance(source, Match) and source.kind is MatchKind.MARK and all(item.is_rename for item in items):
            return self._marked(source, items)
        if isinstance(source, Filter):
            return self._over(source.input, items, source.conditions)
        return self._over(source, items, ())

    def _limit(self, limit: Limit) -> exp.Query:
        selected = self._over(limit.input, tuple(Item(name, column(name)) for name in limit.columns), ())
        # Sorting names the columns of the result here, whatever the input calls them.
        selected = selected.order_by(*(part.copy() for part in limit.order), copy=False)
        if limit.count is not None:
            selected = selected.limit(limit.count, copy=False)
        return selected.offset(limit.offset, copy=False) if limit.offset else selected

    def _recursion(self, recursion: Recursion) -> exp.Query:
        name = self._alias() if recursion.name in self.recursions else recursion.name
        self.recursions[recursion.name] = name
        step = self.query(recursion.step)
        if isinstance(step, exp.SetOperation):
            step = exp.Subquery(this=step)  # base and step are the two sides of the last UNION ALL
        body = exp.union(self.query(recursion.base), step, distinct=False, copy=False)
        names = [exp.to_identifier(name, quoted=True) for name in recursion.columns]
        alias = exp.TableAlias(this=exp.to_identifier(name, quoted=True), columns=names)
        table = exp.alias_(exp.table_(name, quoted=True), self._alias(), table=True, quoted=True)
        selected = exp.Select().from_(table, copy=False).select(*(column(name) for name in recursion.columns))
        selected.set("with_", exp.With(expressions=[exp.CTE(this=body, alias=alias)], recursive=True))
        return selected

    def _over(self, source: Operator, items: tuple[Item, ...], conditions: tuple[exp.Expr, ...]) -> exp.Select:
        found = self._from(source)
        if isinstance(source, (Scan, Again)):
            names = {item.name: column(item.source) for item in source.items}
            items = tuple(Item(item.name, _replaced(item.expression, names)) for item in items)
            conditions = tuple(_replaced(condition, names) for condition in conditions)
        chosen = [_aliased(item) for item in items] or [exp.alias_(exp.Literal.number(1), "_trickle_one", quoted=True)]
        selected = found.select(*chosen, copy=False)
        return selected.where(*(condition.copy() for condition in conditions), copy=False) if conditions else selected

    def _grouped(self, source: Aggregate, items: tuple[Item, ...]) -> exp.Select:
        values = {item.name: item.expression for item in (*source.keys, *source.calls)}
        chosen = tuple(Item(item.name, values[item.expression.name]) for item in items)
        keys = [item.expression for item in source.keys]
        below = source.input
        if isinstance(below, Project) and all(item.is_rename for item in below.items):
            plain = {item.name: column(item.expression.name) for item in below.items}
            chosen = tuple(Item(item.name, _replaced(item.expression, plain)) for item in chosen)
            keys = [_replaced(key, plain) for key in keys]
            below = below.input
        conditions: tuple[exp.Expr, ...] = ()
        if isinstance(below, Filter):
            conditions = below.conditions
            below = below.input
        selected = self._over(below, chosen, conditions)
        if not keys:
            return selected
        if isinstance(below, (Scan, Again)):
            names = {item.name: column(item.source) for item in below.items}
            keys = [_replaced(key, names) for key in keys]
        return selected.group_by(*(key.copy() for key in keys), copy=False)

    def _from(self, source: Operator) -> exp.Select:
        match source:
            case OneRow():
                return exp.Select()
            case Scan():
                leaf = leaf_table(source.leaf, source.version)
                return exp.Select().from_(exp.alias_(leaf, self._alias(), table=True, quoted=True), copy=False)
            case Again():
                name = self.recursions.get(source.name, source.name)
                table = exp.alias_(exp.table_(name, quoted=True), self._alias(), table=True, quoted=True)
                return exp.Select().from_(table, copy=False)
            case Join():
                return self._joined(source)
            case OuterJoin():
                return self._outer(source)
            case Match() if source.kind is not MatchKind.MARK:
                return self._matched(source)
            case Generate():
                return self._generated(source)
        return exp.Select().from_(self._subquery(source), copy=False)

    def _joined(self, join: Join) -> exp.Select:
        first, *rest = join.inputs
        known = set(first.columns)
        waiting = list(join.conditions)
        selected = exp.Select().from_(self._subquery(first), copy=False)
        while rest:
            source = next_joined(known, rest, waiting) or rest[0]
            rest.remove(source)
            known |= set(source.columns)
            ready = [c for c in waiting if used(c) <= known]
            waiting = [c for c in waiting if c not in ready]
            subquery = self._subquery(source)
            if ready:
                selected = selected.join(subquery, on=exp.and_(*(_operand(c) for c in ready), copy=False), copy=False)
            else:
                selected = selected.join(subquery, join_type="cross", copy=False)
        return selected

    def _outer(self, join: OuterJoin) -> exp.Select:
        side = {(True, False): "left", (False, True): "right", (True, True): "full"}
        kind = side[join.keeps_left, join.keeps_right]
        selected = exp.Select().from_(self._subquery(join.left), copy=False)
        return selected.join(self._subquery(join.right), on=_conjunction(join.conditions), join_type=kind, copy=False)

    def _matched(self, match: Match) -> exp.Select:
        selected = exp.Select().from_(self._subquery(match.left), copy=False)
        kind = "left semi" if match.kind is MatchKind.SEMI else "left anti"
        return selected.join(self._subquery(match.right), on=_conjunction(match.conditions), join_type=kind, copy=False)

    def _marked(self, match: Match, items: tuple[Item, ...]) -> exp.Select:
        # Both sides are subqueries, so that inside EXISTS no name of a table can hide one of the left side. Its columns
        # are named with their table there: alone, `current_date` would be the function, before Spark looks outside.
        left, right = self._subquery(match.left), self._subquery(match.right)
        selected = exp.Select().from_(left, copy=False)
        fits = exp.Select().from_(right, copy=False).select(exp.Literal.number(1), copy=False)
        if match.conditions:
            sides = {left.alias: match.left.columns, right.alias: match.right.columns}
            fits = fits.where(*(_qualified(condition, sides) for condition in match.conditions), copy=False)
        values: dict[str, exp.Expr] = {match.mark: exp.Exists(this=fits)}
        return selected.select(*(_aliased(item) for item in _computed(items, values)), copy=False)

    def _generated(self, generate: Generate) -> exp.Select:
        if generate.call.name.lower() == TIME_WINDOW:
            return exp.Select().from_(self._in_time_windows(generate), copy=False)
        selected = exp.Select().from_(self._subquery(generate.input), copy=False)
        names = [exp.to_identifier(name, quoted=True) for name in generate.outputs]
        alias = exp.TableAlias(this=exp.to_identifier(self._alias(), quoted=True), columns=names)
        if generate.call.name.lower() == "variant_explode":  # Spark knows it as a table function only
            call = exp.Anonymous(
                this="variant_explode", expressions=[part.copy() for part in generate.call.expressions]
            )
            call.set("this", "variant_explode_outer" if generate.outer else "variant_explode")
            return selected.join(exp.Lateral(this=call, alias=alias), join_type="cross", copy=False)
        view = exp.Lateral(this=generate.call.copy(), view=True, outer=generate.outer, alias=alias)
        return selected.lateral(view, copy=False)

    def _in_time_windows(self, generate: Generate) -> exp.Subquery:
        """Spark makes the rows where the function stands in a select list."""
        items = [exp.column(exp.to_identifier(name, quoted=True)) for name in generate.input.columns]
        made = exp.alias_(generate.call.copy(), exp.to_identifier(generate.outputs[0], quoted=True), copy=False)
        inside = exp.Select().from_(self._subquery(generate.input), copy=False).select(*items, made, copy=False)
        return inside.subquery(alias=exp.to_identifier(self._alias(), quoted=True), copy=False)

    def _subquery(self, operator: Operator) -> exp.Subquery:
        alias = self._alias()
        return self.query(operator).subquery(alias=exp.to_identifier(alias, quoted=True), copy=False)

    def _union(self, union: UnionAll) -> exp.Query:
        branches = []
        for source in union.inputs:
            items = tuple(Item(name, column(its)) for name, its in zip(union.columns, source.columns, strict=True))
            if isinstance(source, Project):
                items = tuple(
                    Item(name, item.expression) for name, item in zip(union.columns, source.items, strict=True)
                )
                source = source.input
            branches.append(self.query(Project(source, items)))
        combined = branches[0]
        for branch in branches[1:]:
            combined = exp.union(combined, branch, distinct=False, copy=False)
        return combined

    def _alias(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"


def _computed(items: tuple[Item, ...], values: dict[str, exp.Expr]) -> tuple[Item, ...]:
    return tuple(Item(item.name, values.get(item.expression.name, item.expression)) for item in items)


def _conjunction(conditions: tuple[exp.Expr, ...]) -> exp.Expr:
    return exp.and_(*(_operand(condition) for condition in conditions), copy=False) if conditions else exp.true()


def _qualified(condition: exp.Expr, sides: Mapping[str, Sequence[str]]) -> exp.Expr:
    """The condition with each column named with the subquery that has it."""
    table_of = {name: alias for alias, names in sides.items() for name in names}

    def named(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and not part.table and part.name in table_of:
            return column(part.name, table_of[part.name])
        return part

    return condition.transform(named)


def _operand(condition: exp.Expr) -> exp.Expr:
    bare = condition.copy()
    return exp.paren(bare) if isinstance(bare, exp.Or) else bare


def next_joined(known: Iterable[str], rest: Sequence[Operator], conditions: Sequence[exp.Expr]) -> Operator | None:
    """Which input is joined next with those whose columns are known: the first that an equality connects with them, or
    any condition. Another order would multiply rows. None: no condition connects one."""
    mine = set(known)
    equalities = [condition for condition in conditions if isinstance(condition.unnest(), (exp.EQ, exp.NullSafeEQ))]
    for usable in (equalities, conditions):
        for source in rest:
            if any(_connects(condition, mine, set(source.columns)) for condition in usable):
                return source
    return None


def _connects(condition: exp.Expr, known: set[str], its: set[str]) -> bool:
    names = used(condition)
    return bool(names & known) and bool(names & its) and names <= known | its


def _replaced(expression: exp.Expr, names: dict[str, exp.Column]) -> exp.Expr:
    def put(node: exp.Expr) -> exp.Expr:
        return names[node.name].copy() if isinstance(node, exp.Column) and node.name in names else node

    return expression.copy().transform(put, copy=False)


def _aliased(item: Item) -> exp.Expr:
    expression = item.expression.copy()
    if isinstance(expression, exp.Column) and expression.name == item.name:
        return expression
    return exp.alias_(expression, item.name, quoted=True, copy=False)
