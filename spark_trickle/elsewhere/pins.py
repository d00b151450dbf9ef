"""Where the tables of other catalogs are that stream tables read: once for each cut, all catalogs side by side.

Our own pointers are read in one transaction; these are not, because nobody can: each catalog is another server, and a
REST catalog tells of one table at a time. They are read after our own, so they are never older than what a stream table
of the cut was made from.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import blake2b

from spark_trickle.config import mask_url
from spark_trickle.elsewhere.formats import Formats
from spark_trickle.elsewhere.hadoop import HadoopHeads
from spark_trickle.elsewhere.heads import Found, Heads, missing, not_configured, unreachable
from spark_trickle.elsewhere.jdbc import JdbcHeads
from spark_trickle.elsewhere.rest import RestHeads
from spark_trickle.elsewhere.settings import CatalogSettings
from spark_trickle.errors import NotFoundError, SourceAwayError
from spark_trickle.model.frontier import Pointer
from spark_trickle.model.publication import Away, Cut
from spark_trickle.names import BY_PLACE, SESSION, TableName

_LOG = logging.getLogger("spark_trickle")

MakeHeads = Callable[[CatalogSettings], Heads | None]

LIGHT: Mapping[str, MakeHeads] = {
    "rest": RestHeads.made_of,
    "jdbc": JdbcHeads.made_of,
    "hadoop": HadoopHeads.made_of,
}
"""Kinds of catalogs that can be asked without a JVM. The others are asked through Iceberg's own client."""

CATALOGS_AT_ONCE = 8


class Elsewhere:
    """The other catalogs that are configured. Any thread may ask."""

    def __init__(
        self, catalogs: Callable[[], Mapping[str, CatalogSettings]], by_jvm: MakeHeads, formats: Formats
    ) -> None:
        """Args:
        catalogs: those that are configured now.
        by_jvm: asks Iceberg's own client of a catalog; starts a JVM where there is none.
        formats: the kinds of tables that are not Iceberg's.
        """
        self.formats = formats
        self._catalogs = catalogs
        self._by_jvm = by_jvm
        self._heads: dict[str, tuple[CatalogSettings, Heads]] = {}
        self._pointers: dict[TableName, Pointer] = {}
        self._asked: tuple[Cut | None, frozenset[TableName]] = (None, frozenset())
        self._lock = threading.Lock()

    def pointers(self, tables: Iterable[TableName]) -> tuple[dict[TableName, Pointer], dict[TableName, Away]]:
        """Where these are, and of which of them that is not known. One that has not moved is the same object again."""
        by_catalog: dict[str, list[TableName]] = defaultdict(list)
        for table in sorted(set(tables)):
            by_catalog[table.catalog].append(table)
        if not by_catalog:
            return {}, {}
        catalogs = self._catalogs()
        asked = {name: self._of(name, catalogs.get(name)) for name in by_catalog}

        def ask(name: str) -> Found:
            heads, tables = asked[name], by_catalog[name]
            if heads is None:
                return {table: not_configured(table) for table in tables}
            try:
                return heads.of(tables)
            except Exception as err:  # noqa: BLE001 - the boundary around each catalog
                # Whatever it is, it is this catalog's: nobody else is to wait for that.
                _LOG.error("asking catalog '%s' failed: %s", name, mask_url("".join(traceback.format_exception(err))))
                why = (
                    f"asking it failed by a bug of spark-trickle: {type(err).__name__}; the log has the trace to report"
                )
                return dict.fromkeys(tables, unreachable(name, why))

        if len(by_catalog) == 1:
            answers = [ask(name) for name in by_catalog]
        else:
            with ThreadPoolExecutor(min(CATALOGS_AT_ONCE, len(by_catalog))) as pool:
                answers = list(pool.map(ask, by_catalog))
        return self._told({table: found for answer in answers for table, found in answer.items()})

    def pointer(self, table: TableName) -> Pointer:
        """Where one table is. NotFoundError, SourceAwayError: it cannot be found."""
        found, away = self.pointers([table])
        if table in found:
            return found[table]
        if away[table] == missing(table):
            raise NotFoundError("table", table, hint=f"Catalog '{table.catalog}' does not have it")
        raise SourceAwayError(away[table].reason, hint=f"To do: {away[table].next_step}")

    def added_to(self, cut: Cut) -> Cut:
        """The cut with the tables of other catalogs that its stream tables read."""
        # A scheduler asks each second, mostly with the same cut of ten thousand stream tables.
        asked, wanted = self._asked
        if asked is not cut:
            wanted = cut.elsewhere
            self._asked = (cut, wanted)
        if not wanted:
            return cut
        found, away = self.pointers(wanted)
        return with_pointers(cut, found, away)

    def close(self) -> None:
        with self._lock:
            for _, heads in self._heads.values():
                heads.close()
            self._heads.clear()

    def _of(self, name: str, settings: CatalogSettings | None) -> Heads | None:
        if settings is None:
            return self.formats if name in (SESSION, *BY_PLACE) else None
        if not settings.is_iceberg:
            return self.formats
        with self._lock:
            known = self._heads.get(settings.name)
            if known is not None and known[0] == settings:
                return known[1]
            if known is not None:
                known[1].close()
            light = LIGHT.get(settings.kind)
            made = (None if light is None else light(settings)) or self._by_jvm(settings)
            if made is not None:
                self._heads[settings.name] = (settings, made)
            return made

    def _told(self, answers: Found) -> tuple[dict[TableName, Pointer], dict[TableName, Away]]:
        found: dict[TableName, Pointer] = {}
        away: dict[TableName, Away] = {}
        with self._lock:
            for table, answer in answers.items():
                if isinstance(answer, Away):
                    away[table] = answer
                    continue
                known = self._pointers.get(table)
                if known is None or known.location != answer:
                    known = self._pointers[table] = Pointer(table, answer)
                found[table] = known
        return found, away


def with_pointers(cut: Cut, found: Mapping[TableName, Pointer], away: Mapping[TableName, Away]) -> Cut:
    """The cut with tables of other catalogs; its id is of their versions, too."""
    lines = sorted(f"{name.namespace}\0{name.name}\0{head.location}" for name, head in found.items())
    digest = blake2b("\0".join([cut.id, *lines]).encode(), digest_size=8).hexdigest()
    return replace(cut, id=digest, pointers={**cut.pointers, **found}, away=dict(away))
