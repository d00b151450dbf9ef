"""Watermarks as users see them: one row a source, one row a group, with how far apart it is and whom it governs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_trickle.holds.alignment import alignment, governed, stuck
from spark_trickle.holds.rule import readers_of
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.model.watermark import WatermarkGroup, WatermarkMode, Watermarks
from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceWatermark:
    """One watermark, as `watermarks` lists it."""

    source_table: str
    schema_name: str
    watermark: datetime | None
    """None: a column is to advance it, and has not yet."""
    updated_at: datetime | None
    advanced_by: str | None
    metadata_location: str | None
    """The version that reached it."""
    column: str | None
    """The column that advances it."""
    delay_secs: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkGroupRow:
    """One group, as `watermark_groups` lists it."""

    group_name: str
    sources: tuple[str, ...]
    source_count: int
    tolerance_secs: float
    mode: WatermarkMode
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkStatus:
    """One group, as `watermark_status` lists it."""

    group_name: str
    mode: WatermarkMode
    min_watermark: datetime | None
    max_watermark: datetime | None
    lag_secs: float | None
    aligned: bool
    """Whether all sources have a watermark, and are no further apart than the tolerance."""
    stuck: tuple[str, ...]
    """Sources that have not advanced for longer than `watermark_holdback_timeout`."""
    sources_with_watermark: int
    sources_total: int
    governed: tuple[str, ...]
    """The stream tables with two or more of its sources somewhere above them."""


def watermarks(marks: Watermarks) -> list[SourceWatermark]:
    """By name."""
    rows = []
    for source in sorted({*marks.latest, *marks.columns}):
        mark, column = marks.latest.get(source), marks.columns.get(source)
        rows.append(
            SourceWatermark(
                source_table=source.name,
                schema_name=source.schema,
                watermark=None if mark is None else mark.watermark,
                updated_at=None if mark is None else mark.updated_at,
                advanced_by=None if mark is None else mark.advanced_by,
                metadata_location=None if mark is None else mark.location,
                column=None if column is None else column.column,
                delay_secs=None if column is None else column.delay.total_seconds(),
            )
        )
    return rows


def watermark_group(group: WatermarkGroup) -> WatermarkGroupRow:
    return WatermarkGroupRow(
        group_name=group.name,
        sources=tuple(str(source) for source in group.sources),
        source_count=len(group.sources),
        tolerance_secs=group.tolerance.total_seconds(),
        mode=group.mode,
        created_at=group.created_at,
    )


def watermark_status(
    marks: Watermarks,
    tables: Mapping[TableName, StreamTable],
    now: datetime,
    stuck_after: timedelta,
    heads: Mapping[TableName, Pointer],
) -> list[WatermarkStatus]:
    """By the names of the groups."""
    readers, standing = readers_of(tables.values()), stuck(marks, now, stuck_after)
    rows = []
    for group in marks.groups:
        state = alignment(group, marks, heads)
        rows.append(
            WatermarkStatus(
                group_name=group.name,
                mode=group.mode,
                min_watermark=state.known[0].watermark if state.known else None,
                max_watermark=state.known[-1].watermark if state.known else None,
                lag_secs=None if state.lag is None else state.lag.total_seconds(),
                aligned=state.aligned,
                stuck=tuple(str(source) for source in group.sources if source in standing),
                sources_with_watermark=len(state.known),
                sources_total=len(group.sources),
                governed=tuple(str(name) for name in governed(group, tables, readers)),
            )
        )
    return rows
