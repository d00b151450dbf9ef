"""Which types the columns of a stream table may have: those that Iceberg holds. A type is Spark's text for it.

What Iceberg does not hold would fail when it is written, or come back as something else; so it is said before anything
is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from spark_trickle.errors import UserError

_UNHELD = re.compile(r"(?:^|[<,:])(interval[^<>,:]*|time(?:\(\d+\))?|void)(?=$|[>,])", re.IGNORECASE)
"""In a type, and not the name of a field of a struct, which a colon follows."""
_COLLATED = re.compile(r"string collate (\w+)", re.IGNORECASE)
_SHORT = re.compile(r"(?:^|[<,:])(tinyint|smallint)(?=$|[>,])", re.IGNORECASE)

_INSTEAD = {
    "interval": "CAST({name} AS STRING), or EXTRACT its parts as numbers",
    "time": "CAST({name} AS STRING)",
    "void": "CAST(NULL AS STRING), or the type that is meant",
}


def unheld(kind: str) -> str | None:
    """The first type within a type that Iceberg cannot hold.

    >>> unheld("struct<time:int,at:array<time(6)>>"), unheld("interval day to second"), unheld("map<string,void>")
    ('time(6)', 'interval day to second', 'void')
    >>> unheld("struct<time:int,interval:string,void:date>")
    """
    found = _UNHELD.search(kind)
    return found[1] if found else None


def is_collated(kind: str) -> bool:
    return _COLLATED.search(kind) is not None


def check_output_types(columns: Iterable[tuple[str, str]]) -> None:
    """Refuse a query with a column that its table could not hold."""
    for name, kind in columns:
        found, collated = unheld(kind), _COLLATED.search(kind)
        if found is not None:
            instead = next(text for word, text in _INSTEAD.items() if found.lower().startswith(word))
            shown = "has no type (void)" if found == kind == "void" else f"has the type {kind.upper()}"
            raise UserError(
                f"column '{name}' {shown}, which Iceberg cannot hold", hint=f"Write {instead.format(name=name)}"
            )
        if collated is not None:
            raise UserError(
                f"column '{name}' has the collation {collated[1].upper()}, which Iceberg does not keep: readers would "
                "compare its texts byte by byte",
                hint=f"Write {name} COLLATE UTF8_BINARY, and the collation where the table is read",
            )


def widened(columns: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """What is said of columns that are wider in the table than in the query."""
    return tuple(
        f"column '{name}' is {kind.upper()} in the query and {_SHORT.sub(_as_int, kind).upper()} in the table: Iceberg "
        "has no shorter integers"
        for name, kind in columns
        if _SHORT.search(kind)
    )


def _as_int(found: re.Match[str]) -> str:
    return found[0].replace(found[1], "int")
