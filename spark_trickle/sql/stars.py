"""Stars in the select list: all columns, those of one table, the fields of a struct."""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.sql.bind import Binding, bind
from spark_trickle.sql.known_types import Kinds, fields, type_of
from spark_trickle.sql.left_out import columns_left_out, fields_left_out
from spark_trickle.sql.operators import column, dotted
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
        left_out = columns_left_out(star, where.scope, where.text)
        values = {name: bind(value, where) for name, value in replaced.items()}
        return [(v.name, values.get(v.name.lower(), column(v.column))) for v in found if v.column not in left_out]
    written = ".".join(qualifier)
    if not qualifier or around.find_around(qualifier) is None:
        raise wrong(where.text, entry, f"'{written}' in '{written}.*' is no table of this query")
    base = bind(dotted(qualifier), where)
    known = fields(type_of(base, kinds))
    if not known:
        raise unsupported(where.text, entry, Refused.UNKNOWN_FIELDS, name=written)
    left_out = fields_left_out(star, where.text)
    return [(name, dotted([name], base.copy())) for lowered, (name, _) in known.items() if lowered not in left_out]
