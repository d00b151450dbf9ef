"""Names in a query: which column a written name means. Spark's rules: case does not count, a table's name is tried
before a column's, what is left over are fields of a struct.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from spark_trickle.errors import SqlError


@dataclass(frozen=True, slots=True)
class Visible:
    """A column that can be named here."""

    qualifier: tuple[str, ...]
    """Name of the table as written, or its alias; lower case."""
    name: str
    column: str
    """Its name in the operator tree."""
    hidden: bool = False
    """The right column of USING: found with a qualifier only."""


class AmbiguousError(SqlError):
    """A name that fits several columns."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What can be named at one place of a query."""

    columns: tuple[Visible, ...] = ()
    outer: Scope | None = None
    """What can be named around it, where it has no such name itself."""

    def within(self, outer: Scope) -> Scope:
        """The same scope inside another query."""
        return replace(self, outer=outer)

    def everything(self) -> frozenset[str]:
        """The names in the tree of all columns here and around."""
        around = self.outer.everything() if self.outer else frozenset()
        return around | {visible.column for visible in self.columns}

    def find_around(self, parts: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
        """The column that a name means in this scope or the nearest one around it."""
        found = self.find(parts)
        return found if found is not None or self.outer is None else self.outer.find_around(parts)

    def find(self, parts: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
        """The column that a dotted name means, and the fields that follow; None if there is none."""
        lowered = [part.lower() for part in parts]
        for length in range(min(len(parts) - 1, 4), -1, -1):
            qualifier, name = tuple(lowered[:length]), lowered[length]
            fits = [v for v in self.columns if v.name.lower() == name and self._fits(v, qualifier)]
            found = {v.column for v in fits}
            if len(found) > 1:
                owners = {".".join((*v.qualifier[-1:], v.name)) for v in fits}
                if len(owners) < len(found):
                    owners = {".".join((*v.qualifier, v.name)) for v in fits}
                shown = ", ".join(sorted(owners))
                raise AmbiguousError(f"column '{'.'.join(parts)}' is ambiguous: it may be any of {shown}")
            if found:
                return found.pop(), tuple(parts[length + 1 :])
        return None

    @staticmethod
    def _fits(visible: Visible, qualifier: tuple[str, ...]) -> bool:
        if not qualifier:
            return not visible.hidden
        return visible.qualifier[-len(qualifier) :] == qualifier

    def star(self, qualifier: tuple[str, ...] = ()) -> tuple[Visible, ...]:
        """The columns that `*` (or `t.*`) stands for."""
        lowered = tuple(part.lower() for part in qualifier)
        return tuple(v for v in self.columns if self._fits(v, lowered))

    def star_around(self, qualifier: tuple[str, ...]) -> tuple[Visible, ...]:
        """The same, of the nearest scope that has such a table (or a struct that is called so)."""
        found = self.star(qualifier)
        if found or not qualifier or self.outer is None or self.find(qualifier) is not None:
            return found
        return self.outer.star_around(qualifier)

    def beside(self, other: Scope) -> Scope:
        return Scope((*self.columns, *other.columns))


RESERVED_PREFIX = "_trickle_"
"""How names of columns begin that changes and state need for themselves."""


def is_reserved(name: str) -> bool:
    return name.lower().startswith(RESERVED_PREFIX)


class Names:
    """Gives out names for the columns of one tree: readable, never twice, never one of ours."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = {name.lower() for name in reserved}

    def fresh(self, wish: str) -> str:
        readable = re.sub(r"\W+", "_", wish).strip("_") if not wish.isidentifier() else wish
        readable = (readable.lstrip("_") if is_reserved(readable) else readable or "column")[:60]
        name, number = readable, 1
        while name.lower() in self._taken:
            number += 1
            name = f"{readable}_{number}"
        self._taken.add(name.lower())
        return name
