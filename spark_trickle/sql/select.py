"""The clauses of one SELECT: list, WHERE, GROUP BY, HAVING, DISTINCT, and where the subqueries in them belong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.errors import SqlError
from spark_trickle.sql import generators
from spark_trickle.sql.attach import Attached
from spark_trickle.sql.bind import Binding, bind, without_aggregates, without_windows
from spark_trickle.sql.commuted import found_among
from spark_trickle.sql.functions import (
    GROUPING,
    bare_call,
    function_name,
    has_aggregate,
    is_aggregate,
    is_aggregate_of_collected,
    spark_name,
)
from spark_trickle.sql.grouping_sets import GroupingSets, grouping_sets, has_sets
from spark_trickle.sql.limits import Cut, Sorted, cut_of, cut_to, is_all, limited, sorted_by
from spark_trickle.sql.operators import (
    Aggregate,
    Distinct,
    Filter,
    Item,
    OneRow,
    Operator,
    Project,
    column,
    conjuncts,
    used,
)
from spark_trickle.sql.parse import wrong
from spark_trickle.sql.relations import Built, in_order, separated
from spark_trickle.sql.rows_read import rows_read
from spark_trickle.sql.said import Said, grouped_by
from spark_trickle.sql.scope import Names, Scope
from spark_trickle.sql.stars import starred
from spark_trickle.sql.subqueries import Pending
from spark_trickle.sql.time_windows import with_time_windows
from spark_trickle.sql.windows import has_window, lifted, name_windows

if TYPE_CHECKING:
    from spark_trickle.sql.build import Builder, Cte


@dataclass(frozen=True, slots=True)
class Output:
    """One entry of the select list."""

    name: str
    expression: exp.Expr


def select(builder: Builder, node: exp.Select, ctes: Mapping[str, Cte], outer: Scope) -> Built:
    """One SELECT as an operator."""
    name_windows(node, builder.text)
    with_time_windows(node, builder.text)
    pending = Pending(builder, ctes)
    relation = rows_read(builder, node, pending, outer)
    if has_sets(node.args.get("group")):
        relation = separated(relation, builder.names, builder.kinds)
    where = Binding(builder.text, relation.scope, pending, outer=outer)
    operator = relation.operator
    shown, made = _outputs(node, where, builder)
    having = _having(node, where, shown)
    cut, order = _order(builder, node, shown, where)
    qualify = _qualify(node, where, shown)
    outputs = [*shown, *(Output("sort", key.key) for key in order if isinstance(key.key, exp.Expr)), *qualify]
    listed = [*(output.expression for output in outputs), *(found.call for found in made)]
    if node.args.get("group") is not None or having is not None or any(map(has_aggregate, listed)):
        operator, outputs, made = _grouped(builder, node, operator, where, shown, outputs, made, having)
        one_row = node.args.get("group") is None and having is None
    else:
        operator = pending.beside(operator)
        one_row = isinstance(relation.operator, OneRow)
    for found in made:
        operator, one_row = found.over(operator), False
    if pending.found or has_window(output.expression for output in outputs):
        operator, outputs = _windowed(builder, pending, operator, outputs)
    if qualify:
        operator = Filter(operator, tuple(conjuncts(outputs.pop().expression)))
    built = projected(operator, outputs, builder.names)
    if node.args.get("distinct") is not None:
        distinct = Built(Distinct(_exactly(built, builder.names)), built.outputs)
        return limited(builder, node, distinct, where)
    if cut is not None:
        extra = iter(built.outputs[len(shown) :])
        by = [key.by(next(extra)[1] if isinstance(key.key, exp.Expr) else built.outputs[key.key][1]) for key in order]
        return cut_to(builder, node, Built(built.operator, built.outputs[: len(shown)], one_row), cut, by)
    return Built(built.operator, built.outputs, one_row)


def _windowed(
    builder: Builder, pending: Pending, operator: Operator, outputs: list[Output]
) -> tuple[Operator, list[Output]]:
    """The outputs over an operator that computes their window functions, and then the subqueries compared with them."""
    waiting = list(pending.found.values())
    compared = [part for found in waiting for part in found.operands]
    read = [column(name) for found in waiting for name in sorted(found.reads.intersection(operator.columns))]
    expressions = [*(output.expression for output in outputs), *compared, *read]
    operator, values = lifted(builder, operator, expressions)
    left = iter(values)
    outputs = [replace(output, expression=next(left)) for output in outputs]
    for found in waiting:
        pending.found[found.name] = replace(found, operands=tuple(next(left) for _ in found.operands))
    return pending.beside(operator), outputs


def _grouped(
    builder: Builder,
    node: exp.Select,
    operator: Operator,
    where: Binding,
    shown: list[Output],
    outputs: list[Output],
    made: list[generators.Generator],
    having: exp.Expr | None,
) -> tuple[Operator, list[Output], list[generators.Generator]]:
    """GROUP BY, aggregates and HAVING; what outputs and generators read of the groups is put into them."""
    group = node.args.get("group")
    sets = _sets(group, shown, where, builder.names)
    keys = list(sets.keys) if sets else _keys(group, shown, where) if group is not None else []
    arguments = [Output("", found.call) for found in made]
    grouping = Grouping(where, builder.names, sets, grouped_by(builder.text, node))
    operator, above = grouping.apply(operator, keys, [*outputs, *arguments], having)
    calls = [output.expression for output in above[len(outputs) :]]
    made = [replace(found, call=call) for found, call in zip(made, calls, strict=True)]
    return operator, above[: len(outputs)], made


def _order(
    builder: Builder, node: exp.Select, outputs: list[Output], where: Binding
) -> tuple[Cut | None, list[Sorted]]:
    """What LIMIT leaves, and in which order; with DISTINCT that is decided later, over the different rows."""
    cut = cut_of(node, builder.text) if node.args.get("distinct") is None else None
    if cut is None:
        return None, []
    names, values = [output.name for output in outputs], [output.expression for output in outputs]
    return cut, sorted_by(cut, names, values, where)


def _qualify(node: exp.Select, where: Binding, outputs: list[Output]) -> list[Output]:
    clause = node.args.get("qualify")
    if clause is None:
        return []
    aliases = {output.name.lower(): output.expression for output in outputs}
    return [Output("qualify", bind(clause.this, replace(where, aliases=aliases)))]


def _exactly(built: Built, names: Names) -> Operator:
    """Only the columns that are put out, each once: two outputs of one column are the same when it is."""
    once = tuple(dict.fromkeys(found for _, found in built.outputs))
    return in_order(Built(built.operator, tuple((name, name) for name in once)), names)


def _outputs(node: exp.Select, where: Binding, builder: Builder) -> tuple[list[Output], list[generators.Generator]]:
    outputs: list[Output] = []
    made: list[generators.Generator] = []
    aliases = _number_of_set(node)
    for entry in node.expressions:
        star = starred(entry, where, builder.kinds)
        if star is not None:
            outputs.extend(Output(name, found) for name, found in star)
            continue
        here = Binding(where.text, where.scope, where.subqueries, aliases, where.outer)
        generator = generators.listed(entry, here, builder)
        if generator is not None:
            made.append(generator)
            outputs.extend(Output(name, found) for name, found in generator.columns)
            aliases.update((name.lower(), found) for name, found in generator.columns if entry.args.get("alias"))
            continue
        bound = bind(entry.this if isinstance(entry, exp.Alias) else entry, here)
        outputs.append(Output(spark_name(entry), bound))
        if isinstance(entry, exp.Alias):
            aliases.setdefault(entry.alias.lower(), bound)
    return outputs, made


def _number_of_set(node: exp.Select) -> dict[str, exp.Expr]:
    """`grouping__id`, which grouping sets have as if it were a column."""
    return {"grouping__id": exp.Anonymous(this="grouping_id")} if has_sets(node.args.get("group")) else {}


def _having(node: exp.Select, where: Binding, outputs: list[Output]) -> exp.Expr | None:
    clause = node.args.get("having")
    if clause is None:
        return None
    aliases = _number_of_set(node) | {output.name.lower(): output.expression for output in outputs}
    bound = bind(clause.this, Binding(where.text, where.scope, where.subqueries, aliases, where.outer))
    if not isinstance(bound.unnest(), (exp.Predicate, exp.Connector, exp.Not, exp.Boolean, exp.Column)):
        bound = exp.cast(bound, exp.DType.BOOLEAN)  # as Spark does; nowhere else
    return without_windows(bound, "HAVING", where)


def _keys(group: exp.Group, outputs: list[Output], where: Binding) -> list[exp.Expr]:
    if len(group.expressions) == 1 and is_all(group.expressions[0], where.scope):
        listed = [
            output.expression
            for output in outputs
            if not has_aggregate(output.expression) and not has_window([output.expression])
        ]
        return list(dict.fromkeys(key for key in listed if not key.meta.get(generators.GENERATED)))
    return list(dict.fromkeys(_key(entry, outputs, where) for entry in group.expressions))


def _key(entry: exp.Expr, outputs: list[Output], where: Binding) -> exp.Expr:
    if isinstance(entry, exp.Literal) and not entry.is_string:
        position = int(entry.this) if entry.is_int else 0
        if not 1 <= position <= len(outputs):
            raise wrong(where.text, entry, f"GROUP BY {entry.this}: there are {len(outputs)} output columns")
        key = outputs[position - 1].expression
    else:
        aliases = {output.name.lower(): output.expression for output in outputs}
        key = bind(entry, Binding(where.text, where.scope, where.subqueries, aliases, where.outer))
    return without_aggregates(key.unnest(), "GROUP BY", where)


def _sets(group: exp.Group | None, outputs: list[Output], where: Binding, names: Names) -> GroupingSets | None:
    if group is None:
        return None
    return grouping_sets(group, lambda entry: _key(entry, outputs, where), lambda: names.fresh("grouping_set"))


def projected(operator: Operator, outputs: list[Output], names: Names) -> Built:
    """Computed outputs get a column; plain ones keep theirs."""
    computed: list[Item] = []
    placed: list[tuple[str, str]] = []
    for output in outputs:
        bare = output.expression.unnest()
        if isinstance(bare, exp.Column):
            placed.append((output.name, bare.name))
            continue
        computed.append(Item(names.fresh(output.name), output.expression))
        placed.append((output.name, computed[-1].name))
    if computed:
        fresh = {item.name for item in computed}
        plain = dict.fromkeys(found for _, found in placed if found not in fresh)
        operator = Project(operator, (*(Item(found, column(found)) for found in plain), *computed))
    return Built(operator, tuple(placed))


@dataclass(frozen=True, slots=True)
class Grouping:
    """Splits expressions over groups into keys, aggregate calls, and what is computed from both."""

    where: Binding
    names: Names
    sets: GroupingSets | None = None
    said: Said | None = None
    keys: dict[exp.Expr, str] = field(default_factory=dict)
    calls: dict[exp.Expr, str] = field(default_factory=dict)

    def apply(
        self, operator: Operator, keys: list[exp.Expr], outputs: list[Output], having: exp.Expr | None
    ) -> tuple[Operator, list[Output]]:
        pending = self.where.subqueries
        assert isinstance(pending, Pending)
        wishes = {output.expression.unnest(): output.name for output in outputs}
        for key in keys:
            plain = isinstance(key, exp.Column) and self.sets is None
            self.keys[key] = key.name if plain else self.names.fresh(wishes.get(key, "key"))
        for output in outputs:
            bare = output.expression.unnest()
            if is_aggregate(bare) and bare not in self.calls:
                self.calls[bare] = self.names.fresh(output.name)
        above = [Output(output.name, self._above(output.expression)) for output in outputs]
        if having is not None:
            having = self._with_aliases(having, keys, outputs)
        condition = None if having is None else self._above(having)
        self._lift_operands(pending)
        operator = pending.beside(operator, self._below(pending))
        if not self.keys and not self.calls and not self.sets:
            self.calls[exp.Count(this=exp.Star(), big_int=True)] = self.names.fresh("count")
        calls = tuple(Item(name, call) for call, name in self.calls.items())
        if self.sets is not None:
            operator = self.sets.over(operator, self.keys)
            items = tuple(Item(name, column(name)) for name in (*self.keys.values(), self.sets.number))
        else:
            operator = self._constants(operator, keys)
            items = tuple(Item(name, key if used(key) else column(name)) for key, name in self.keys.items())
        aggregate = Aggregate(operator, items, calls, self.said)
        self._check(pending, operator, aggregate)
        grouped: Operator = aggregate
        if condition is not None:
            shown = {name for output in above for name in used(output.expression)}
            grouped = pending.filtered(grouped, condition, shown)
        return pending.beside(grouped), above

    def _with_aliases(self, having: exp.Expr, keys: list[exp.Expr], outputs: list[Output]) -> exp.Expr:
        """A name in HAVING is first that of a column; if that is neither grouped nor aggregated, that of an output."""
        named = {output.name.lower(): output.expression for output in reversed(outputs)}
        shown = {v.column: v.name.lower() for v in self.where.scope.columns if v.name.lower() in named}
        instead = {name: named[alias] for name, alias in shown.items() if named[alias].unnest() != column(name)}

        def lifted(node: exp.Expr) -> None:
            if found_among(node, self.keys) is not None or is_aggregate(node) or node.name in self._pending:
                return
            if isinstance(node, exp.Column) and node.name in instead:
                node.replace(exp.paren(instead[node.name].copy()))
                return
            for child in list(node.iter_expressions()):
                lifted(child)

        holder = exp.Paren(this=having.copy())
        lifted(holder.this)
        changed: exp.Expr = holder.this
        changed.pop()
        return changed

    def _below(self, pending: Pending) -> set[str]:
        """Subqueries that the rows of the groups need."""
        return pending.closed(name for part in (*self.keys, *self.calls) for name in used(part))

    def _lift_operands(self, pending: Pending) -> None:
        """What a subquery above the groups is compared with is over groups, too."""
        below = self._below(pending)
        for name, found in pending.found.items():
            if name not in below:
                pending.found[name] = replace(found, operands=tuple(self._above(part) for part in found.operands))

    def _check(self, pending: Pending, below: Operator, above: Operator) -> None:
        for found in pending.found.values():
            for name in found.reads & set(below.columns) - set(above.columns):
                raise self._not_grouped(column(name))

    def _constants(self, operator: Operator, keys: list[exp.Expr]) -> Operator:
        # As a key, a number would be read as the position of an output column.
        constants = [Item(self.keys[key], key) for key in keys if not used(key)]
        if not constants:
            return operator
        return Project(operator, (*(Item(name, column(name)) for name in operator.columns), *constants))

    def _above(self, expression: exp.Expr) -> exp.Expr:
        holder = exp.Paren(this=expression.copy())
        self._lift(holder.this)
        lifted: exp.Expr = holder.this
        lifted.pop()
        return lifted

    def _lift(self, node: exp.Expr) -> None:
        key = found_among(node, self.keys)
        if key is not None:
            node.replace(column(key))
        elif isinstance(node, exp.Anonymous) and function_name(node) in GROUPING:
            found = None if self.sets is None else self.sets.value(node)
            if found is None:
                raise wrong(self.where.text, node, f"{node.name} of what is no key of GROUPING SETS, CUBE or ROLLUP")
            node.replace(found)
        elif is_aggregate(node):
            if any(
                has_aggregate(part) for part in bare_call(node).iter_expressions()
            ) and not is_aggregate_of_collected(node):
                raise wrong(self.where.text, node, "an aggregate inside an aggregate", hint="Use a subquery")
            without_windows(node, "an aggregate", self.where)
            node.replace(column(self._call(node)))
        elif isinstance(node, exp.Column):
            mine = any(visible.column == node.name for visible in self.where.scope.columns)
            if mine and node.name not in self._pending:
                raise self._not_grouped(node)
        else:
            for child in list(node.iter_expressions()):
                self._lift(child)

    @property
    def _pending(self) -> dict[str, Attached]:
        assert isinstance(self.where.subqueries, Pending)
        return self.where.subqueries.found

    def _call(self, node: exp.Expr) -> str:
        if node not in self.calls:
            columns = sorted(used(node))
            wish = "_".join([function_name(bare_call(node)), *columns[:2]])
            self.calls[node.copy()] = self.names.fresh(wish)
        return self.calls[node]

    def _not_grouped(self, node: exp.Column) -> SqlError:
        shown = next((v.name for v in self.where.scope.columns if v.column == node.name), node.name)
        return wrong(
            self.where.text,
            node,
            f"column '{shown}' is neither in GROUP BY nor in an aggregate",
            hint=f"Add it to GROUP BY, or use max({shown})",
        )
