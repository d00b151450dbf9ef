"""Watermarks for users: advancing them, declaring groups of sources, and listing both. Names, moments and durations are
checked, who did it is written down.

Whom watermarks hold, and what is read at which, is in `holds`; how they are kept is in `catalog.watermarks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.clock import Clock
from spark_trickle.errors import AlreadyExistsError, NotFoundError, UserError
from spark_trickle.gating import sources_named, who
from spark_trickle.holds import watermark_report as report
from spark_trickle.model.frontier import Pointer, is_of_a_look
from spark_trickle.model.schedule import parse_duration
from spark_trickle.model.watermark import Advance, WatermarkColumn, WatermarkGroup, WatermarkMode
from spark_trickle.names import TableName, require_storable

if TYPE_CHECKING:
    from sqlalchemy import Connection

CALLS = (
    "advance_watermark",
    "create_watermark_group",
    "drop_watermark_group",
    "set_watermark_column",
    "watermarks",
    "watermark_groups",
    "watermark_status",
)
"""What SQL can call."""

LONGEST = timedelta(days=36_525)
NOTHING = re.compile(r"0+\s*[smhdw]?", re.IGNORECASE)

ColumnCheck = Callable[[TableName, str], None]
"""UserError: that column of that table cannot advance a watermark."""


@dataclass(frozen=True, slots=True)
class Watermarking:
    """The watermarks of one lake."""

    catalog: Catalog
    clock: Clock
    stuck_after: timedelta
    check_column: ColumnCheck
    named: Callable[[str], TableName] = TableName.parse
    """Which table a name means."""
    elsewhere: Callable[[TableName], Pointer] | None = None
    """Where a table of another catalog is now. StreamTableError: it cannot be found."""

    def advance(self, source: str, watermark: datetime | str) -> report.SourceWatermark:
        name = self.named(source)
        advance = advancing(name, watermark, self.clock.now())
        if name.is_elsewhere:
            # Read before the transaction: what is written there meanwhile is not said to be complete.
            advance = replace(advance, location=self._far(name).location)
        with self.catalog.write() as conn:
            self._require_base(name, conn)
            marks = self.catalog.change_watermarks([advance], conn)
        return next(row for row in report.watermarks(marks) if _is(row, name))

    def create_group(
        self, name: str, sources: Sequence[str], tolerance: str | float | timedelta, mode: str
    ) -> report.WatermarkGroupRow:
        """Checked and written in one transaction; a wrong declaration changes nothing."""
        wanted = sources_named(sources, self.named)
        if not isinstance(name, str) or not name.strip():
            raise UserError("a watermark group needs a name", hint="For example 'order_pipeline'")
        require_storable(name, "a name of a group")
        if len(wanted) < 2:
            raise UserError(
                f"watermark group '{name}' has one source: '{wanted[0]}'",
                hint="A group says which sources belong together in time: name at least two",
            )
        group = WatermarkGroup(
            name=name,
            sources=tuple(wanted),
            tolerance=span("tolerance", tolerance),
            mode=_mode(mode),
            created_at=self.clock.now(),
        )
        with self.catalog.write() as conn:
            if any(other.name == name for other in self.catalog.watermarks(conn).groups):
                raise AlreadyExistsError("watermark group", name, hint=f"drop_watermark_group('{name}') first")
            for source in wanted:
                self._require_base(source, conn)
                self._require_versions(source, group)
            self.catalog.add_watermark_group(group, conn)
        return report.watermark_group(group)

    def drop_group(self, name: str) -> None:
        self.catalog.drop_watermark_group(name)

    def set_column(
        self, source: str, column: str | None, delay: str | float | timedelta
    ) -> report.SourceWatermark | None:
        name = self.named(source)
        if column is None:
            self.catalog.set_watermark_column(name, None)
        elif not isinstance(column, str) or not column.strip():
            raise UserError(f"{column!r} is not a column", hint="Name one of the table's; None: no longer by a column")
        else:
            wanted = WatermarkColumn(source=name, column=column, delay=span("delay", delay))
            with self.catalog.read() as conn:
                self._require_base(name, conn)
            self.check_column(name, column)
            with self.catalog.write() as conn:
                self._require_base(name, conn)
                self.catalog.set_watermark_column(name, wanted, conn)
        rows = report.watermarks(self.catalog.watermarks())
        return next((row for row in rows if _is(row, name)), None)

    def status(self) -> list[report.WatermarkStatus]:
        with self.catalog.read() as conn:
            marks, tables = self.catalog.watermarks(conn), self.catalog.stream_tables(conn)
            heads = self.catalog.pointers(sorted(marks.latest), conn)
        by_name = {table.name: table for table in tables}
        return report.watermark_status(marks, by_name, self.clock.now(), self.stuck_after, heads)

    def _require_base(self, name: TableName, conn: Connection) -> None:
        require_no_stream_table(name, {table.name for table in self.catalog.stream_tables(conn)})
        if name.is_elsewhere:
            self._far(name)
        else:
            self.catalog.require_table(name, conn)

    def _require_versions(self, name: TableName, group: WatermarkGroup) -> None:
        if group.mode is WatermarkMode.HOLD_BACK and name.is_elsewhere and is_of_a_look(self._far(name).location):
            raise UserError(
                f"watermark group '{group.name}' cannot hold back '{name}': it is a table of a database, and what it "
                "was at an older watermark cannot be read",
                hint="mode='gate' waits until all sources are as far; or load it into an Iceberg table",
            )

    def _far(self, name: TableName) -> Pointer:
        if self.elsewhere is None:
            raise NotFoundError("catalog", name.catalog)
        return self.elsewhere(name)


class WatermarkCalls:
    """The engine's calls about watermarks."""

    _watermarking: Watermarking

    def advance_watermark(self, source: str, watermark: datetime | str) -> report.SourceWatermark:
        """Say that a table is complete up to a moment; with its time zone. Backward is an error, equal does nothing."""
        return self._watermarking.advance(source, watermark)

    def create_watermark_group(
        self, name: str, sources: Sequence[str], tolerance: str | float | timedelta = "0s", mode: str = "gate"
    ) -> report.WatermarkGroupRow:
        """Declare that tables belong together in time: what reads several of them waits while they are further apart
        than the tolerance (`gate`), or reads them as they were when they were not (`hold_back`).
        """
        return self._watermarking.create_group(name, sources, tolerance, mode)

    def drop_watermark_group(self, name: str) -> None:
        self._watermarking.drop_group(name)

    def set_watermark_column(
        self, source: str, column: str | None, delay: str | float | timedelta = "0s"
    ) -> report.SourceWatermark | None:
        """Let each tick advance a table's watermark to the largest value of a column, less a delay; None: no longer."""
        return self._watermarking.set_column(source, column, delay)

    def watermarks(self) -> list[report.SourceWatermark]:
        """How far each source is, and which version of it was the first to be so far."""
        return report.watermarks(self._watermarking.catalog.watermarks())

    def watermark_groups(self) -> list[report.WatermarkGroupRow]:
        """The declared groups."""
        return [report.watermark_group(group) for group in self._watermarking.catalog.watermarks().groups]

    def watermark_status(self) -> list[report.WatermarkStatus]:
        """How far apart the sources of each group are, which of them stand still, and whom it governs."""
        return self._watermarking.status()


def _is(row: report.SourceWatermark, name: TableName) -> bool:
    return (row.schema_name, row.source_table) == (name.schema, name.name)


def advancing(name: TableName, watermark: datetime | str, at: datetime) -> Advance:
    return Advance(source=name, watermark=_moment(watermark), at=at, by=who())


def require_no_stream_table(name: TableName, stream_tables: Collection[TableName]) -> None:
    if name in stream_tables:
        raise UserError(
            f"'{name}' is a stream table: it is as far as the tables that it reads",
            hint="Advance the watermarks of those",
        )


def span(what: str, given: str | float | timedelta) -> timedelta:
    """A duration that may be nothing: text, or seconds.

    >>> span("tolerance", "0s"), span("tolerance", "5m"), span("delay", 1.5)
    (datetime.timedelta(0), datetime.timedelta(seconds=300), datetime.timedelta(seconds=1, microseconds=500000))
    """
    try:
        found = _span(given)
    except OverflowError:
        found = timedelta.max
    except (UserError, ValueError) as err:
        shown = f"'{given}'" if isinstance(given, str) else repr(given)
        raise UserError(f"{what} cannot be {shown}", hint="Write a duration, such as '0s', '30s' or '1h30m'") from err
    if found < timedelta():
        raise UserError(f"{what} cannot be negative: {given}", hint="Write a duration, such as '0s' or '5m'")
    if found > LONGEST:
        raise UserError(f"{what} cannot be longer than a hundred years: {given}", hint="Write a duration, such as '5m'")
    return found


def _span(given: object) -> timedelta:
    """ValueError: it is none. OverflowError: it is longer than anything can be."""
    if isinstance(given, timedelta):
        return given
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return timedelta(seconds=given)
    if not isinstance(given, str):
        raise ValueError(given)
    text = given.strip()
    if text.startswith("-"):
        return timedelta(seconds=-1)
    return timedelta() if NOTHING.fullmatch(text) else parse_duration(text)


def _mode(text: str) -> WatermarkMode:
    for mode in WatermarkMode:
        if isinstance(text, str) and text.lower() == mode.value:
            return mode
    raise UserError(f"mode cannot be {text!r}", hint=f"Choose one of {', '.join(repr(m.value) for m in WatermarkMode)}")


def _moment(given: datetime | str) -> datetime:
    """A moment with its time zone, as SQL and the command line write it, too."""
    found = given
    if isinstance(given, str):
        try:
            found = datetime.fromisoformat(given.strip())
        except ValueError as err:
            raise UserError(f"'{given}' is not a moment", hint="For example 2026-03-01T12:00:00Z") from err
    if not isinstance(found, datetime):
        raise UserError(f"{given!r} is not a moment", hint="For example datetime.now(UTC), or '2026-03-01T12:00:00Z'")
    if found.tzinfo is None:
        raise UserError(f"{given} has no time zone", hint="For example 2026-03-01T12:00:00Z, or datetime.now(UTC)")
    try:
        return found.astimezone(UTC)
    except OverflowError as err:
        raise UserError(f"{given} is not a moment of the years 1 to 9999", hint="In UTC it is before or after") from err
