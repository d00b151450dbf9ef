"""What `* EXCEPT (...)` leaves out: columns, told by what their names mean here, so that of two columns with one name
the other stays.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.sql.parse import unsupported
from spark_trickle.sql.refusals import Refused
from spark_trickle.sql.scope import Scope


def columns_left_out(star: exp.Star, scope: Scope, text: str) -> set[str]:
    """The columns of the tree that a star over what can be named here leaves out."""
    columns = set()
    for names in _names(star):
        found = scope.find(names)
        if found is None:
            continue
        if found[1]:
            raise unsupported(text, star, Refused.FIELD_LEFT_OUT, "EXCEPT", name=".".join(names))
        columns.add(found[0])
    return columns


def fields_left_out(star: exp.Star, text: str) -> set[str]:
    """The fields, in lower case, that the star of a struct leaves out."""
    names = _names(star)
    deeper = next((each for each in names if len(each) > 1), None)
    if deeper is not None:
        raise unsupported(text, star, Refused.FIELD_LEFT_OUT, "EXCEPT", name=".".join(deeper))
    return {each[0].lower() for each in names}


def _names(star: exp.Star) -> list[list[str]]:
    entries = star.args.get("except_") or ()
    return [
        [part.name for part in entry.parts] if isinstance(entry, (exp.Column, exp.Dot)) else [entry.name]
        for entry in entries
    ]
