"""What the page of one stream table says. Values, and the one function that puts them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_trickle.conditions import GRACE, State
from spark_trickle.grouping import GroupStatus
from spark_trickle.lag import Freshness, freshness
from spark_trickle.metadata_files import Column, TableMetadata
from spark_trickle.model.frontier import Pin, commit_number
from spark_trickle.model.intervention import Intervention
from spark_trickle.model.refresh import HistoryRow
from spark_trickle.model.stream_table import Options, StreamTable
from spark_trickle.names import TableName
from spark_trickle.serve.next_steps import Offer, offers
from spark_trickle.serve.overview import TableRow, table_rows
from spark_trickle.sla import Sla
from spark_trickle.views import Explanation, Reason, StreamTableStatus, WhyAnswer
from spark_trickle.watching import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceVersion:
    """One source in the frontier."""

    source: str
    kind: str
    """TABLE, STREAM_TABLE or VIEW."""
    state: State | None
    """Of a stream table."""
    snapshot_id: str | None
    """As text: browsers round numbers of this size."""
    snapshot_at: datetime | None
    """None: it has expired, or its metadata cannot be read here."""
    snapshots_behind: int | None
    versions_behind: int | None
    """In metadata files, where snapshots are not known; None: that is not known either."""
    exists: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """One sentence of `why`, and what can be done about it here."""

    text: str
    next_step: str
    table: str
    offers: tuple[Offer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePage:
    now: datetime
    row: TableRow
    status: StreamTableStatus
    query: str
    mode_reason: str | None
    meaning: str
    created_at: datetime
    options: Options
    frontier: tuple[SourceVersion, ...]
    columns: tuple[Column, ...]
    rows: int | None
    """How many there are, where the table says so itself."""
    refreshing: bool
    """Whether nothing stands in its way."""
    reasons: tuple[Advice, ...]
    waits: tuple[Advice, ...]
    explanation: Explanation
    group: GroupStatus | None
    readers: tuple[TableRow, ...]
    freshness: Freshness
    sla: Sla
    history: tuple[HistoryRow, ...]
    interventions: tuple[Intervention, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is asked elsewhere for the page of a table."""

    status: StreamTableStatus
    why: WhyAnswer
    explanation: Explanation
    group: GroupStatus | None
    history: tuple[HistoryRow, ...]
    interventions: tuple[Intervention, ...]
    sla: Sla


def table_page(
    name: TableName, moment: Moment, found: Found, metadata: Callable[[str], TableMetadata | None]
) -> TablePage:
    table, heads = moment.tables[name], moment.known.cut.pointers
    rows = {row.name: row for row in table_rows(moment)}

    def metadata_of(source: TableName) -> TableMetadata | None:
        return metadata(heads[source].location) if source in heads else None

    own = metadata_of(name)
    rhythm = moment.board.rhythms[name]
    return TablePage(
        now=moment.now,
        row=rows[str(name)],
        status=found.status,
        query=table.query,
        mode_reason=table.mode_reason,
        meaning=str(table.meaning),
        created_at=table.created_at,
        options=table.options,
        frontier=_versions(table, moment, rows, metadata_of),
        columns=() if own is None else own.columns,
        rows=None if own is None else own.rows,
        refreshing=found.why.refreshing,
        reasons=_advice(found.why.reasons),
        waits=_advice(found.why.waits),
        explanation=found.explanation,
        group=found.group,
        readers=tuple(rows[str(reader)] for reader in moment.board.readers.get(name, ())),
        freshness=freshness(found.history, metadata_of, _promised(rhythm.interval, rhythm.declared), GRACE),
        sla=found.sla,
        history=found.history,
        interventions=found.interventions,
    )


def _promised(interval: timedelta | None, declared: bool) -> timedelta | None:
    return interval if declared else None


def _versions(
    table: StreamTable,
    moment: Moment,
    rows: dict[str, TableRow],
    metadata_of: Callable[[TableName], TableMetadata | None],
) -> tuple[SourceVersion, ...]:
    heads = moment.known.cut.pointers
    kinds = {source.table: source.kind for source in table.sources}
    pins: dict[TableName, Pin | None] = dict.fromkeys(kinds)
    pins.update({pin.table: pin for pin in table.frontier.pins})
    made = []
    for source, pin in pins.items():
        known = metadata_of(source)
        head = heads.get(source)
        row = rows.get(str(source))
        snapshot = None if pin is None else pin.snapshot_id
        behind = None if pin is None or known is None else known.behind(snapshot)
        made.append(
            SourceVersion(
                source=str(source),
                kind="STREAM_TABLE" if source in moment.tables else kinds.get(source, "TABLE"),
                state=None if row is None else row.state,
                snapshot_id=None if pin is None or pin.version is None else str(pin.version),
                snapshot_at=None if known is None else known.at(snapshot),
                snapshots_behind=behind,
                versions_behind=None if pin is None or head is None else _versions_between(pin.location, head.location),
                exists=head is not None,
            )
        )
    return tuple(made)


def _versions_between(ours: str, newest: str) -> int | None:
    if ours == newest:
        return 0
    before, after = commit_number(ours), commit_number(newest)
    return after - before if 0 <= before < after else None


def _advice(reasons: Sequence[Reason]) -> tuple[Advice, ...]:
    return tuple(Advice(each.text, each.next_step, each.table, offers(each)) for each in reasons)
