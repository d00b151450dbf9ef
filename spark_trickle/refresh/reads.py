"""What a refresh is going to read: that it can be found, and which tables it touches."""

from __future__ import annotations

from collections.abc import Iterable

from spark_trickle.errors import SourceAwayError
from spark_trickle.model.publication import Cut
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName


def require_reachable(cut: Cut, unit: Iterable[TableName]) -> None:
    """SourceAwayError: a source of another catalog cannot be found."""
    for name in sorted(unit):
        for source in cut.tables[name].sources:
            away = cut.away.get(source.table)
            if away is not None:
                raise SourceAwayError(
                    f"'{name}' cannot be refreshed: {away.reason}",
                    hint=f"To do: {away.next_step}",
                    facts={"name": str(name), "source": str(source.table), "catalog": source.table.catalog},
                )


def touched(cut: Cut, unit: Iterable[StreamTable]) -> set[TableName] | None:
    """The tables that refreshing these reads and writes; None: any, because a view may have come to read others."""
    views = [(table.frontier.of(s.table), s.table) for table in unit for s in table.sources if s.kind == "VIEW"]
    if any(
        pin is None or name not in cut.pointers or pin.location != cut.pointers[name].location for pin, name in views
    ):
        return None
    return {name for table in unit for name in (*table.tables, *(s.table for s in table.sources))}
