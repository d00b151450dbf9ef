"""Whether columns still mean the same in another version of a table, from the two schemas in Iceberg's JSON form.

Iceberg knows a column by its number; users know it by its name. A query keeps its meaning as long as each name it uses
is the same number with the same type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from spark_trickle.errors import NotFoundError
from spark_trickle.ports import Broken

Json: TypeAlias = "str | int | bool | Mapping[str, Json] | Sequence[Json] | None"

_INCOMPARABLE = ("variant", "geometry", "geography")
_WIDER = {("int", "long"), ("float", "double")}
_NOT_MEANING = frozenset({"required", "element-required", "value-required", "doc", "initial-default", "write-default"})
_SPARK_NAMES = {"long": "bigint", "timestamptz": "timestamp", "timestamp": "timestamp_ntz"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of one schema."""

    id: int
    name: str
    type: Json


def read_columns(schema: Mapping[str, Json]) -> dict[str, Column]:
    """The columns of a schema by name in lower case, as Spark compares names."""
    fields = schema["fields"]
    assert isinstance(fields, Sequence)
    found = {}
    for field in fields:
        assert isinstance(field, Mapping)
        name, number = field["name"], field["id"]
        assert isinstance(name, str)
        assert isinstance(number, int)
        found[name.lower()] = Column(number, name, _meaning(field["type"]))
    return found


def altered(before: Mapping[str, Column], after: Mapping[str, Column]) -> str | None:
    """What somebody did to the columns of a table, in words; None: each is what it was, where it was."""
    names_before = {column.id: column.name for column in before.values()}
    names_after = {column.id: column.name for column in after.values()}
    types = {column.id: column.type for column in before.values()}
    for column in after.values():
        if column.id not in names_before:
            return f"column '{column.name}' was added"
        if column.name != names_before[column.id]:
            return f"column '{names_before[column.id]}' was renamed to '{column.name}'"
        if column.type != types[column.id]:
            return f"column '{column.name}' was given another type"
    for number, name in names_before.items():
        if number not in names_after:
            return f"column '{name}' was dropped"
    return None if list(names_before) == list(names_after) else "its columns were put in another order"


def changed_column(
    before: Mapping[str, Column], after: Mapping[str, Column], needed: Sequence[str] | None
) -> Broken | None:
    """The first needed column that is no longer what it was. None for `needed`: all that there are, whatever it is now.

    A column that did not exist before is no obstacle: both versions are read with the later schema.
    """
    if needed is None:
        return _unreadable(before, after)
    names_after = {column.id: column.name for column in after.values()}
    for name in needed:
        old, new = before.get(name.lower()), after.get(name.lower())
        if new is None:
            if old is None:
                raise NotFoundError("column", name)
            if old.id in names_after:
                return Broken(f"column '{old.name}' was renamed to '{names_after[old.id]}'")
            return Broken(f"column '{old.name}' was dropped")
        if old is None:
            continue
        if old.id != new.id:
            return Broken(f"column '{new.name}' is another column of the same name now")
        if old.type != new.type:
            verb = "widened" if _widened(old.type, new.type) else "changed"
            was, now = show_type(old.type), show_type(new.type)
            if was == now:
                return Broken(f"a field of column '{new.name}' ({now}) was dropped, and another of its name was added")
            return Broken(f"column '{new.name}' was {verb} from {was} to {now}")
    return None


def incomparable(columns: Mapping[str, Column], needed: Sequence[str] | None) -> Broken | None:
    """The first needed column whose values cannot be compared, so that inserted and deleted rows cannot be netted."""
    names = [name.lower() for name in needed] if needed is not None else list(columns)
    for name in names:
        column = columns[name]
        if _contains(column.type, _INCOMPARABLE):
            kind = show_type(column.type)
            return Broken(f"rows were deleted or updated, and column '{column.name}' ({kind}) cannot be compared")
    return None


def show_type(type_: Json) -> str:
    """A type as Spark SQL writes it.

    >>> show_type({"type": "list", "element-id": 3, "element": "long"})
    'array<bigint>'
    """
    if isinstance(type_, str):
        return _SPARK_NAMES.get(type_, type_)
    assert isinstance(type_, Mapping)
    if type_["type"] == "list":
        return f"array<{show_type(type_['element'])}>"
    if type_["type"] == "map":
        return f"map<{show_type(type_['key'])}, {show_type(type_['value'])}>"
    fields = type_["fields"]
    assert isinstance(fields, Sequence)
    shown = [f"{field['name']}: {show_type(field['type'])}" for field in fields if isinstance(field, Mapping)]
    return f"struct<{', '.join(shown)}>"


def _unreadable(before: Mapping[str, Column], after: Mapping[str, Column]) -> Broken | None:
    """A column whose old values cannot be read as what it is now: replacing a table may keep the number of a column."""
    old = {column.id: column for column in before.values()}
    for new in after.values():
        was = old.get(new.id)
        if was is None or was.type == new.type or not isinstance(new.type, str) or _widened(was.type, new.type):
            continue
        return Broken(f"column '{new.name}' was changed from {show_type(was.type)} to {show_type(new.type)}")
    return None


def _widened(old: Json, new: Json) -> bool:
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    return (old, new) in _WIDER or (old.startswith("decimal") and new.startswith("decimal"))


def _meaning(type_: Json) -> Json:
    """A type without what does not change how a value is read."""
    if isinstance(type_, Mapping):
        return {key: _meaning(value) for key, value in type_.items() if key not in _NOT_MEANING}
    if isinstance(type_, Sequence) and not isinstance(type_, str):
        return [_meaning(item) for item in type_]
    return type_


def _contains(type_: Json, kinds: tuple[str, ...]) -> bool:
    if isinstance(type_, str):
        return type_.startswith(kinds)
    if isinstance(type_, Mapping):
        return any(_contains(value, kinds) for key, value in type_.items() if key != "name")
    return isinstance(type_, Sequence) and any(_contains(item, kinds) for item in type_)
