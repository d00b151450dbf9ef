"""Refreshing what is held back: whether the versions that should be read are still there, and telling their moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from spark_trickle.errors import HeldError
from spark_trickle.holds.aligned import AlignedVersions
from spark_trickle.holds.held_back import version_gone
from spark_trickle.model.publication import Cut
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.ports import Workbench
from spark_trickle.refresh.request import MemberResult


def require_readable(bench: Workbench, unit: Iterable[StreamTable], newest: Cut, cut: Cut) -> None:
    """HeldError: a version that should be read is no longer there, because its owner expired it."""
    read = {source.table: table for table in unit for source in table.sources}
    for name, table in sorted(read.items(), key=lambda item: item[0]):
        wanted, head = cut.pointers.get(name), newest.pointers.get(name)
        if wanted is None or head is None or wanted == head:
            continue
        gone = bench.gone(name, head)
        if gone is not None:
            raise HeldError(table.name, (version_gone(table.name, name, gone),), table.sources, lasting=True)


def with_moment(result: MemberResult, aligned: AlignedVersions | None) -> MemberResult:
    """The result, with the moment that it is of."""
    said = f"read {aligned}"
    reason = said if result.outcome.reason is None else f"{result.outcome.reason}; {said}"
    return replace(
        result, outcome=replace(result.outcome, reason=reason), history=replace(result.history, reason=reason)
    )
