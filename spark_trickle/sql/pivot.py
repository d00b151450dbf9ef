"""PIVOT: groups by the columns that it does not name, with one aggregate for each value. UNPIVOT: each row once for
each column that becomes a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.sql import select
from spark_trickle.sql.bind import Binding, bind
from spark_trickle.sql.functions import algebraic, bare_call, function_name, is_aggregate, spark_name
from spark_trickle.sql.known_types import fields, type_of
from spark_trickle.sql.operators import Filter, Generate, Item, Operator, Project, column, used
from spark_trickle.sql.parse import unsupported, wrong
from spark_trickle.sql.refusals import Refused
from spark_trickle.sql.relations import Relation, separated
from spark_trickle.sql.said import said
from spark_trickle.sql.scope import Scope, Visible
from spark_trickle.sql.subqueries import Pending

if TYPE_CHECKING:
    from spark_trickle.sql.build import Builder, Cte


def pivoted(builder: Builder, relation: Relation, node: exp.Pivot, ctes: Mapping[str, Cte]) -> Relation:
    """A relation with PIVOT or UNPIVOT after it."""
    if len(node.args["fields"]) != 1 or not isinstance(node.args["fields"][0], exp.In):
        raise unsupported(builder.text, node, Refused.PIVOT_FORM, "PIVOT")
    relation = separated(relation, builder.names, builder.kinds)
    found = _unpivot(builder, relation, node) if node.args.get("unpivot") else _pivot(builder, relation, node, ctes)
    alias = node.args.get("alias")
    if alias is None:
        return found
    names = [part.name for part in alias.args.get("columns") or ()] or [v.name for v in found.scope.columns]
    if len(names) != len(found.scope.columns):
        raise wrong(builder.text, node, f"{len(names)} names for {len(found.scope.columns)} columns")
    visible = tuple(
        Visible((alias.name.lower(),), name, v.column) for name, v in zip(names, found.scope.columns, strict=True)
    )
    return Relation(found.operator, Scope(visible))


def _pivot(builder: Builder, relation: Relation, node: exp.Pivot, ctes: Mapping[str, Cte]) -> Relation:
    pending = Pending(builder, ctes)
    where = Binding(builder.text, relation.scope, pending)
    field = node.args["fields"][0]
    columns = [bind(part, where) for part in (field.this.expressions if _is_tuple(field.this) else [field.this])]
    calls = [(part, bind(part.unalias(), where)) for part in node.expressions]
    read = {name for part in (*columns, *(call for _, call in calls)) for name in used(part)}
    keys = [v for v in relation.scope.star() if v.column not in read]
    outputs = [select.Output(v.name, column(v.column)) for v in keys]
    absent = _absent_is_null(builder, node, [call for _, call in calls])
    for value in field.expressions:
        wanted = value.this if isinstance(value, exp.PivotAlias) else value
        fits = _fits(columns, wanted, where, builder)
        shown = value.alias if isinstance(value, exp.PivotAlias) else _shown(wanted)
        for part, call in calls:
            name = shown if len(calls) == 1 else f"{shown}_{spark_name(part)}"
            outputs.append(select.Output(name, _of_value(call, fits, null_if_absent=absent)))
    grouping = select.Grouping(where, builder.names, said=said(builder.text, node, "PIVOT", keyword="PIVOT"))
    operator, above = grouping.apply(relation.operator, [column(v.column) for v in keys], outputs, None)
    built = select.projected(operator, above, builder.names)
    qualifiers = [v.qualifier for v in keys] + [()] * (len(outputs) - len(keys))
    visible = tuple(
        Visible(qualifier, name, found) for qualifier, (name, found) in zip(qualifiers, built.outputs, strict=True)
    )
    return Relation(built.operator, Scope(visible))


def _is_tuple(node: exp.Expr) -> bool:
    return isinstance(node, exp.Tuple)


def _fits(columns: list[exp.Expr], wanted: exp.Expr, where: Binding, builder: Builder) -> exp.Expr:
    """Whether a row belongs to a value. Spark converts the value to the type of the column."""
    values = wanted.expressions if _is_tuple(wanted) else [wanted]
    if len(columns) == 1 and len(values) > 1 and fields(type_of(columns[0], builder.kinds)):
        values = [exp.Anonymous(this="struct", expressions=values)]
    if len(values) != len(columns):
        raise wrong(where.text, wanted, f"PIVOT of {len(columns)} columns with a value of {len(values)}")
    same = []
    for found, value in zip(columns, values, strict=True):
        bound = bind(value, where)
        kind = type_of(found, builder.kinds)
        if kind is not None and not _is_of(bound, kind):
            bound = exp.cast(bound, kind)
        same.append(exp.NullSafeEQ(this=found.copy(), expression=bound))
    return exp.and_(*same)


def _is_of(value: exp.Expr, kind: exp.DataType) -> bool:
    if not isinstance(value, exp.Literal):
        return False
    name = kind.this.name
    return name in ("TEXT", "VARCHAR") if value.is_string else value.is_int and name in _INTEGERS


def _shown(value: exp.Expr) -> str:
    """A value as Spark makes a name of it."""
    if _is_tuple(value):
        return "{" + ", ".join(_shown(part) for part in value.expressions) + "}"
    if isinstance(value, exp.Null):
        return "null"
    if isinstance(value, exp.Cast) and isinstance(value.this, exp.Literal):
        return str(value.this.name)
    if isinstance(value, exp.Literal):
        return str(value.name)
    return str(value.sql(dialect="spark", normalize_functions="lower")).lower()


_NUMBERS = frozenset({
    "approx_count_distinct", "avg", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "corr", "count", "count_if",
    "covar_pop", "covar_samp", "every", "kurtosis", "mean", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept",
    "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "skewness", "some", "std", "stddev", "stddev_pop",
    "stddev_samp", "sum", "try_avg", "try_sum", "var_pop", "var_samp", "variance",
})  # fmt: skip
"""Aggregates that give a number or a truth value, whatever they are given."""
_NO_NUMBERS = frozenset({"sort_array", "array_sort", "withingroup", "collect_list", "collect_set", "array_agg"})
_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})
_NUMERIC = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN"})
_NULL_OF_NOTHING = frozenset({"sum", "avg", "min", "max"})


def _absent_is_null(builder: Builder, node: exp.Expr, calls: list[exp.Expr]) -> bool:
    """Is a value without rows NULL, even for COUNT? In Spark so if all aggregates are numbers; if not, it is 0."""
    if all(function_name(call) in _NULL_OF_NOTHING for call in calls):
        return False  # both are the same
    doubtful = False
    for call in (found for bound in calls for found in _aggregates(bound)):
        if function_name(bare_call(call)) in _NUMBERS:
            continue
        if function_name(call) in _NO_NUMBERS:
            return False
        kind = type_of(call.this, builder.kinds) if isinstance(call, (exp.Min, exp.Max)) else None
        if kind is None:
            doubtful = True
        elif kind.this.name not in _NUMERIC:
            return False
    if doubtful:
        raise unsupported(builder.text, node, Refused.PIVOT_TYPE, "PIVOT")
    return True


def _aggregates(bound: exp.Expr) -> Iterator[exp.Expr]:
    if is_aggregate(bound):
        yield bound
        return
    for child in bound.iter_expressions():
        yield from _aggregates(child)


def _of_value(bound: exp.Expr, fits: exp.Expr, *, null_if_absent: bool) -> exp.Expr:
    """An aggregate over the rows of one value only."""
    holder = exp.Paren(this=bound.copy())
    for call in list(_aggregates(holder.this)):
        call.replace(_filtered(call, fits))
    only: exp.Expr = holder.this
    only.pop()
    if not null_if_absent or function_name(only) in _NULL_OF_NOTHING:
        return only
    there = exp.Count(this=exp.case().when(fits.copy(), exp.Literal.number(1)), big_int=True)
    return exp.case().when(exp.GT(this=there, expression=exp.Literal.number(0)), only)


def _filtered(call: exp.Expr, fits: exp.Expr) -> exp.Expr:
    """The call with one more condition. A sort around a collected array stays around it."""
    if isinstance(call, exp.Anonymous) and call.expressions and is_aggregate(call.expressions[0]):
        outside = call.copy()
        outside.expressions[0].replace(_filtered(call.expressions[0], fits))
        return outside
    if isinstance(call, exp.Filter):
        both = exp.and_(call.expression.this.copy(), fits.copy())
        return algebraic(exp.Filter(this=call.this.copy(), expression=exp.Where(this=both)))
    return algebraic(exp.Filter(this=call.copy(), expression=exp.Where(this=fits.copy())))


def _unpivot(builder: Builder, relation: Relation, node: exp.Pivot) -> Relation:
    field = node.args["fields"][0]
    values = node.expressions[0].expressions if _is_tuple(node.expressions[0]) else node.expressions
    chosen: list[tuple[str, list[str]]] = []
    for entry in field.expressions:
        part = entry.this if isinstance(entry, exp.PivotAlias) else entry
        columns = part.expressions if _is_tuple(part) else [part.unnest()]
        if len(columns) != len(values):
            raise wrong(builder.text, entry, f"UNPIVOT of {len(columns)} columns into {len(values)}")
        label = entry.alias if isinstance(entry, exp.PivotAlias) else "_".join(found.name for found in columns)
        chosen.append((label, [_column(builder, relation.scope, found) for found in columns]))
    gone = {name for _, columns in chosen for name in columns}
    kept = [v for v in relation.scope.star() if v.column not in gone]
    number = builder.names.fresh("number")
    numbers: list[exp.Expr] = [exp.Literal.number(place) for place in range(len(chosen))]
    call = exp.Anonymous(this="explode", expressions=[exp.Anonymous(this="array", expressions=numbers)])
    expanded = Generate(relation.operator, call, (number,))
    labels: list[exp.Expr] = [exp.Literal.string(label) for label, _ in chosen]
    made = [Item(builder.names.fresh(field.this.name), _case(number, labels))]
    for place, value in enumerate(values):
        sources: list[exp.Expr] = [column(columns[place]) for _, columns in chosen]
        made.append(Item(builder.names.fresh(value.name), _case(number, sources)))
    operator: Operator = Project(expanded, (*(Item(v.column, column(v.column)) for v in kept), *made))
    if not node.args.get("include_nulls"):
        known = [exp.Is(this=column(item.name), expression=exp.Null()).not_() for item in made[1:]]
        operator = Filter(operator, (exp.or_(*known),))
    shown = [field.this.name, *(value.name for value in values)]
    visible = tuple(Visible((), name, item.name) for name, item in zip(shown, made, strict=True))
    return Relation(operator, Scope((*kept, *visible)))


def _column(builder: Builder, scope: Scope, node: exp.Expr) -> str:
    found = scope.find([part.name for part in node.parts]) if isinstance(node, exp.Column) else None
    if found is None or found[1]:
        raise wrong(builder.text, node, f"'{node.sql(dialect='spark')}' in UNPIVOT is no column")
    return found[0]


def _case(number: str, values: list[exp.Expr]) -> exp.Expr:
    if len(values) == 1:
        return values[0]
    chosen = exp.Case(this=column(number))
    for place, value in enumerate(values):
        chosen = chosen.when(exp.Literal.number(place), value)
    return chosen
