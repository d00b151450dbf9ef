"""Stars in the select list: all columns, those of one table, the fields of a struct."""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.sql.bind import Binding, bind
from spark_trickle.sql.known_types import Kinds, fields, type_of
from spark_trickle.sql.left_out import fields_left, star_left
from spark_trickle.sql.operators import dotted
from spark_trickle.sql.parse import unsupported, wrong
from spark_trickle.sql.pipes import PIPED
from spark_trickle.sql.refusals import Refused


def starred(entry: exp.Expr, where: Binding, kinds: Kinds) -> list[tuple[str, exp.Expr]] | None:
    """Names and values of the columns that an entry of the select list stands for; None if it is no star."""
    qualifier: tuple[str, ...] = ()
    entry = entry.unnest()
    star = entry
    if isinstance(entry, exp.Column) and isinstance(entry.this, exp.Star):
        qualifier = tuple(part.name for part in entry.parts[:-1])
        star = entry.this
    if not isinstance(star, exp.Star):
        return None
    replaced = {found.alias.lower(): found.this for found in star.args.get("replace") or ()}
    if star.args.get("rename") or (replaced and not star.meta.get(PIPED)):
        raise unsupported(where.text, entry, Refused.STAR_REPLACE)
    around = where.scope.within(where.outer)
    found = around.star_around(qualifier)
    if found or not (qualifier or where.scope.columns):  # without FROM, there is nothing that `*` could stand for
        values = {name: bind(value, where) for name, value in replaced.items()}
        left = star_left(star, found, where.scope, kinds, where.text)
        return [(name, values.get(name.lower(), value)) for name, value in left]
    written = ".".join(qualifier)
    if not qualifier or around.find_around(qualifier) is None:
        raise wrong(where.text, entry, f"'{written}' in '{written}.*' is no table of this query")
    base = bind(dotted(qualifier), where)
    if not fields(type_of(base, kinds)):
        raise unsupported(where.text, entry, Refused.UNKNOWN_FIELDS, name=written)
    return fields_left(star, base, kinds, where.text)
