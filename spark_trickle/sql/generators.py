"""Functions that make several rows of one: LATERAL VIEW, explode and its kin in the select list, table functions in
FROM, with or without LATERAL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.sql.bind import Binding, bind, without_aggregates
from spark_trickle.sql.functions import function_name, is_generator
from spark_trickle.sql.known_types import element, fields, is_map, type_of
from spark_trickle.sql.operators import Filter, Generate, OneRow, Operator, column, conjuncts
from spark_trickle.sql.parse import unsupported, wrong
from spark_trickle.sql.refusals import Refused
from spark_trickle.sql.relations import Relation
from spark_trickle.sql.scope import Scope, Visible

if TYPE_CHECKING:
    from spark_trickle.sql.build import Builder

GENERATED = "generated"
"""Mark on columns that a generator of the select list makes: they are there after the grouping only."""


@dataclass(frozen=True, slots=True)
class Generator:
    """A generator whose arguments are bound."""

    call: exp.Expr
    outputs: tuple[tuple[str, str], ...]
    """Name for the user, column of the tree."""
    outer: bool

    def over(self, operator: Operator, call: exp.Expr | None = None) -> Operator:
        return Generate(operator, call or self.call, tuple(found for _, found in self.outputs), self.outer)

    @property
    def columns(self) -> list[tuple[str, exp.Column]]:
        made = [(name, column(found)) for name, found in self.outputs]
        for _, found in made:
            found.meta[GENERATED] = True
        return made

    def beside(self, left: Relation, qualifier: tuple[str, ...]) -> Relation:
        visible = tuple(Visible(qualifier, name, found) for name, found in self.outputs)
        return Relation(self.over(left.operator), left.scope.beside(Scope(visible)))


def listed(entry: exp.Expr, where: Binding, builder: Builder) -> Generator | None:
    """The generator that an entry of the select list is, if it is one."""
    bare = entry.this if isinstance(entry, (exp.Alias, exp.Aliases)) else entry
    if not is_generator(bare):
        if isinstance(entry, exp.Aliases):
            raise wrong(where.text, entry, "several names for one column")
        return None
    names: tuple[str, ...] = ()
    if isinstance(entry, exp.Aliases):
        names = tuple(found.name for found in entry.expressions)
    elif isinstance(entry, exp.Alias):
        names = (entry.alias,)
    return _generator(bare, names, where, builder)


def lateral_view(builder: Builder, left: Relation, node: exp.Lateral, where: Binding) -> Relation:
    """A relation with LATERAL VIEW beside it."""
    if not is_generator(node.this):
        raise _unknown(builder, node.this)
    alias = node.args.get("alias")
    names = tuple(found.name for found in alias.args.get("columns") or ()) if alias else ()
    made = _generator(node.this, names, where, builder, outer=bool(node.args.get("outer")))
    return made.beside(left, (node.alias.lower(),) if node.alias else ())


def table_function(builder: Builder, node: exp.Table, where: Binding) -> Relation:
    """A function in FROM: it makes its rows of one row without columns."""
    alias = node.args.get("alias")
    names = tuple(found.name for found in alias.args.get("columns") or ()) if alias else ()
    call = node.this
    if function_name(call) == "range":
        call, names = _range(builder, call), names or ("id",)
    if not is_generator(call):
        raise _unknown(builder, call)
    made = _generator(call, names, where, builder)
    return made.beside(Relation(OneRow(), Scope()), ((node.alias or function_name(node.this)).lower(),))


def lateral_join(builder: Builder, left: Relation, node: exp.Join, where: Binding) -> Relation:
    """JOIN LATERAL of a generator."""
    lateral = node.this
    call, ranged = lateral.this, function_name(lateral.this) == "range"
    if ranged:
        call = _range(builder, call)
    if not is_generator(call):
        raise _unknown(builder, call)
    side = (node.side or "").upper()
    condition = node.args.get("on") or exp.true()
    always = isinstance(condition, exp.Boolean) and bool(condition.this)
    if side not in ("", "LEFT") or (side and not always) or node.args.get("using"):
        join, name = f"{side} JOIN".strip(), function_name(lateral.this)
        raise unsupported(builder.text, lateral, Refused.GENERATOR_CONDITION, "LATERAL", join=join, name=name)
    if side and "start" not in condition.meta:
        name = function_name(lateral.this)
        raise unsupported(builder.text, lateral, Refused.GENERATOR_WITHOUT_ON, "LATERAL", name=name)
    alias = lateral.args.get("alias")
    names = tuple(found.name for found in alias.args.get("columns") or ()) if alias else ()
    made = _generator(call, names or (("id",) if ranged else ()), where, builder, outer=bool(side))
    relation = made.beside(left, ((lateral.alias or function_name(lateral.this)).lower(),))
    if always:
        return relation
    here = Binding(where.text, relation.scope, where.subqueries, outer=where.outer)
    bound = without_aggregates(bind(condition, here), "ON", here)
    return Relation(Filter(relation.operator, tuple(conjuncts(bound))), relation.scope)


def _generator(
    call: exp.Expr, names: tuple[str, ...], where: Binding, builder: Builder, *, outer: bool = False
) -> Generator:
    bound = call.copy()
    for part in list(bound.expressions):
        # What has one argument may have it by name.
        value = part.expression if isinstance(part, exp.Kwarg) and len(bound.expressions) == 1 else part
        part.replace(bind(value, where))
    function = function_name(bound)
    if function.endswith("_outer"):
        function, outer = function.removesuffix("_outer"), True
    bound.set("this", function)
    shown = _columns(bound, builder)
    if names and shown is not None and len(names) != len(shown) and not _may_differ(bound, builder):
        raise wrong(builder.text, call, f"{len(names)} names for the {len(shown)} columns of {function}")
    known = names or shown
    if known is None:
        raise unsupported(builder.text, call, Refused.GENERATOR_NAMES, function.upper(), name=function)
    return Generator(bound, tuple((name, builder.names.fresh(name)) for name in known), outer)


def _may_differ(call: exp.Expr, builder: Builder) -> bool:
    """Whether explode makes one column or two is only known for certain when the type is."""
    return function_name(call) in ("explode", "posexplode") and type_of(call.expressions[0], builder.kinds) is None


def _columns(call: exp.Expr, builder: Builder) -> tuple[str, ...] | None:
    """Spark's own names of what a generator makes."""
    parts = call.expressions
    match function_name(call):
        case "explode":
            return ("key", "value") if is_map(type_of(parts[0], builder.kinds)) else ("col",)
        case "posexplode":
            return ("pos", "key", "value") if is_map(type_of(parts[0], builder.kinds)) else ("pos", "col")
        case "variant_explode":
            return ("pos", "key", "value")
        case "json_tuple":
            return tuple(f"c{place}" for place in range(len(parts) - 1))
        case "inline":
            found = fields(element(type_of(parts[0], builder.kinds)))
            return tuple(name for name, _ in found.values()) or None
        case "stack" if isinstance(parts[0], exp.Literal) and parts[0].is_int and int(parts[0].this) > 0:
            width = -(-(len(parts) - 1) // int(parts[0].this))
            return tuple(f"col{place}" for place in range(width))
    return None


_MOST = 1_000_000


def _range(builder: Builder, call: exp.Expr) -> exp.Expr:
    """`range(start, end, step)` with an array of its numbers."""
    try:
        bounds = [int(part.sql()) for part in call.expressions[:3]]
    except ValueError:
        bounds = []
    if not bounds or (len(bounds) == 3 and bounds[2] == 0):
        raise unsupported(builder.text, call, Refused.RANGE_BOUNDS)
    numbers = range(*bounds)
    if len(numbers) > _MOST:
        raise unsupported(builder.text, call, Refused.RANGE_SIZE, most=str(_MOST))
    if not numbers:
        empty = exp.cast(exp.Anonymous(this="array", expressions=[]), exp.DataType.build("array<bigint>", "spark"))
        return exp.Anonymous(this="explode", expressions=[empty])
    ends = [
        exp.cast(exp.Literal.number(number), exp.DType.BIGINT) for number in (numbers[0], numbers[-1], numbers.step)
    ]
    if len(numbers) == 1:
        return exp.Anonymous(this="explode", expressions=[exp.Anonymous(this="array", expressions=ends[:1])])
    return exp.Anonymous(this="explode", expressions=[exp.Anonymous(this="sequence", expressions=ends)])


def _unknown(builder: Builder, call: exp.Expr) -> Exception:
    return unsupported(builder.text, call, Refused.TABLE_FUNCTION, name=function_name(call))
