"""What other tools may read: namespaces, tables and views of the lake, each where the catalog's pointer is.

A pointer moves only when a publication lands, and one read sees it: nobody gets a version that is not published, or
half of one. Our internal tables are not there for anybody.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spark_trickle.catalog import pointers
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.errors import UnavailableError
from spark_trickle.model.frontier import Pointer
from spark_trickle.names import TableName, is_internal
from spark_trickle.store_files import GoneError, StoreFiles

_TRIES = 3
"""How often a pointer is read again whose file is gone: somebody published, and the old file has expired."""

Levels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A table or view as it is published."""

    location: str
    metadata: dict[str, Any]


class Published:
    """The lake as readers see it. For several threads."""

    def __init__(self, catalog: Catalog, files: StoreFiles) -> None:
        self._catalog = catalog
        self._files = files

    def namespaces(self, parent: Levels = ()) -> list[Levels] | None:
        """Those right below a namespace, or the topmost; None: there is no such parent."""
        known = self._all_namespaces()
        if parent and parent not in known:
            return None
        depth = len(parent) + 1
        return sorted({each[:depth] for each in known if len(each) >= depth and each[: len(parent)] == parent})

    def properties(self, namespace: Levels) -> dict[str, str] | None:
        """What is noted of a namespace; None: there is no such one."""
        if namespace not in self._all_namespaces():
            return None
        with self._catalog.read() as conn:
            return pointers.namespace_properties(conn, ".".join(namespace))

    def names(self, namespace: Levels, kind: str) -> list[str] | None:
        """Tables or views of a namespace; None: there is no such one."""
        with self._catalog.read() as conn:
            known = _levels(pointers.namespaces(conn))
            found = pointers.read(conn)
        if namespace not in known:
            return None
        wanted = ".".join(namespace)
        return sorted(each.table.name for each in found.values() if (each.table.namespace, each.kind) == (wanted, kind))

    def pointer(self, namespace: Levels, name: str, kind: str) -> Pointer | None:
        """Where one is; None: there is no such one."""
        table = TableName(".".join(namespace), name)
        if is_internal(table):
            return None
        with self._catalog.read() as conn:
            found = pointers.read(conn, [table]).get(table)
        return found if found is not None and found.kind == kind else None

    def load(self, found: Pointer) -> Loaded | None:
        """The metadata at a pointer, or at where it has moved meanwhile; None: it was dropped meanwhile."""
        current: Pointer | None = found
        for _ in range(_TRIES):
            if current is None:
                return None
            try:
                return Loaded(current.location, _document(self._files.read(current.location), current.location))
            except GoneError:
                before, current = current, self.pointer(tuple(found.table.levels), found.table.name, found.kind)
                if before == current:
                    raise
        raise UnavailableError(f"'{found.table}' moves faster than it can be read", hint="Ask again")

    def _all_namespaces(self) -> set[Levels]:
        with self._catalog.read() as conn:
            return _levels(pointers.namespaces(conn))


def _levels(namespaces: Iterable[str]) -> set[Levels]:
    """All namespaces that readers see, those that only others lie in included."""
    paths = [tuple(each.split(".")) for each in namespaces if not is_internal(TableName(each, ""))]
    return {path[:depth] for path in paths for depth in range(1, len(path) + 1)}


def _document(raw: bytes, location: str) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except ValueError as err:
        raise UnavailableError(f"'{location}' is not what Iceberg writes: {err}") from err
    if not isinstance(found, dict):
        raise UnavailableError(f"'{location}' is not what Iceberg writes")
    return found
