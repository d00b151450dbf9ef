"""Expiring snapshots of a table of ours, with the files that only they refer to. Which ones: `retention`."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from spark_trickle.spark.upkeep.retention import Version, unneeded
from spark_trickle.storage.iceberg import Bulk, JavaTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def expire(spark: SparkSession, table: JavaTable, needed: Collection[int], current_since_ms: int) -> int:
    """Expire what nobody needs; gives how many snapshots.

    The commit goes through the real catalog: whoever published meanwhile wins, and Iceberg tries again on top of it.
    That is safe, because the ids are named here and what is current now is not among them.
    """
    bulk = Bulk(spark)
    snapshots = bulk.to_list(table.snapshots())
    columns = (
        bulk.read(snapshots, f"Snapshot.{name}")
        for name in ("snapshotId", "parentId", "sequenceNumber", "timestampMillis")
    )
    versions = [
        Version(int(id_), int(parent) if parent else None, int(sequence), int(written))
        for id_, parent, sequence, written in zip(*columns, strict=True)
    ]
    current = table.currentSnapshot()
    going = unneeded(
        versions,
        current=None if current is None else int(current.snapshotId()),
        needed={*needed, *_named(table)},
        current_since_ms=current_since_ms,
    )
    if not going:
        return 0
    # Without a limit of age given, Iceberg would also expire everything older than five days, frontiers included.
    expiring = table.expireSnapshots().expireOlderThan(0)
    for id_ in going:
        expiring = expiring.expireSnapshotId(id_)
    expiring.commit()
    return len(going)


def _named(table: JavaTable) -> set[int]:
    """Snapshots that branches and tags point at."""
    return {int(ref.snapshotId()) for ref in table.refs().values()}
