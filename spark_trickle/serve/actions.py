"""What can be done through the page, and doing it: each is one call of the engine, as the command line makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_trickle.engine import Engine
from spark_trickle.errors import UserError
from spark_trickle.model.fuse import FuseAction
from spark_trickle.model.stream_table import RefreshMode
from spark_trickle.names import TableName, is_internal, no_stream_table
from spark_trickle.serve.next_steps import ActionKind
from spark_trickle.views import as_json

ROWS = 50
_LONGEST_CELL = 400
_HOW = {
    ActionKind.REFRESH: (RefreshMode.DIFFERENTIAL.value, RefreshMode.FULL.value),
    ActionKind.RESET_FUSE: tuple(action.value for action in FuseAction),
}


@dataclass(frozen=True, slots=True)
class Deed:
    """What is asked for."""

    action: ActionKind
    subject: str
    """The table, as its name is shown."""
    how: str | None = None
    """The mode of a refresh, or what is done with a blown fuse."""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of it: in words, and as the value that the command line shows."""

    said: str
    value: object


@dataclass(frozen=True, slots=True)
class SomeRows:
    """Rows of a table, each value as text."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    truncated: bool


def deed_of(given: object, known: Mapping[TableName, object]) -> Deed:
    """Check what somebody sent. UserError: it is not something that can be done."""
    if not isinstance(given, Mapping) or not set(given) <= {"action", "subject", "how"}:
        raise UserError("an action is an object with `action`, `subject` and, where it has one, `how`")
    action, subject, how = given.get("action"), given.get("subject"), given.get("how")
    if not isinstance(action, str) or action not in set(ActionKind):
        raise UserError(f"there is no action {action!r}", hint=f"Choose one of {', '.join(ActionKind)}")
    if not isinstance(subject, str):
        raise UserError("`subject` is the name of a table")
    kind, name = ActionKind(action), TableName.parse(subject)
    allowed = _HOW.get(kind, ())
    if how is not None and how not in allowed:
        raise UserError(f"`how` of {kind} cannot be {how!r}", hint=f"Choose one of {', '.join(allowed) or 'none'}")
    if kind.of_stream_tables and name not in known:
        raise no_stream_table(name, known)
    if is_internal(name):
        raise UserError(f"'{name}' holds state of a stream table", hint="Nobody but the engine does anything with it")
    return Deed(kind, str(name), how)


def perform(engine: Engine, deed: Deed) -> Done:
    """Do it."""
    # Whole and quoted: what a bare name means may have been changed in the session.
    name = TableName.parse(deed.subject).sql
    match deed.action:
        case ActionKind.REFRESH:
            outcome = engine.refresh_stream_table(name, mode=deed.how)
            rows = f"+{outcome.rows_inserted:,} −{outcome.rows_deleted:,} rows"
            return Done(f"{outcome.action.value}: {rows}{f'; {outcome.reason}' if outcome.reason else ''}", outcome)
        case ActionKind.SUSPEND:
            engine.suspend_stream_table(name)
            return Done("suspended", engine.status(name))
        case ActionKind.RESUME:
            engine.resume_stream_table(name)
            return Done("resumed", engine.status(name))
        case ActionKind.GATE:
            return Done("gated", engine.gate_source(name))
        case ActionKind.UNGATE:
            found = engine.ungate_source(name)
            return Done("ungated" if found is not None else "it was never gated", found)
        case ActionKind.RESET_FUSE:
            how = deed.how or FuseAction.APPLY.value
            return Done(f"reset: {how}", engine.reset_fuse(name, how))
        case ActionKind.VERIFY:
            return _verified(engine, name)
        case ActionKind.ROWS:
            return _rows(engine, TableName.parse(deed.subject))


def _verified(engine: Engine, name: str) -> Done:
    found = engine.verify(name)
    if found.ok:
        return Done("verified: it equals its query at its frontier", found)
    wrong = f"WRONG: {found.missing_rows:,} rows are missing, {found.unexpected_rows:,} are unexpected"
    return Done(f"{wrong}{f'; {found.diverged}' if found.diverged else ''}", found)


def _rows(engine: Engine, name: TableName) -> Done:
    with engine.snapshot([name.sql]) as snap:
        frame = snap.sql(f"SELECT * FROM {name.sql}").limit(ROWS + 1)
        fetched = frame.collect()
        kinds = tuple(field.dataType.simpleString() for field in frame.schema.fields)
    rows = tuple(tuple(_cell(value) for value in row) for row in fetched[:ROWS])
    made = SomeRows(tuple(frame.columns), kinds, rows, len(fetched) > ROWS)
    return Done(f"{len(rows)} rows", made)


def _cell(value: object) -> str | None:
    if value is None:
        return None
    text = str(as_json(value))
    return text if len(text) <= _LONGEST_CELL else text[:_LONGEST_CELL] + "…"
