"""The engine's calls that make, change and drop stream tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spark_trickle.errors import TransientError, UserError
from spark_trickle.events import Noticed
from spark_trickle.model.meaning import Meaning
from spark_trickle.model.stream_table import Options, StreamTable
from spark_trickle.names import TableName
from spark_trickle.refresh.options import with_options
from spark_trickle.wire import Parts

CALLS = (
    "create_stream_table",
    "create_stream_table_if_not_exists",
    "create_or_replace_stream_table",
    "create_stream_tables",
    "alter_stream_table",
    "drop_stream_table",
    "suspend_stream_table",
    "resume_stream_table",
)
"""What SQL can call."""


class DefinitionCalls:
    """The life of stream tables, as users see it."""

    _parts: Parts

    def create_stream_table(  # noqa: PLR0913  the surface that users know
        self,
        name: str,
        query: str,
        schedule: str = "calculated",
        refresh_mode: str = "AUTO",
        initialize: bool = True,
        diamond_consistency: str | None = None,
        diamond_schedule_policy: str | None = None,
        bootstrap_gating: str = "respect",
        strict: bool = False,
        fuse: str = "off",
        fuse_ceiling: int | None = None,
        fuse_sensitivity: float | None = None,
    ) -> StreamTable:
        """Make a stream table of a query; with `initialize` it appears with its contents."""
        options = self._options(
            schedule=schedule,
            refresh_mode=refresh_mode,
            diamond_consistency=diamond_consistency,
            diamond_schedule_policy=diamond_schedule_policy,
            bootstrap_gating=bootstrap_gating,
            strict=strict,
            fuse=fuse,
            fuse_ceiling=fuse_ceiling,
            fuse_sensitivity=fuse_sensitivity,
        )
        return self._parts.definitions.create(
            self._named(name), query, options, meaning=self._meaning(), initialize=bool(initialize)
        )

    def create_stream_tables(
        self, queries: Mapping[str, str], initialize: bool = True, **options: Any
    ) -> list[StreamTable]:
        """Make several at once, all or none. They may read each other; in a circle if `allow_circular` is set."""
        if not isinstance(queries, Mapping) or not queries:
            raise UserError(
                "no stream table is named", hint="For example {'a': 'SELECT ...', 'b': 'SELECT ... FROM a'}"
            )
        named = {self._named(name): query for name, query in queries.items()}
        if len(named) < len(queries):
            raise UserError("a stream table is named twice", hint="Name each once")
        given: dict[str, Any] = {"diamond_consistency": None, "diamond_schedule_policy": None, **options}
        return self._parts.definitions.create_all(
            named, self._options(**given), meaning=self._meaning(), initialize=bool(initialize)
        )

    def create_stream_table_if_not_exists(self, name: str, query: str, **options: Any) -> StreamTable:
        """As `create_stream_table`; one that exists is left as it is, whatever its query."""
        existing = self._parts.catalog.find(self._named(name))
        if existing is not None:
            return replace(existing, notices=(f"stream table '{existing.name}' already exists, nothing was changed",))
        return self.create_stream_table(name, query, **options)

    def create_or_replace_stream_table(
        self, name: str, query: str, initialize: bool = True, **options: Any
    ) -> StreamTable:
        """Create it; or change what differs: options, or the query in place. `initialize` counts on creation only."""
        if self._parts.catalog.find(self._named(name)) is None:
            return self.create_stream_table(name, query, initialize=initialize, **options)
        return self._parts.definitions.alter(self._named(name), options, query=query, meaning=self._meaning())

    def alter_stream_table(self, name: str, query: str | None = None, **changes: Any) -> StreamTable:
        """Change options or the query. Everything is checked first; a failure leaves everything as it was."""
        meaning = None if query is None else self._meaning()
        return self._parts.definitions.alter(self._named(name), changes, query=query, meaning=meaning)

    def drop_stream_table(self, name: str, cascade: bool = False) -> tuple[str, ...]:
        """Drop it with its internal state, and with `cascade` those that read it; returns the names."""
        from spark_trickle.spark.workspaces.in_use import IN_USE
        from spark_trickle.spark.workspaces.purge import purge

        heads = self._parts.catalog.pointers()
        gone = self._parts.definitions.drop(self._named(name), cascade=bool(cascade))
        for table in (each for dropped in gone for each in dropped.tables if each in heads):
            if IN_USE.locations(table):
                notice = f"files of '{table}' are left, because they are being read; maintain() removes them later"
                self._parts.notify(Noticed(str(table), notice))
                continue
            try:
                purge(self._parts.sessions.main, heads[table].location)
            except TransientError as err:
                # It is dropped all the same: files that could not be deleted are a nuisance, not a failure.
                self._parts.notify(Noticed(str(table), f"files of '{table}' are left: {err}"))
        return tuple(str(table.name) for table in gone)

    def suspend_stream_table(self, name: str) -> StreamTable:
        return self._parts.definitions.suspend(self._named(name))

    def resume_stream_table(self, name: str) -> StreamTable:
        return self._parts.definitions.resume(self._named(name))

    def _named(self, text: str) -> TableName:
        """The table that a name means: without a namespace in the session's current one."""
        return self._parts.gating.named(text)

    def _meaning(self) -> Meaning:
        """What a query means that is defined now, in the session."""
        return self._parts.sessions.meaning()

    def _options(self, **given: object) -> Options:
        """Options as passed; those left out that have a setting come from the settings."""
        settings = self._parts.settings
        defaults: dict[str, object] = {
            "diamond_consistency": settings.diamond_consistency.value,
            "diamond_schedule_policy": settings.diamond_schedule_policy.value,
        }
        return with_options(
            Options(), {key: defaults.get(key) if value is None else value for key, value in given.items()}
        )
