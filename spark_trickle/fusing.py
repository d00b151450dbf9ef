"""Fuses for users: resetting one that has blown, and listing them.

When one blows is decided in `holds`, counting is in `refresh.fuse`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.clock import Clock
from spark_trickle.errors import UserError
from spark_trickle.gating import who
from spark_trickle.graph.dag import data_flow
from spark_trickle.holds.fuse_report import FuseStatus, fuse_status
from spark_trickle.model.frontier import Frontier
from spark_trickle.model.fuse import Blown, Diverged, FuseAction
from spark_trickle.model.publication import Publication
from spark_trickle.model.stream_table import Fuse, StreamTable
from spark_trickle.names import TableName, no_stream_table

CALLS = ("reset_fuse", "fuse_status")
"""What SQL can call."""


@dataclass(frozen=True, slots=True)
class Fusing:
    """The fuses of one lake."""

    catalog: Catalog
    clock: Clock
    default_ceiling: int
    named: Callable[[str], TableName] = TableName.parse
    """Which table a name means."""

    def reset(self, name: str, action: str) -> FuseStatus:
        """What was asked for is done by the next refresh, which starts from what is written here."""
        wanted = _action(action)
        with self.catalog.read() as conn:
            tables = {table.name: table for table in self.catalog.stream_tables(conn)}
        table = tables.get(self.named(name))
        if table is None:
            raise no_stream_table(self.named(name), tables)
        blown = table.fuse.blown
        if blown is None or table.options.fuse is Fuse.OFF:
            raise UserError(f"the fuse of '{table.name}' is not blown", hint="fuse_status() lists them")
        reset = [replace(table, fuse=table.fuse.cleared())]
        match wanted:
            case FuseAction.APPLY:
                reset = [replace(each, fuse=replace(each.fuse, accepted=blown.pending)) for each in reset]
            case FuseAction.REINITIALIZE:
                reset = [replace(each, fuse=replace(each.fuse, reinitialize=True)) for each in reset]
            case FuseAction.SKIP_CHANGES:
                # What one member of a circle left out, it would get from the others.
                circle = (each for each in data_flow(tables.values()).circle_of(table.name) if each != table.name)
                reset = [self._skipped(each, table, blown, tables) for each in (*reset, *(tables[c] for c in circle))]
        self.catalog.publish(Publication(updated=tuple(reset)))
        return fuse_status(reset[:1], self.default_ceiling)[0]

    def status(self) -> list[FuseStatus]:
        return fuse_status(self.catalog.stream_tables(), self.default_ceiling)

    def _skipped(
        self, table: StreamTable, whose: StreamTable, blown: Blown, stream_tables: Container[TableName]
    ) -> StreamTable:
        """The frontier of this stream table goes over the change; that of everybody else stays where it is.

        Args:
            whose: the stream table whose fuse has blown; another one is in a circle with it.
        """
        pending = [each for each in blown.pending if table.frontier.of(each.source) is not None]
        ours = [each.source for each in pending if each.source in stream_tables and each.change.rows]
        over = {each.source: each.pin for each in pending if each.source not in stream_tables}
        rows = sum(each.change.rows for each in blown.pending)
        how_many = f"{rows:,} changed rows" if rows else "changes"
        where = "" if table.name == whose.name else f" with '{whose.name}', whose circle it is in"
        return replace(
            table,
            frontier=Frontier(tuple(over.get(pin.table, pin) for pin in table.frontier.pins)),
            # What a stream table of its unit had staged was not published: its next change is left out.
            fuse=replace(table.fuse, skipping=tuple(ours)),
            diverged=Diverged(since=self.clock.now(), by=who(), what=f"had {how_many} skipped{where} ({blown.reason})"),
        )


class FuseCalls:
    """The engine's calls about fuses."""

    _fusing: Fusing

    def reset_fuse(self, name: str, action: str = "apply") -> FuseStatus:
        """Go on after a fuse has blown: `apply` takes the change in, `reinitialize` computes everything again,
        `skip_changes` leaves the change out, after which the contents no longer equal the query.
        """
        return self._fusing.reset(name, action)

    def fuse_status(self) -> list[FuseStatus]:
        """The fuse of each stream table: what it allows, and whether it has blown."""
        return self._fusing.status()


def _action(text: str) -> FuseAction:
    for action in FuseAction:
        if isinstance(text, str) and text.lower() == action.value:
            return action
    raise UserError(f"action cannot be {text!r}", hint=f"Choose one of {', '.join(repr(a.value) for a in FuseAction)}")
