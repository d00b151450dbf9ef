"""Types of expressions as far as the text and the columns of tables tell: enough to name the columns that a generator
or a struct's star stands for. Types that matter for results are asked of the engine instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from spark_trickle.sql.functions import function_name

Kinds = Mapping[str, str]
"""Spark's types of columns of the tree, where they are known."""

_MAPS = frozenset({"map", "map_from_arrays", "map_from_entries", "map_concat", "str_to_map", "map_filter"})
_MOST_DIGITS = 38


def type_of(expression: exp.Expr, kinds: Kinds) -> exp.DataType | None:
    """The type of a bound expression, or None."""
    node = expression.unnest()
    match node:
        case exp.Column():
            return _read(kinds.get(node.name, ""))
        case exp.Cast():
            return node.to
        case exp.Dot():
            return fields(type_of(node.this, kinds)).get(node.expression.name.lower(), (None, None))[1]
        case exp.Bracket():
            inside = type_of(node.this, kinds)
            return inside.expressions[-1] if inside is not None and inside.expressions else None
        case exp.Anonymous():
            return _of_call(node, kinds)
    return None


def converts(kind: str, other: str) -> bool:
    """May several values of a type equal one value of the other type? '1' and '01' equal 1; large integers are rounded
    to a double. Of types that are not known the answer is no.

    >>> converts("string", "bigint"), converts("bigint", "string"), converts("bigint", "double")
    (True, False, True)
    """
    kind, other = kind.lower(), other.lower()
    if not kind or not other or kind == other:
        return False
    if kind.split(" ")[0].split("(")[0] in ("string", "varchar", "char"):
        return not other.startswith(("string", "varchar", "char")) or "collate" in f"{kind} {other}"
    if kind.startswith("decimal") or kind in ("int", "integer", "bigint", "long"):
        return other in ("float", "double", "real") or _too_long(kind, other)
    return {kind, other} == {"timestamp", "timestamp_ntz"}


def _too_long(kind: str, other: str) -> bool:
    """Do two decimals have no common type that holds all digits?"""
    found = [re.fullmatch(r"decimal\((\d+),\s*(-?\d+)\)", each) for each in (kind, other)]
    if not found[0] or not found[1]:
        return False
    digits = [(int(each[1]) - int(each[2]), int(each[2])) for each in found if each]
    return max(whole for whole, _ in digits) + max(scale for _, scale in digits) > _MOST_DIGITS


def fields(kind: exp.DataType | None) -> dict[str, tuple[str, exp.DataType]]:
    """The fields of a struct, by their names in lower case: name and type."""
    if kind is None or kind.this != exp.DType.STRUCT:
        return {}
    return {part.name.lower(): (part.name, part.args["kind"]) for part in kind.expressions if part.args.get("kind")}


def element(kind: exp.DataType | None) -> exp.DataType | None:
    """The type of what an array holds."""
    return kind.expressions[0] if kind is not None and kind.this == exp.DType.ARRAY and kind.expressions else None


def is_map(kind: exp.DataType | None) -> bool:
    return kind is not None and kind.this == exp.DType.MAP


def _of_call(node: exp.Anonymous, kinds: Kinds) -> exp.DataType | None:
    name, parts = function_name(node), node.expressions
    if name in _MAPS:
        return exp.DataType(this=exp.DType.MAP, nested=True)
    if name == "array" and parts:
        inside = type_of(parts[0], kinds)
        return None if inside is None else exp.DataType(this=exp.DType.ARRAY, expressions=[inside], nested=True)
    if name == "named_struct":
        return _struct([part.name for part in parts[::2]], parts[1::2], kinds)
    if name == "struct":
        return _struct([_field(part, place) for place, part in enumerate(parts, 1)], parts, kinds)
    if name == "from_json" and len(parts) > 1 and isinstance(parts[1], exp.Literal):
        schema = parts[1].name
        return _read(schema) if "<" in schema.split(" ")[0] else _read(f"struct<{schema}>")
    if name in ("filter", "array_distinct", "sort_array", "reverse", "slice", "array_compact", "coalesce") and parts:
        return type_of(parts[0], kinds)
    return None


def _field(part: exp.Expr, place: int) -> str:
    return str(part.alias or part.name) if isinstance(part, (exp.Alias, exp.Column, exp.Dot)) else f"col{place}"


def _struct(names: list[str], values: list[exp.Expr], kinds: Kinds) -> exp.DataType:
    unknown = exp.DataType(this=exp.DType.UNKNOWN)
    parts = [
        exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=type_of(value.unalias(), kinds) or unknown.copy())
        for name, value in zip(names, values, strict=False)
    ]
    return exp.DataType(this=exp.DType.STRUCT, expressions=parts, nested=True)


def _read(kind: str) -> exp.DataType | None:
    if not kind:
        return None
    try:
        return exp.DataType.build(kind, dialect="spark")
    except (ParseError, TokenError, ValueError):
        return None  # a name of a field that only Spark's own parser reads
