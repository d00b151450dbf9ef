"""Files that are not on a disk of this machine, read by Hadoop's file systems, as Spark reads them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from py4j.protocol import Py4JJavaError

from spark_trickle.elsewhere.files import Listed
from spark_trickle.spark.session.sessions import Sessions
from spark_trickle.storage.iceberg import Java, static

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MISSING = "java.io.FileNotFoundException"


class FarFiles:
    """Of any store that Hadoop knows. Any thread may ask."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def list(self, folder: str, *, deep: bool = False) -> Iterator[Listed]:
        try:
            path, system = self._at(folder)
            top = str(system.getFileStatus(path).getPath().toString()).rstrip("/")
            found = system.listFiles(path, deep)
            while found.hasNext():
                status = found.next()
                place = str(status.getPath().toString())
                yield Listed(place.removeprefix(f"{top}/"), int(status.getLen()), int(status.getModificationTime()))
        except Py4JJavaError as err:
            raise _os_error(err) from err

    def open(self, path: str) -> BinaryIO:
        try:
            place, system = self._at(path)
            size = int(system.getFileStatus(place).getLen())
            return cast("BinaryIO", io.BufferedReader(_Far(self._session, system.open(place), size), 1 << 20))
        except Py4JJavaError as err:
            raise _os_error(err) from err

    def exists(self, path: str) -> bool:
        try:
            place, system = self._at(path)
            return bool(system.exists(place))
        except Py4JJavaError as err:
            raise _os_error(err) from err

    @property
    def _session(self) -> SparkSession:
        return self._sessions.main

    def _at(self, path: str) -> tuple[Java, Java]:
        java: Any = self._session._jsparkSession
        place = static(self._session, "org.apache.hadoop.fs.Path")(path)
        return place, place.getFileSystem(java.sessionState().newHadoopConf())


class _Far(io.RawIOBase):
    """One open file."""

    def __init__(self, session: SparkSession, stream: Java, size: int) -> None:
        self._session = session
        self._stream = stream
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self._size - self._at)
        if wanted <= 0:
            return 0
        self._stream.seek(self._at)
        read = bytes(static(self._session, "org.apache.commons.io.IOUtils").toByteArray(self._stream, wanted))
        buffer[: len(read)] = read
        self._at += len(read)
        return len(read)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _os_error(err: Py4JJavaError) -> OSError:
    thrown = err.java_exception
    if str(thrown.getClass().getName()) == _MISSING:
        return FileNotFoundError(str(thrown.getMessage()))
    return OSError(f"{thrown.getClass().getSimpleName()}: {thrown.getMessage()}".partition("\n")[0][:300])
