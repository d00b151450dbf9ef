"""Brings columns of data files to where rows are looked up: through Spark, each data file once.

A few rows are brought while somebody waits for them: what a change added. A whole table is brought beside the
refreshes, which go on reading it by Spark until it is there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_trickle.errors import InternalError, StreamTableError
from spark_trickle.names import TableName
from spark_trickle.rows.cache import Kind, RowCache
from spark_trickle.rows.encoding import bytes_kept, bytes_of
from spark_trickle.rows.pieces import DataFile
from spark_trickle.spark.execution.local import fetch
from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.spark.session.jobs import fair_share
from spark_trickle.spark.session.sessions import active
from spark_trickle.storage.changes import ChangeFeed
from spark_trickle.storage.iceberg import Java, JavaTable, static
from spark_trickle.storage.newest import Newest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("spark_trickle")

NOW_ROWS = 500_000
"""Up to so many missing rows are brought while somebody waits."""
BATCH_ROWS = 250_000
"""Small files are brought together, up to so many rows."""
BATCH_BYTES = 256 * 1024 * 1024
"""What travels to the driver in one piece, about: of a large data file some columns at a time."""
MOST_BYTES = 3 * BATCH_BYTES
"""A single column of a data file that takes more is not brought: Spark collects a gigabyte at the most."""
AGAIN_SECONDS = 600.0
"""What was brought beside the refreshes and is gone again, because there is no room for it, waits so long."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """Columns of data files of one table that are not there."""

    table: TableName
    java: JavaTable
    tasks: Java
    """All files of the version, as Iceberg reads them."""
    files: Mapping[DataFile, int]
    """Their places in that list."""
    columns: Mapping[DataFile, tuple[Kind, ...]]
    names: Mapping[str, str]
    """What columns are called, by what tells them apart."""
    key: Kind | None = None
    unsorted: Sequence[DataFile] = ()
    """Files whose keys are not sorted yet."""

    @property
    def rows(self) -> int:
        return sum(file.rows for file in {*self.columns, *self.unsorted})

    @property
    def bytes(self) -> int:
        """What it will take when it is kept, about."""
        return sum(file.rows * sum(bytes_kept(kind.type) for kind in kinds) for file, kinds in self.columns.items())

    @property
    def widest(self) -> int:
        """Bytes of the largest column of a data file, about."""
        sizes = (file.rows * bytes_of(kind.type) for file, kinds in self.columns.items() for kind in kinds)
        return max(sizes, default=0)


@dataclass(frozen=True, slots=True)
class _Begun:
    at: float
    let_go: int
    """What the cache had let go of by then; -1: it failed."""


class Filler:
    """Fills the cache of rows, now or later."""

    def __init__(self, cache: RowCache) -> None:
        self._cache = cache
        self._pool: ThreadPoolExecutor | None = None
        self._begun: Newest[str, _Begun] = Newest(10_000)
        self._running: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def fill(self, session: SparkSession, feed: ChangeFeed, lacking: Lacking) -> bool:
        """Bring what is lacking; False: it is too much to wait for, or to be kept at all."""
        if lacking.bytes > self._cache.most_bytes or lacking.widest > MOST_BYTES:
            return False
        if lacking.rows <= NOW_ROWS:
            return self._bring(session, feed, lacking)
        self._later(str(lacking.java.uuid()), session, lacking)
        return False

    def settle(self) -> None:
        """Wait until what was begun is there."""
        with self._lock:
            running = list(self._running.values())
        for each in running:
            each.result()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _later(self, uuid: str, session: SparkSession, lacking: Lacking) -> None:
        """One table after the other. Where there was no room for what was brought, or it failed, not again at once."""
        with self._lock:
            self._running = {key: each for key, each in self._running.items() if not each.done()}
            before = self._begun.get(uuid)
            in_vain = before is not None and before.let_go < self._cache.let_go
            soon = before is not None and time.monotonic() - before.at < AGAIN_SECONDS
            if self._closed or uuid in self._running or (in_vain and soon):
                return
            self._begun.put(uuid, _Begun(time.monotonic(), self._cache.let_go))
            self._pool = self._pool or ThreadPoolExecutor(1, "trickle-rows")
            work = partial(self._beside, uuid, session.newSession(), lacking)
            self._running[uuid] = self._pool.submit(work)

    def _beside(self, uuid: str, session: SparkSession, lacking: Lacking) -> None:
        """In a session of its own, beside whatever else is done."""
        begun = time.monotonic()
        feed = ChangeFeed(session)
        try:
            with active(session), fair_share(session):
                if self._bring(session, feed, lacking):
                    took = time.monotonic() - begun
                    _LOG.info("rows of %s are kept for lookups: %d rows in %.1f s", lacking.table, lacking.rows, took)
                else:
                    self._begun.put(uuid, _Begun(begun, -1))
        finally:
            feed.release()

    def _bring(self, session: SparkSession, feed: ChangeFeed, lacking: Lacking) -> bool:
        """Bring all of it; False: something went wrong, which is logged. Then Spark reads the table itself, as it would
        without a cache: nobody gets a wrong answer, or none.
        """
        try:
            with spark_errors(f"reading '{lacking.table}'"):
                for files, kinds in _batches(lacking.columns):
                    if self._closed:
                        return False
                    # A refresh that could not wait may have brought some of them meanwhile.
                    waiting = list(self._cache.missing(files, kinds))
                    if waiting:
                        self._bring_batch(session, feed, lacking, waiting, kinds)
                for file in lacking.unsorted:
                    if lacking.key is not None and not self._closed:
                        self._cache.sort(file, lacking.key)
        except StreamTableError as err:
            _LOG.warning("rows of %s are not kept for lookups: %s", lacking.table, err)
            return False
        return True

    def _bring_batch(
        self,
        session: SparkSession,
        feed: ChangeFeed,
        lacking: Lacking,
        files: Sequence[DataFile],
        kinds: Sequence[Kind],
    ) -> None:
        picked = static(session, "java.util.ArrayList")()
        for file in files:
            picked.add(lacking.tasks.get(lacking.files[file]))
        frame = feed.every_row(lacking.java, picked, [lacking.names[kind.id] for kind in kinds])
        # Of one file it need not be said with each row which it is. What is deleted comes along only if asked for.
        rows = fetch(frame.drop("_file") if len(files) == 1 else frame).drop_columns("_deleted")
        for file in files:
            self._cache.put(file, dict(zip(kinds, _columns(rows, file, kinds), strict=True)))


def _batches(
    columns: Mapping[DataFile, tuple[Kind, ...]],
) -> Iterator[tuple[Sequence[DataFile], tuple[Kind, ...]]]:
    """Files that lack the same columns, small ones together, and of large ones some columns at a time."""
    alike: dict[tuple[Kind, ...], list[DataFile]] = defaultdict(list)
    for file, kinds in columns.items():
        alike[kinds].append(file)
    for kinds, files in alike.items():
        for batch in _together(files):
            for some in _groups(kinds, sum(file.rows for file in batch)):
                yield batch, some


def _together(files: Iterable[DataFile]) -> Iterator[list[DataFile]]:
    batch: list[DataFile] = []
    for file in files:
        if batch and sum(each.rows for each in batch) + file.rows > BATCH_ROWS:
            yield batch
            batch = []
        batch.append(file)
    yield batch


def _groups(kinds: Sequence[Kind], rows: int) -> Iterator[tuple[Kind, ...]]:
    """Columns that travel together."""
    group: list[Kind] = []
    for kind in kinds:
        if group and rows * sum(bytes_of(each.type) for each in (*group, kind)) > BATCH_BYTES:
            yield tuple(group)
            group = []
        group.append(kind)
    yield tuple(group)


def _columns(rows: pa.Table, file: DataFile, kinds: Iterable[Kind]) -> list[pa.Array]:
    """The columns of one file, by the positions of its rows: all of them have to be there."""
    mine = rows.filter(pc.equal(rows.column("_file"), file.location)) if "_file" in rows.column_names else rows
    places = np.asarray(mine.column("_pos").combine_chunks())
    if len(places) == file.rows and (places[1:] < places[:-1]).any():
        order = np.argsort(places, kind="stable")
        mine, places = mine.take(pa.array(order)), places[order]
    if not np.array_equal(places, np.arange(file.rows)):
        raise InternalError(f"read {len(places)} of {file.rows} rows of a data file", facts={"file": file.location})
    return [_whole(mine.column(number), kind.type) for number, kind in enumerate(kinds)]


def _whole(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    found = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return found if found.type.equals(kind) else found.cast(kind)
