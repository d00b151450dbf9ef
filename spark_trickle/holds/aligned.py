"""Aligned versions, as values: what stream tables read that are held back, and which of them have to wait. How that is
found is in `held_back`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b

from spark_trickle.model.frontier import Pointer
from spark_trickle.model.hold import Hold
from spark_trickle.model.publication import Cut
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True)
class AlignedVersions:
    """What those who are concerned by the same groups read instead of what is newest."""

    pointers: Mapping[TableName, Pointer]
    until: datetime
    """The moment up to which all of it is complete."""
    groups: tuple[str, ...]

    def of(self, cut: Cut) -> Cut:
        """The cut with these versions in it; its id is another where it is another."""
        changed = {name: head for name, head in self.pointers.items() if cut.pointers.get(name) != head}
        if not changed:
            return cut
        text = "\0".join(f"{name}\0{head.location}" for name, head in sorted(changed.items()))
        digest = blake2b(f"{cut.id}\0{text}".encode(), digest_size=8).hexdigest()
        return replace(cut, id=digest, pointers={**cut.pointers, **changed})

    def reached_by(self, table: StreamTable) -> bool:
        """Whether the contents of a stream table are of these versions, as far as it reads any directly."""
        read = (pin for pin in table.frontier.pins if pin.table in self.pointers)
        return table.populated and all(pin.location == self.pointers[pin.table].location for pin in read)

    def __str__(self) -> str:
        named = ", ".join(f"'{name}'" for name in self.groups)
        return f"at {moment(self.until)}, the aligned watermark of {named}"


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Who reads what, and who has to wait."""

    aligned_of: Mapping[TableName, AlignedVersions] = field(default_factory=dict)
    holds: Mapping[TableName, tuple[Hold, ...]] = field(default_factory=dict)


def moment(at: datetime) -> str:
    """
    >>> from datetime import UTC
    >>> moment(datetime(2026, 3, 1, 12, tzinfo=UTC)), moment(datetime(2026, 3, 1, 12, 0, 0, 5000, tzinfo=UTC))
    ('2026-03-01 12:00:00 UTC', '2026-03-01 12:00:00.005000 UTC')
    """
    return f"{at:%Y-%m-%d %H:%M:%S}{f'.{at:%f}' if at.microsecond else ''} UTC"
