"""What can be seen of stream tables beside their rows in the catalog: since when they are behind, how many rows they
have, whether they are being refreshed. Reads metadata files of this machine, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from spark_trickle.metadata_files import MetadataFiles
from spark_trickle.model.frontier import Pin, Pointer
from spark_trickle.model.standing import UnderWay
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName
from spark_trickle.views import Seen


def seen(
    table: StreamTable, heads: Mapping[TableName, Pointer], running: Iterable[UnderWay], files: MetadataFiles
) -> Seen:
    """One stream table, where the lake is at these heads."""
    own = files(table.published[0].location) if table.published else None
    return Seen(
        stale_since=_stale_since(table, heads, files),
        rows=None if own is None else own.rows,
        refreshing_since=min((each.since for each in running if table.name in each.tables), default=None),
    )


def _stale_since(table: StreamTable, heads: Mapping[TableName, Pointer], files: MetadataFiles) -> datetime | None:
    """Since when its sources have something that it has not; None: they have not."""
    if table.reads_clock:
        # Its answer grows old by itself.
        return table.last_refresh_at
    moments = [_left_behind(pin, heads[pin.table], table, files) for pin in table.frontier.pins if pin.table in heads]
    return min((moment for moment in moments if moment is not None), default=None)


def _left_behind(pin: Pin, head: Pointer, table: StreamTable, files: MetadataFiles) -> datetime | None:
    if head.location == pin.location:
        return None
    known = files(head.location)
    behind = None if known is None else known.behind(pin.snapshot_id)
    if behind is None:
        # It changed since the last refresh; when, nobody knows.
        return table.last_refresh_at
    # Other properties or columns, and the same rows: nothing that an answer would show.
    return known.first_after(pin.snapshot_id) if known is not None and behind else None
