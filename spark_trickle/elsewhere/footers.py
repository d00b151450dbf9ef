"""What Parquet files say of themselves at their ends: how many rows they have, and whether they can be read by names.

Iceberg takes the numbers that a file gives its columns for its own. A file that was written by others may have numbers
that mean nothing to its table: it would be read as if all its columns were NULL. So each file is looked at, once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from spark_trickle.elsewhere.files import Files

AT_ONCE = 8
MOST = 1_000_000
_NUMBER = b"PARQUET:field_id"
_OLD_DAYS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


class FooterError(Exception):
    """A file cannot be read rightly: why, in words."""


class Footers:
    """Looks at files. Any thread may ask; a file is looked at once."""

    def __init__(self) -> None:
        self._rows: OrderedDict[tuple[str, bool], int] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, files: Files, paths: Iterable[str], *, numbered: bool, may_be_gone: bool = False) -> dict[str, int]:
        """Rows of each file. FooterError: one of them cannot be read rightly.

        Args:
            numbered: whether the table knows its columns by the numbers that files give them.
            may_be_gone: what is not there is left out.
        """
        wanted = list(paths)
        unknown = [path for path in wanted if (path, numbered) not in self._rows]
        with ThreadPoolExecutor(min(AT_ONCE, len(unknown) or 1), thread_name_prefix="trickle-footers") as pool:
            found = list(pool.map(lambda path: _look(files, path, numbered=numbered), unknown))
        with self._lock:
            for path, rows in zip(unknown, found, strict=True):
                if rows is not None:
                    self._rows[path, numbered] = rows
                elif not may_be_gone:
                    raise FooterError(f"its file {path} is gone")
            told = {path: self._rows[path, numbered] for path in wanted if (path, numbered) in self._rows}
            while len(self._rows) > MOST:
                self._rows.popitem(last=False)
        return told


def _look(files: Files, path: str, *, numbered: bool) -> int | None:
    """Its rows; None: it is gone."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with files.open(path) as opened:
            footer = pq.read_metadata(opened)
    except FileNotFoundError:
        return None
    except pa.ArrowInvalid as err:
        raise FooterError(f"its file {path} cannot be read: {err}") from err
    about = footer.metadata or {}
    if any(key in about for key in _OLD_DAYS):
        raise FooterError(f"its file {path} was written in the calendar of Spark 2, which cannot be read here")
    fields = footer.schema.to_arrow_schema()
    if not numbered and any(_NUMBER in (fields.field(at).metadata or {}) for at in range(len(fields.names))):
        raise FooterError(
            f"its file {path} gives its columns numbers though its table has no column mapping: write it anew without"
        )
    return int(footer.num_rows)
