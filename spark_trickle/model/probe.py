"""Whether files can be worked with, as one small file has shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Probe:
    """How far one small file came."""

    file_io: str
    """The class that reached it."""
    location: str
    done: tuple[str, ...]
    """Of: write, read, list, delete."""
    failed: str = ""
    """The first of them that did not work; empty: all did."""
    why: str = ""
