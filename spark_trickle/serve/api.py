"""What can be read through HTTP, as one table: addresses, their parameters, the type of the answer and who gives it.

The values are those that the command line shows; a few more are made for the page. Routes and the OpenAPI document are
both made of this table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spark_trickle.circles import SccStatus
from spark_trickle.engine import Engine
from spark_trickle.errors import UserError
from spark_trickle.grouping import GroupStatus
from spark_trickle.holds.fuse_report import FuseStatus
from spark_trickle.holds.gate_report import BootstrapGateStatus
from spark_trickle.holds.watermark_report import SourceWatermark, WatermarkStatus
from spark_trickle.measuring import slas
from spark_trickle.model.gate import GateEvent
from spark_trickle.model.intervention import Intervention
from spark_trickle.model.refresh import HistoryRow
from spark_trickle.names import TableName, no_stream_table
from spark_trickle.serve.graph_view import GraphView, Wanted, graph_view
from spark_trickle.serve.jobs import Job, Jobs
from spark_trickle.serve.overview import Overview, Reports, TableRow, overview, table_rows
from spark_trickle.serve.recent import RecentHistory
from spark_trickle.serve.reports import Reporter
from spark_trickle.serve.table_page import Found, TablePage, table_page
from spark_trickle.sla import Sla
from spark_trickle.views import Explanation, StreamTableStatus, WhyAnswer
from spark_trickle.watching import Moment

MOST_ROWS = 1000
_ON_A_PAGE = 200


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    description: str
    kind: type = str
    required: bool = False
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What a request asks for, checked against the parameters of its address."""

    name: TableName | None = None
    limit: int = 20
    fold: bool | None = None
    open: tuple[str, ...] = ()

    @property
    def table(self) -> TableName:
        if self.name is None:
            raise UserError("the parameter `name` is missing", hint="Name a stream table")
        return self.name


@dataclass(frozen=True, slots=True)
class Pulse:
    """What is cheap to ask for every second: where it has moved, the rest is asked for again."""

    stamp: str
    """Another one after any commit to the catalog."""
    generation: int
    """Advances when a stream table is made, altered or dropped, and when a gate moves."""
    jobs: tuple[Job, ...]
    """Those that are not over, newest first."""


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    value: str
    """Without secrets."""
    origin: str


class Api:
    """What answers."""

    def __init__(self, engine: Engine, jobs: Jobs) -> None:
        self.engine = engine
        self.watch = engine.watch
        self.jobs = jobs
        self._recent = RecentHistory(engine.watch)
        self._looking = threading.Lock()
        self._seen: tuple[object, Overview] | None = None

    def moment(self) -> Moment:
        return self.watch.moment(self.jobs.refreshing())

    def reporter(self, moment: Moment | None = None) -> Reporter:
        return Reporter(moment or self.moment(), self.watch.catalog, self.engine.settings)

    def pulse(self, _query: Query) -> Pulse:
        going_on = tuple(job for job in self.jobs.all() if not job.over)
        return Pulse(self.watch.stamp(), self.watch.catalog.generation(), going_on)

    def sla(self, query: Query) -> list[Sla] | Sla:
        names = None if query.name is None else [query.name]
        found = slas(names, self.moment(), self.watch.catalog)
        return found if names is None else found[0]

    def overview(self, _query: Query) -> Overview:
        """Many may look every second: they share what was made for the first of them."""
        key = (self.watch.stamp(), self.jobs.refreshing(), int(self.watch.clock.now().timestamp()))
        with self._looking:
            if self._seen is None or self._seen[0] != key:
                self._seen = (key, self._overview())
            return self._seen[1]

    def _overview(self) -> Overview:
        moment = self.moment()
        told = self.reporter(moment)
        reports = Reports(
            activity=self._recent(),
            gates=tuple(told.bootstrap_gate_status()),
            watermark_groups=tuple(told.watermark_status()),
            fuses=tuple(told.fuse_status()),
            circles=tuple(told.scc_status()),
            groups=tuple(told.groups()),
            interventions=self.watch.catalog.interventions(limit=10),
        )
        return overview(moment, reports)

    def tables(self, _query: Query) -> list[TableRow]:
        return table_rows(self.moment())

    def table(self, query: Query) -> TablePage:
        moment, name = self.moment(), query.table
        if name not in moment.tables:
            raise no_stream_table(name, moment.tables)
        told = self.reporter(moment)
        found = Found(
            status=told.status(name),
            why=told.why(name),
            explanation=told.explain(name),
            group=next((each for each in told.groups() if str(name) in each.members), None),
            history=self.watch.catalog.history(name, _ON_A_PAGE),
            sla=slas([name], moment, self.watch.catalog)[0],
            interventions=self.watch.catalog.interventions(str(name), 20),
        )
        return table_page(name, moment, found, self.watch.files)

    def graph(self, query: Query) -> GraphView:
        return graph_view(self.moment(), Wanted(query.name, query.fold, frozenset(query.open)))

    def status(self, query: Query) -> Any:
        told = self.reporter()
        return told.all_status() if query.name is None else told.status(query.name)

    def why(self, query: Query) -> WhyAnswer:
        return self.reporter().why(query.table)

    def explain(self, query: Query) -> Explanation:
        return self.reporter().explain(query.table)

    def history(self, query: Query) -> list[HistoryRow]:
        return list(self.watch.catalog.history(query.name, query.limit))

    def interventions(self, query: Query) -> list[Intervention]:
        subject = None if query.name is None else str(query.name)
        return list(self.watch.catalog.interventions(subject, query.limit))

    def gates(self, _query: Query) -> list[BootstrapGateStatus]:
        return self.reporter().bootstrap_gate_status()

    def gate_history(self, query: Query) -> list[GateEvent]:
        return self.engine.gate_history(None if query.name is None else query.name.sql, query.limit)

    def watermarks(self, _query: Query) -> list[SourceWatermark]:
        return self.engine.watermarks()

    def watermark_groups(self, _query: Query) -> list[WatermarkStatus]:
        return self.reporter().watermark_status()

    def fuses(self, _query: Query) -> list[FuseStatus]:
        return self.reporter().fuse_status()

    def groups(self, _query: Query) -> list[GroupStatus]:
        return self.reporter().groups()

    def circles(self, _query: Query) -> list[SccStatus]:
        return self.reporter().scc_status()

    def settings(self, _query: Query) -> list[Setting]:
        settings = self.engine.settings
        return [Setting(key, settings.shown(key), settings.origin(key)) for key in type(settings).model_fields]

    def actions(self, _query: Query) -> list[Job]:
        return self.jobs.all()


NAME = Parameter("name", "a table, as `name` or `namespace.name`; parts with anything odd in them are quoted with `")
THE_NAME = Parameter(NAME.name, NAME.description, required=True)
LIMIT = Parameter("limit", f"at most so many rows, from 1 to {MOST_ROWS}; 20 unless it is said", int)
FOLD = Parameter("fold", "`true` or `false`: one box for each namespace; if left out, where there are many tables")
OPEN = Parameter("open", "a namespace that is not folded; may be repeated", repeated=True)


@dataclass(frozen=True, slots=True)
class Endpoint:
    path: str
    """After /api/v1."""
    summary: str
    answer: Any
    """The type of what it gives."""
    read: Callable[[Api, Query], object]
    parameters: tuple[Parameter, ...] = ()


ENDPOINTS: Sequence[Endpoint] = (
    Endpoint("/pulse", "Whether anything has changed, and what is being done.", Pulse, Api.pulse),
    Endpoint("/overview", "How the whole lake is doing.", Overview, Api.overview),
    Endpoint("/tables", "How each stream table is doing, in one word.", list[TableRow], Api.tables),
    Endpoint("/table", "Everything about one stream table.", TablePage, Api.table, (THE_NAME,)),
    Endpoint("/graph", "Who reads whom, and where to draw it.", GraphView, Api.graph, (NAME, FOLD, OPEN)),
    Endpoint(
        "/status",
        "What `trickle status` shows: a list, or one with a name.",
        list[StreamTableStatus] | StreamTableStatus,
        Api.status,
        (NAME,),
    ),
    Endpoint("/why", "Why a stream table is not refreshing, and what to do.", WhyAnswer, Api.why, (THE_NAME,)),
    Endpoint("/explain", "How a stream table is kept.", Explanation, Api.explain, (THE_NAME,)),
    Endpoint("/history", "The last refreshes, newest first.", list[HistoryRow], Api.history, (NAME, LIMIT)),
    Endpoint("/sla", "How often schedules were kept; a list, or one with a name.", list[Sla] | Sla, Api.sla, (NAME,)),
    Endpoint(
        "/interventions",
        "What people did through the page and the API, newest first.",
        list[Intervention],
        Api.interventions,
        (NAME, LIMIT),
    ),
    Endpoint("/gates", "Gates, and whom they hold.", list[BootstrapGateStatus], Api.gates),
    Endpoint("/gate-history", "Who moved which gate when.", list[GateEvent], Api.gate_history, (NAME, LIMIT)),
    Endpoint("/watermarks", "How far each source is.", list[SourceWatermark], Api.watermarks),
    Endpoint("/watermark-groups", "How far groups are apart.", list[WatermarkStatus], Api.watermark_groups),
    Endpoint("/fuses", "What each fuse allows, and whether it has blown.", list[FuseStatus], Api.fuses),
    Endpoint("/groups", "What is published together.", list[GroupStatus], Api.groups),
    Endpoint("/circles", "Stream tables that read each other.", list[SccStatus], Api.circles),
    Endpoint("/settings", "All settings, without secrets.", list[Setting], Api.settings),
    Endpoint("/actions", "What was asked for lately, newest first.", list[Job], Api.actions),
)


def query_of(endpoint: Endpoint, given: Sequence[tuple[str, str]]) -> Query:
    """Check the parameters of a request. UserError: one of them is wrong."""
    known = {parameter.name: parameter for parameter in endpoint.parameters}
    values: dict[str, Any] = {}
    for key, text in given:
        if key not in known:
            raise UserError(f"'{key}' is not a parameter here", hint=f"There are: {', '.join(known) or 'none'}")
        if known[key].repeated:
            values[key] = (*values.get(key, ()), text)
        elif key in values:
            raise UserError(f"the parameter '{key}' is given twice")
        else:
            values[key] = _value(key, text)
    for parameter in endpoint.parameters:
        if parameter.required and parameter.name not in values:
            raise UserError(f"the parameter '{parameter.name}' is missing", hint=f"It is {parameter.description}")
    return Query(**values)


def _value(key: str, text: str) -> object:
    match key:
        case "name":
            return TableName.parse(text)
        case "limit":
            if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST_ROWS):
                raise UserError(f"limit cannot be '{text}'", hint=f"It is a number from 1 to {MOST_ROWS}")
            return int(text)
        case "fold":
            if text not in ("true", "false"):
                raise UserError(f"fold cannot be '{text}'", hint="It is true or false")
            return text == "true"
        case _:
            return text
