"""Whose failure it is: the one boundary around the refresh of each member of a unit, and what is written of a failure.

Only the member that failed is blamed; those that were to be published with it are skipped. A failure that no error of
ours describes is a bug: it becomes an InternalError that names the member, and its trace goes to the log.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from spark_trickle.config import mask_url
from spark_trickle.errors import InternalError, StreamTableError
from spark_trickle.model.refresh import Outcome
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName

MEMBER = "member"
"""The fact of an error that says in which stream table of a unit it happened."""


@contextmanager
def blaming(*names: TableName) -> Iterator[None]:
    """What is raised inside is the failure of this stream table; of all, if they are a circle."""
    members = tuple(str(name) for name in names)
    try:
        yield
    except StreamTableError as err:
        # Whoever handles it has to know which of several it was.
        err.facts.setdefault(MEMBER, members[0] if len(members) == 1 else members)
        raise
    except Exception as err:
        raise bug(f"refreshing {', '.join(map(repr, members))}", err, {MEMBER: members}) from err


def bug(doing: str, err: BaseException, facts: dict[str, object] | None = None) -> InternalError:
    """The error of ours for one that nobody expected; raise it `from` that."""
    said = mask_url(f"{type(err).__name__}: {err}".strip().splitlines()[0])
    return InternalError(
        f"{doing} failed by a bug of spark-trickle: {said}",
        hint="Nothing was published; the log of 'spark_trickle' has the trace to report",
        facts=facts,
    )


def trace_of(err: BaseException) -> str | None:
    """Where a bug happened, for the log; None: the message says all there is to know."""
    return mask_url("".join(traceback.format_exception(err))) if isinstance(err, InternalError) else None


def blamed(err: StreamTableError, unit: Sequence[StreamTable]) -> list[StreamTable]:
    """The members in which it happened, several of a circle; none: nobody can tell."""
    found = err.facts.get(MEMBER)
    names = found if isinstance(found, tuple) else (found,)
    return [table for table in unit if str(table.name) in names]


def part_in(err: StreamTableError, table: StreamTable, unit: Sequence[StreamTable]) -> tuple[Outcome, str | None]:
    """What the failure of a unit means for one of its members: how it ended, and why, where it is not to blame."""
    culprits = blamed(err, unit)
    if not culprits or table in culprits:
        return Outcome.FAILED, None
    return Outcome.SKIPPED, f"'{culprits[0].name}' failed, and with it its group"
