"""Stars in the select list: all columns, those of one table, the fields of a struct."""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.sql.bind import Binding, bind
from spark_trickle.sql.known_types import Kinds, fields, type_of
from spark_trickle.sql.operators import column
from spark_trickle.sql.parse import unsupported, wrong
from spark_trickle.sql.refusals import Refused


def starred(entry: exp.Expr, where: Binding, kinds: Kinds) -> list[tuple[str, exp.Expr]] | None:
    """Names and values of the columns that an entry of the select list stands for; None if it is no star."""
    qualifier: tuple[str, ...] = ()
    star = entry
    if isinstance(entry, exp.Column) and isinstance(entry.this, exp.Star):
        qualifier = tuple(part.name for part in entry.parts[:-1])
        star = entry.this
    if not isinstance(star, exp.Star):
        return None
    if star.args.get("replace") or star.args.get("rename"):
        raise unsupported(where.text, entry, Refused.STAR_REPLACE)
    left_out = {column.name.lower() for column in star.args.get("except_") or ()}
    found = where.scope.star(qualifier)
    if found:
        return [(v.name, column(v.column)) for v in found if v.name.lower() not in left_out]
    written = ".".join(qualifier)
    if not qualifier or where.scope.find(qualifier) is None:
        raise wrong(where.text, entry, f"'{written}' in '{written}.*' is no table of this query")
    base: exp.Expr = exp.column(exp.to_identifier(qualifier[0], quoted=True))
    for name in qualifier[1:]:
        base = exp.Dot(this=base, expression=exp.to_identifier(name, quoted=True))
    base = bind(base, where)
    known = fields(type_of(base, kinds))
    if not known:
        raise unsupported(where.text, entry, Refused.UNKNOWN_FIELDS, name=written)
    return [
        (name, exp.Dot(this=base.copy(), expression=exp.to_identifier(name, quoted=True)))
        for lowered, (name, _) in known.items()
        if lowered not in left_out
    ]
