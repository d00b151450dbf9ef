"""`sla`: reads what `sla.py` counts. The catalog and metadata files of this machine, nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from spark_trickle.catalog.catalog import Catalog
from spark_trickle.metadata_files import TableMetadata
from spark_trickle.names import TableName, no_stream_table
from spark_trickle.sla import WEEK, Sla, rows_each, sla_of
from spark_trickle.watching import Moment


def slas(names: Iterable[TableName] | None, moment: Moment, catalog: Catalog) -> list[Sla]:
    """Of these stream tables, or of all, by name. NotFoundError: one does not exist."""
    wanted = sorted(moment.tables if names is None else names)
    heads = moment.known.cut.pointers

    def metadata_of(source: TableName) -> TableMetadata | None:
        return moment.files(heads[source].location) if source in heads else None

    for name in wanted:
        if name not in moment.tables:
            raise no_stream_table(name, moment.tables)
    most = rows_each(len(wanted))
    with catalog.read() as conn:
        rows = {name: catalog.publications(name, moment.now - WEEK, most, conn) for name in wanted}
    return [
        sla_of(str(name), moment.board.rhythms[name], rows[name], moment.conditions.get(name), metadata_of, moment.now)
        for name in wanted
    ]
