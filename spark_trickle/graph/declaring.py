"""Declared refresh groups: what a user asks for, checked against what there is. Pure; the catalog keeps the result."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from datetime import datetime

from spark_trickle.errors import AlreadyExistsError, NotFoundError, UserError
from spark_trickle.model.groups import DeclaredGroup, Isolation
from spark_trickle.names import TableName, require_storable


def declare(
    name: str,
    members: Sequence[str],
    isolation: str,
    snapshot_timeout_ms: int,
    *,
    tables: Container[TableName],
    declared: Iterable[DeclaredGroup],
    now: datetime,
) -> DeclaredGroup:
    """The group, if it can be."""
    if not isinstance(name, str) or not name.strip():
        raise UserError("a refresh group needs a name", hint="For example create_refresh_group('prices', ['a', 'b'])")
    require_storable(name, "a name of a group")
    known = list(declared)
    if any(group.name == name for group in known):
        raise AlreadyExistsError("refresh group", name, hint=f"drop_refresh_group('{name}') removes it")
    named = _members(name, members)
    for member in named:
        if member not in tables:
            raise NotFoundError(
                "stream table", member, hint=f"Members of refresh group '{name}' are stream tables; status() lists them"
            )
    for group in known:
        for member in named:
            if member in group.members:
                raise UserError(
                    f"stream table '{member}' is already a member of refresh group '{group.name}'",
                    hint=f"It can be in one: drop_refresh_group('{group.name}'), then declare one for all",
                    facts={"member": str(member), "group": group.name},
                )
    return DeclaredGroup(
        name=name,
        members=named,
        isolation=_isolation(isolation),
        snapshot_timeout_ms=_timeout(snapshot_timeout_ms),
        created_at=now,
    )


def _members(name: str, members: Sequence[str]) -> tuple[TableName, ...]:
    if isinstance(members, str):
        raise UserError(
            f"the members of refresh group '{name}' are a list of names, not the text {members!r}",
            hint="Write ['a', 'b'] (SQL: array('a', 'b'))",
        )
    named = tuple(TableName.parse(member) for member in members)
    for member in named:
        if named.count(member) > 1:
            raise UserError(
                f"stream table '{member}' is named twice in refresh group '{name}'", hint="Name each member once"
            )
    if len(named) < 2:
        found = "only one" if named else "none"
        raise UserError(
            f"a refresh group has at least two members, and '{name}' would have {found}",
            hint="A stream table alone is always consistent with itself",
        )
    return named


def _isolation(text: str) -> Isolation:
    for choice in Isolation:
        if isinstance(text, str) and text.lower() == choice.value:
            return choice
    raise UserError(
        f"isolation cannot be {text!r}", hint=f"Choose one of {', '.join(repr(each.value) for each in Isolation)}"
    )


def _timeout(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UserError(
            f"snapshot_timeout_ms must be a whole number that is not negative, not {value!r}",
            hint="0 means that there is no limit",
        )
    return value
