"""What others did to the tables of a stream table, or to its sources, since its last refresh: noticed, and told.

What can be repaired is a reason to compute everything again. A table that was renamed is not repaired: one made anew
would share its folder, so the refresh stops and says how to put it back.
"""

from __future__ import annotations

from collections.abc import Mapping

from spark_trickle.errors import SchemaChangedError
from spark_trickle.model.frontier import Pin, Pointer
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import TableName
from spark_trickle.ports import Workbench


def damaged(bench: Workbench, table: StreamTable) -> str | None:
    """What was done to its own tables, as a reason to start over; None: nothing that matters."""
    for published in table.published:
        here = bench.pin_of(published.table)
        what = "the table" if published.table == table.name else f"internal state '{published.table.name}'"
        if here is None:
            return f"{what} was dropped by somebody"
        if here.uuid != published.uuid:
            return f"{what} was replaced by another table of the same name"
        if (here.snapshot_id, here.schema_id) != (published.snapshot_id, published.schema_id):
            done = bench.foreign_write(published.table, published)
            if done is not None:
                return f"{what} {done}"
    return None


def other_functions(bench: Workbench, table: StreamTable) -> str | None:
    """Which function of a user does something else than when the contents were computed, as a reason to start over."""
    if not table.functions:
        return None
    now = bench.functions(table)
    for name, before in table.functions:
        # Code of another version of Python, which the first part says, cannot be compared.
        if name in now and now[name] != before and now[name].split(":")[0] == before.split(":")[0]:
            return f"function '{name}' was changed"
    return None


def gone(table: StreamTable, source: TableName, heads: Mapping[TableName, Pointer]) -> SchemaChangedError:
    """The error of a refresh whose source is not there any more."""
    name, pin = table.name, table.frontier.of(source)
    renamed = None if pin is None else renamed_to(pin, heads)
    if renamed is None:
        message = f"source '{source}' of '{name}' no longer exists"
        hint = "Create it again, change the query (alter_stream_table(..., query=...)) or drop the stream table"
    else:
        message = f"source '{source}' of '{name}' was renamed to '{renamed}'"
        hint = (
            f"ALTER TABLE {renamed} RENAME TO {source} puts it back; ALTER STREAM TABLE {name} AS … reads another table"
        )
    return SchemaChangedError(message, hint=hint, facts={"source": str(source), "stream_table": str(name)})


def renamed_to(pin: Pin, heads: Mapping[TableName, Pointer]) -> TableName | None:
    """The name under which a table that is not where it was can be found: its folder tells."""
    folder = _folder(pin.location)
    found = (head.table for name, head in heads.items() if name != pin.table and _folder(head.location) == folder)
    return next(found, None)


def require_not_renamed(bench: Workbench, table: StreamTable, heads: Mapping[TableName, Pointer]) -> None:
    """SchemaChangedError: a table of its own goes by another name."""
    for published in table.published:
        renamed = renamed_to(published, heads) if bench.pin_of(published.table) is None else None
        if renamed is not None:
            raise SchemaChangedError(
                f"'{published.table}' was renamed to '{renamed}' by plain SQL",
                hint=put_back(published.table, renamed, table.name),
                facts={"stream_table": str(table.name), "renamed_to": str(renamed)},
            )


def put_back(table: TableName, renamed: TableName, stream_table: TableName) -> str:
    """What to do about a table of ours that was renamed."""
    return (
        f"ALTER TABLE {renamed} RENAME TO {table} puts it back; DROP STREAM TABLE {stream_table} gives it up, "
        f"and leaves '{renamed}' as it is"
    )


def _folder(location: str) -> str:
    """Where a table lies, from where its metadata is."""
    return location.rsplit("/", 2)[0]
