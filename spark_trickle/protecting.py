"""What users may not do by plain SQL: to a stream table, which its query alone writes, and to a source that is read.

Each refusal names the statement to use instead. What is done from elsewhere cannot be refused; the next refresh
notices it (`refresh/damage.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_trickle.errors import UserError
from spark_trickle.model.deed import Deed, DeedKind, Deeds
from spark_trickle.model.publication import Cut
from spark_trickle.names import INTERNAL_NAMESPACE, TableName


def require_allowed(deeds: Deeds, cut: Cut) -> None:
    """UserError: the first of these that would harm a stream table."""
    for deed in deeds.each:
        require_not_ours(deed, cut)
        if deed.kind in (DeedKind.DROP, DeedKind.RENAME):
            require_unread(deed.table, cut, doing=deed.kind)


def require_not_ours(deed: Deed, cut: Cut) -> None:
    """UserError: the table is a stream table, or holds the state of one."""
    name = deed.table
    if name.namespace == INTERNAL_NAMESPACE:
        raise UserError(
            f"'{name}' is in namespace {INTERNAL_NAMESPACE}, which holds internal state of stream tables",
            hint="Nothing there is for users; DROP STREAM TABLE drops a stream table with its state",
        )
    if name not in cut.tables:
        return
    if deed.kind is DeedKind.CREATE:
        if name in cut.pointers:
            return  # Spark says that it exists; with IF NOT EXISTS that is what was asked for
        raise UserError(
            f"'{name}' is the name of a stream table, whose table somebody has dropped",
            hint=f"REFRESH STREAM TABLE {name} makes it again; DROP STREAM TABLE {name} gives up the name",
        )
    message, hint = _REFUSALS[deed.kind]
    sources = ", ".join(f"'{source.table}'" for source in cut.tables[name].sources) or "nothing"
    raise UserError(f"'{name}' is a stream table: {message}", hint=hint.format(name=name, sources=sources))


def require_unread(name: TableName, cut: Cut, *, doing: DeedKind = DeedKind.DROP) -> None:
    """UserError: stream tables read it."""
    readers = [str(table.name) for table in cut.tables.values() if any(s.table == name for s in table.sources)]
    if not readers:
        return
    raise UserError(
        f"'{name}' cannot be {'dropped' if doing is DeedKind.DROP else 'renamed'}: {_listed(readers)} "
        f"read{'s' if len(readers) == 1 else ''} it",
        hint=f"First DROP STREAM TABLE {readers[0]} CASCADE, or ALTER STREAM TABLE {readers[0]} AS a query without it",
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))


_REFUSALS = {
    DeedKind.WRITE: ("only its query writes to it", "Write to its sources ({sources})"),
    DeedKind.COLUMNS: (
        "its columns are those of its query",
        "ALTER STREAM TABLE {name} AS SELECT … gives it another query",
    ),
    DeedKind.LAYOUT: ("how it is laid out is for the engine to say", "Nothing is needed: maintain() compacts it"),
    DeedKind.PROPERTIES: ("properties that begin with 'trickle.' are the engine's own", "Choose another name"),
    DeedKind.RENAME: (
        "it cannot be renamed",
        "CREATE STREAM TABLE makes one of another name; DROP STREAM TABLE {name} drops this one",
    ),
    DeedKind.DROP: ("DROP TABLE would leave its definition behind", "Use DROP STREAM TABLE {name}"),
    DeedKind.REPLACE: (
        "another table cannot take its place",
        "CREATE OR REPLACE STREAM TABLE {name} AS SELECT … gives it another query; DROP STREAM TABLE {name} drops it",
    ),
    DeedKind.REDEFINE: (
        "a view cannot take its place",
        "CREATE OR REPLACE STREAM TABLE {name} AS SELECT … gives it another query; DROP STREAM TABLE {name} drops it",
    ),
}
"""For each deed: why not, and what to do instead."""
