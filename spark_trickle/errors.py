"""Every exception of the project. The class decides what happens next; nobody reads message text.

A message says what happened, to which thing, where, and what to do.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping
from typing import Any

LISTED = "SHOW STREAM TABLES (or `trickle status`) lists them"
"""The hint where a stream table was named that does not exist."""


class StreamTableError(Exception):
    """The root of the tree. `exit_code` is what the command line ends with."""

    exit_code = 70
    retryable = False

    def __init__(self, message: str, *, hint: str | None = None, facts: Mapping[str, object] | None = None) -> None:
        super().__init__(message if hint is None else f"{message}. {hint}")
        self.hint = hint
        self.facts = dict(facts or {})

    @property
    def kind(self) -> str:
        return type(self).__name__

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message. Where in our code it was found out helps nobody there."""
        return [f"{self.kind}: {self}"]

    def as_dict(self) -> dict[str, object]:
        return {"error": self.kind, "message": str(self), "facts": self.facts, "retryable": self.retryable}


class UserError(StreamTableError):
    """The input is wrong: fix it. Never retried, nothing was changed."""

    exit_code = 2


class ConfigError(UserError):
    """A setting is missing or wrong."""


class NotFoundError(UserError):
    """A thing that was named does not exist."""

    def __init__(self, what: str, name: object, *, hint: str | None = None) -> None:
        super().__init__(f"{what} '{name}' does not exist", hint=hint, facts={"what": what, "name": str(name)})


class AlreadyExistsError(UserError):
    """A thing that should be made exists."""

    def __init__(self, what: str, name: object, *, hint: str | None = None) -> None:
        super().__init__(f"{what} '{name}' already exists", hint=hint, facts={"what": what, "name": str(name)})


class HasDependentsError(UserError):
    """A stream table cannot be dropped: others read it."""

    def __init__(self, name: object, dependents: Iterable[object]) -> None:
        self.dependents = tuple(str(d) for d in dependents)
        listed = ", ".join(f"'{d}'" for d in self.dependents)
        super().__init__(
            f"cannot drop '{name}': {listed} read{'s' if len(self.dependents) == 1 else ''} it",
            hint="Drop those first, or use cascade=True (SQL: CASCADE)",
            facts={"name": str(name), "dependents": self.dependents},
        )


class CycleError(UserError):
    """The dependency graph would have a cycle."""

    def __init__(self, path: Iterable[object], *, hint: str | None = None) -> None:
        self.path = tuple(str(p) for p in path)
        super().__init__(
            f"cycle detected in dependency graph: {' -> '.join(self.path)}",
            hint=hint or "Name other sources, or allow circles with the setting allow_circular = true",
            facts={"path": self.path},
        )


class NotMonotoneError(UserError):
    """Stream tables cannot be a circle: more rows of one could take rows away from another."""

    def __init__(self, path: Iterable[object], name: object, source: object, obstacle: str) -> None:
        self.path = tuple(str(p) for p in path)
        super().__init__(
            f"the circle {' -> '.join(self.path)} is not possible: '{name}' reads '{source}' in {obstacle}, where more "
            "rows may take rows away",
            hint="In a circle members are read through filters, inner joins, UNION, DISTINCT, INTERSECT, EXISTS, IN; "
            "put the rest into a stream table after the circle",
            facts={"path": self.path, "name": str(name), "source": str(source), "obstacle": obstacle},
        )


class SqlError(UserError):
    """SQL text that cannot be understood, with its place."""

    def __init__(
        self, message: str, *, hint: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        self.line, self.column = line, column
        place = f" (line {line}, column {column})" if line is not None else ""
        super().__init__(f"{message}{place}", hint=hint, facts={"line": line, "column": column})


class UnsupportedSqlError(SqlError):
    """A construct that cannot be kept incrementally: which, where, and what to write instead."""

    def __init__(
        self,
        construct: str,
        why: str,
        *,
        hint: str | None = None,
        line: int | None = None,
        column: int | None = None,
        refusal: str = "",
    ) -> None:
        self.construct, self.why, self.refusal = construct, why, refusal
        super().__init__(f"{construct} cannot be kept incrementally: {why}", hint=hint, line=line, column=column)


class NotDifferentialError(UserError):
    """A strict or DIFFERENTIAL stream table would have to be recomputed."""

    def __init__(self, name: object, reason: str, *, hint: str | None = None) -> None:
        self.reason = reason
        super().__init__(
            f"'{name}' cannot be refreshed differentially: {reason}",
            hint=hint or f"To accept one recomputation run refresh_stream_table('{name}', mode='FULL')",
            facts={"name": str(name), "reason": reason},
        )


class SuspendedError(UserError):
    """The stream table is suspended or in error: resume it first."""

    def __init__(self, name: object, status: str, because: str | None) -> None:
        why = f" ({because})" if because else ""
        super().__init__(
            f"'{name}' is {status}{why}",
            hint=f"resume_stream_table('{name}') lets it be refreshed again",
            facts={"name": str(name), "status": status},
        )


class SchemaChangedError(StreamTableError):
    """A source changed shape so that the query no longer fits it."""

    exit_code = 3


class NotConvergedError(StreamTableError):
    """A circle of stream tables still changes after as many rounds as are allowed; nothing was published."""

    exit_code = 3

    def __init__(self, path: Iterable[object], rounds: int) -> None:
        self.path = tuple(str(p) for p in path)
        super().__init__(
            f"the circle {' -> '.join(self.path)} still changes after {rounds} rounds; nothing was published",
            hint="UNION ALL over rows that lead back to themselves grows for ever: write UNION or DISTINCT. Otherwise "
            "raise max_fixpoint_iterations; then resume_stream_table",
            facts={"path": self.path, "rounds": rounds},
        )


class TransientError(StreamTableError):
    """May go away by itself: retried with back-off."""

    exit_code = 4
    retryable = True


class ConflictError(TransientError):
    """Somebody else published first: nothing was published, pin again and retry."""

    def __init__(self, table: object, expected: str | None, found: str | None) -> None:
        super().__init__(
            f"'{table}' was changed by somebody else meanwhile; nothing was published",
            hint="Run it again",
            facts={"table": str(table), "expected": expected, "found": found},
        )


class HeldError(TransientError):
    """A stream table turns out to be held although its refresh has begun: it is refreshed when nothing holds it."""

    def __init__(self, name: object, holds: Iterable[Any], sources: Iterable[object], *, lasting: bool = False) -> None:
        self.lasting = lasting
        """Whether to try again is in vain until something is said or written."""
        self.holds: tuple[Any, ...] = tuple(holds)
        self.sources: tuple[Any, ...] = tuple(sources)
        because = "; ".join(hold.text for hold in self.holds)
        super().__init__(f"'{name}' is held: {because}", facts={"name": str(name), "reason": because})


class FuseBlownError(StreamTableError):
    """More has changed than the fuse of a stream table allows: nothing was computed, somebody has to look."""

    exit_code = 3

    def __init__(self, name: object, because: str, *, hint: str, holds: Iterable[Any], state: Any) -> None:
        self.holds: tuple[Any, ...] = tuple(holds)
        self.state = state
        """What its fuse is to remember."""
        super().__init__(f"'{name}' is not refreshed: {because}", hint=hint, facts={"name": str(name)})


class UnavailableError(TransientError):
    """The database, the store or Spark is away or too busy."""


class SourceAwayError(UnavailableError):
    """Another catalog does not give one of its tables: tried again for as long as that takes, nobody is suspended."""


class ComputeError(TransientError):
    """A Spark job failed; nothing was published."""


class SchedulerBusyError(TransientError):
    """Another scheduler holds the lease."""

    def __init__(self, holder: object, expires_at: object) -> None:
        super().__init__(
            f"another scheduler is at work: {holder}",
            hint="`trickle run` waits for it to end; if it was killed, its lease ends by itself within seconds",
            facts={"holder": str(holder), "expires_at": str(expires_at)},
        )


class DeposedError(StreamTableError):
    """Another scheduler has taken over: this one may publish nothing more, and nothing was published."""

    exit_code = 4

    def __init__(self, token: int, found: int) -> None:
        super().__init__(
            "another scheduler has taken over; nothing was published",
            hint="It goes on from here; `trickle run` waits until it ends",
            facts={"token": token, "found": found},
        )


class CommitUnknownError(StreamTableError):
    """The publishing transaction may or may not have landed: look before doing anything again."""

    exit_code = 5


class InternalError(StreamTableError):
    """A bug of ours."""

    def _render_traceback_(self) -> list[str]:
        return "".join(traceback.format_exception(self)).splitlines()
