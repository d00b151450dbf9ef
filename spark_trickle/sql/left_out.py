"""What `* EXCEPT (...)` leaves. Columns are told by what their names mean here, so that of two with one name the
other stays; a struct may lose some of its fields.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.sql.known_types import Kinds, fields, type_of
from spark_trickle.sql.operators import column, dotted
from spark_trickle.sql.parse import unsupported
from spark_trickle.sql.refusals import Refused
from spark_trickle.sql.scope import Scope, Visible


def star_left(star: exp.Star, columns: tuple[Visible, ...], scope: Scope, kinds: Kinds, text: str) -> Left:
    """What a star over columns stands for: (name, value) of each that is not left out."""
    out: dict[str, list[list[str]]] = {}
    for names in _names(star):
        found = scope.find(names) or Scope(columns).find(names)  # those around a lateral are not in its scope
        if found is not None:
            out.setdefault(found[0], []).append(list(found[1]))
    values = ((v.name, column(v.column), out.get(v.column)) for v in columns)
    return [(name, _without(value, deeper, kinds, star, text)) for name, value, deeper in values if _stays(deeper)]


def fields_left(star: exp.Star, base: exp.Expr, kinds: Kinds, text: str) -> Left:
    """The same of the fields of a struct."""
    return _fields_left(base, _names(star), kinds, star, text)


Left = list[tuple[str, exp.Expr]]


def _stays(left_out: list[list[str]] | None) -> bool:
    """Whether something of a column or field stays of which (parts of) fields are left out."""
    return left_out is None or [] not in left_out


def _fields_left(base: exp.Expr, names: list[list[str]], kinds: Kinds, star: exp.Star, text: str) -> Left:
    out: dict[str, list[list[str]]] = {}
    for each in names:
        out.setdefault(each[0].lower(), []).append(each[1:])
    found = fields(type_of(base, kinds))
    values = ((name, dotted([name], base.copy()), out.get(lowered)) for lowered, (name, _) in found.items())
    return [(name, _without(value, deeper, kinds, star, text)) for name, value, deeper in values if _stays(deeper)]


def _without(value: exp.Expr, left_out: list[list[str]] | None, kinds: Kinds, star: exp.Star, text: str) -> exp.Expr:
    """A struct without some of its fields. Of NULL, Spark makes a struct whose fields are NULL."""
    if left_out is None:
        return value
    stay = _fields_left(value, left_out, kinds, star, text)
    if not stay:
        name = ", ".join(".".join(names) for names in _names(star))
        raise unsupported(text, star, Refused.FIELD_LEFT_OUT, "EXCEPT", name=name)
    parts = [part for name, field in stay for part in (exp.Literal.string(name), field)]
    return exp.Anonymous(this="named_struct", expressions=parts)


def _names(star: exp.Star) -> list[list[str]]:
    entries = star.args.get("except_") or ()
    return [
        [part.name for part in entry.parts] if isinstance(entry, (exp.Column, exp.Dot)) else [entry.name]
        for entry in entries
    ]
