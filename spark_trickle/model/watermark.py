"""Watermarks: up to which moment a source is complete, as told by whoever loads it, and groups of sources that belong
together in time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from spark_trickle.model.frontier import Pointer, commit_number
from spark_trickle.model.gate import Gate
from spark_trickle.names import TableName


class WatermarkMode(StrEnum):
    """What happens to those who read several sources of a group while these are apart in time."""

    GATE = "gate"
    """They wait."""
    HOLD_BACK = "hold_back"
    """They read all of them as they were at the moment up to which all are complete."""


FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
LAST_MOMENT = datetime.max.replace(tzinfo=UTC)
"""There is no later one: a source that is complete until then never changes any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkGroup:
    """Sources that belong together in time."""

    name: str
    sources: tuple[TableName, ...]
    tolerance: timedelta = timedelta()
    """How far apart they may be."""
    mode: WatermarkMode = WatermarkMode.GATE
    created_at: datetime

    def reach(self, slowest: datetime) -> datetime:
        """How far its sources may be while the slowest one is there."""
        return LAST_MOMENT if LAST_MOMENT - slowest < self.tolerance else slowest + self.tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """How far one source is."""

    source: TableName
    watermark: datetime
    updated_at: datetime
    advanced_by: str
    location: str
    """The version that reached it."""

    def is_of_a_table_before(self, head: Pointer | None) -> bool:
        """Whether it was said of a table that was dropped, and another was made under its name: versions begin anew."""
        return head is not None and commit_number(self.location) > commit_number(head.location)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A version of a source, and up to when it was said to be complete."""

    watermark: datetime
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkColumn:
    """A column whose largest value advances the watermark of its table."""

    source: TableName
    column: str
    delay: timedelta = timedelta()
    """How much later than a value rows before it may come."""
    looked_at: str | None = None
    """The version whose values are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Say how far a source is. What is not later than before changes nothing; earlier is an error."""

    source: TableName
    watermark: datetime
    at: datetime
    by: str
    location: str | None = None
    """The version that reached it; None: the one that is there when this is published."""
    automatic: bool = False
    """Found in a column, not said by anybody: an earlier one is passed over."""
    behind: datetime | None = None
    """Since when the gate of the source was closed as who found it saw it."""

    def opens(self, gate: Gate) -> bool:
        """Whether it opens a closed gate. What is found in rows that were there before the gate was closed does not:
        somebody closed it because of what comes after them."""
        later = self.behind == gate.gated_at and self.location != gate.location
        return gate.auto_ungate_on_watermark and (later or not self.automatic)


@dataclass(frozen=True, slots=True)
class Looked:
    """The values of a watermark column are known up to this version."""

    source: TableName
    location: str


@dataclass(frozen=True, slots=True)
class ToldStuck:
    """It was told that a source does not go on, or that it does again."""

    source: TableName
    stuck: bool


WatermarkChange = Advance | Looked | ToldStuck


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermarks:
    """All that is known of watermarks at one moment."""

    groups: tuple[WatermarkGroup, ...] = ()
    latest: Mapping[TableName, Watermark] = field(default_factory=dict)
    log: Mapping[TableName, tuple[Recorded, ...]] = field(default_factory=dict)
    """Recorded versions, oldest first, of the sources that are held back."""
    columns: Mapping[TableName, WatermarkColumn] = field(default_factory=dict)
    told_stuck: frozenset[TableName] = frozenset()

    def after(self, change: WatermarkChange) -> Watermarks:
        """As they will be once this is published: the same that the catalog does."""
        match change:
            case Advance(source=source, watermark=moment, location=location) if location is not None:
                if source in self.latest and moment <= self.latest[source].watermark:
                    return self
                now = Watermark(
                    source=source, watermark=moment, updated_at=change.at, advanced_by=change.by, location=location
                )
                # Versions that come after this one are of a table that was dropped.
                kept = [r for r in self.log.get(source, ()) if commit_number(r.location) <= commit_number(location)]
                log = {**self.log, source: (*kept, Recorded(moment, location))}
                return replace(self, latest={**self.latest, source: now}, log=log)
            case Looked(source=source, location=location):
                return replace(
                    self, columns={**self.columns, source: replace(self.columns[source], looked_at=location)}
                )
            case ToldStuck(source=source, stuck=stuck):
                told = self.told_stuck | {source} if stuck else self.told_stuck - {source}
                return replace(self, told_stuck=told)
        raise ValueError(f"it is not known which version {change} speaks of")
