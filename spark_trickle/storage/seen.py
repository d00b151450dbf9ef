"""What was seen of versions of tables, so that it need not be looked at again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from spark_trickle.storage.newest import Newest
from spark_trickle.storage.windows import FileState

if TYPE_CHECKING:
    from spark_trickle.storage.iceberg import Java


class SeenFiles:
    """The files of versions that were compared before: the end of one window is the start of the next."""

    def __init__(self, most_of_a_version: int = 2_000, most_files: int = 20_000) -> None:
        self._most_of_a_version = most_of_a_version
        self._seen: Newest[tuple[str, int, int], tuple[Java, list[FileState]]] = Newest(
            most_files, lambda seen: 1 + len(seen[1]), family=lambda version: version[0]
        )

    def of(
        self, version: tuple[str, int, int], look: Callable[[], tuple[Java, list[FileState]]]
    ) -> tuple[Java, list[FileState]]:
        """Tasks and states of a version's files, by uuid, schema and snapshot."""
        found = self._seen.get(version)
        if found is None:
            found = look()
            if len(found[1]) <= self._most_of_a_version:
                self._seen.put(version, found)
        return found
