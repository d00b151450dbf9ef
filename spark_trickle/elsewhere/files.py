"""Files that others wrote: listing folders and reading, wherever they are. On a disk of this machine without a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol


@dataclass(frozen=True, slots=True)
class Listed:
    """A file in a folder."""

    path: str
    """Below the folder."""
    size: int
    modified: int
    """Milliseconds since 1970."""


class Files(Protocol):
    """Reads files of one store. OSError: it cannot be reached; FileNotFoundError: there is no such thing."""

    def list(self, folder: str, *, deep: bool = False) -> Iterator[Listed]:
        """The files of a folder; `deep`: of folders in it, too, and of a file itself."""
        ...

    def open(self, path: str) -> BinaryIO: ...

    def exists(self, path: str) -> bool: ...


def is_local(path: str) -> bool:
    """Whether a place is on a disk of this machine."""
    return path.startswith(("/", "file:/"))


def plain(path: str) -> str:
    """A place as it is written everywhere: without a scheme where it is local, without a slash at its end.

    >>> plain("file:///lake/orders/"), plain("file:/lake/orders"), plain("s3a://lake/orders")
    ('/lake/orders', '/lake/orders', 's3a://lake/orders')
    """
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    return path.rstrip("/") or "/"


class LocalFiles:
    """On a disk of this machine."""

    def list(self, folder: str, *, deep: bool = False) -> Iterator[Listed]:
        top = Path(folder)
        if deep and not top.is_dir():
            told = top.stat()
            yield Listed(top.name, told.st_size, told.st_mtime_ns // 1_000_000)
        for path in top.rglob("*") if deep else top.iterdir():
            try:
                told = path.stat()
            except FileNotFoundError:
                continue  # somebody took it away meanwhile
            if path.is_file():
                yield Listed(path.relative_to(top).as_posix(), told.st_size, told.st_mtime_ns // 1_000_000)

    def open(self, path: str) -> BinaryIO:
        return Path(path).open("rb")

    def exists(self, path: str) -> bool:
        return Path(path).exists()
