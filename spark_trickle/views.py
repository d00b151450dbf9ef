"""What readers see: status, explanation, the answer to `why`, dependency trees and graphs, and any value as JSON.

Values and pure functions from model values; one value serves the command line, SQL and the web. Nothing is fetched here
and nothing knows a terminal: tables and colours are the command line's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from textwrap import indent
from types import MappingProxyType

from spark_trickle.errors import UserError
from spark_trickle.graph.drawing import Box, drawn
from spark_trickle.holds.fuse_report import FuseCondition, condition
from spark_trickle.html import Shown, Svg
from spark_trickle.model.frontier import Frontier
from spark_trickle.model.standing import Standing
from spark_trickle.model.stream_table import RefreshMode, Status, StreamTable
from spark_trickle.names import TableName


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StreamTableStatus(Shown):
    """One stream table, as `status` lists it."""

    name: str
    status: Status
    status_reason: str | None
    refresh_mode: RefreshMode
    effective_mode: RefreshMode
    schedule: str
    populated: bool
    last_refresh_at: datetime | None
    data_timestamp: datetime | None
    staleness_seconds: float | None
    """How long its sources have had something that it has not: 0, if it has all that they have. Where nobody knows when
    they changed, since its last refresh. None: it holds nothing yet."""
    consecutive_errors: int
    sources: tuple[str, ...]
    frontier: Frontier
    epoch: int
    rows: int | None = None
    """How many it has; None: its metadata is not in a folder of this machine, or does not say."""
    refreshing_since: datetime | None = None
    """It is being refreshed: by the scheduler, wherever that runs, or by this process."""
    scc_id: int | None = None
    """The number of its circle, if it is in one."""
    last_fixpoint_iterations: int | None = None
    fuse: FuseCondition = FuseCondition.DISABLED
    diverged: str | None = None
    """Since when, and by whom, it does not equal its query."""
    held: str | None = None
    """Why the scheduler does not refresh it, as it was last told; `why` knows it as it is now, and what to do."""
    mode_reason: str | None = None
    """Why each refresh computes it whole, if it does."""

    @property
    def said(self) -> str | None:
        """All that is to be said of it besides numbers, nothing twice; None: nothing."""
        blown = "its fuse has blown" if self.fuse is FuseCondition.BLOWN else None
        whole = self.mode_reason if self.refresh_mode is not self.effective_mode else None
        parts = [each for each in (self.status_reason, blown, self.held, self.diverged, whole) if each]
        return "; ".join(each for each in parts if not any(each in other for other in parts if other != each)) or None

    def __repr__(self) -> str:
        return f"StreamTableStatus({self.name!r}: {self.status}, {self.effective_mode}, epoch {self.epoch})"


@dataclass(frozen=True, slots=True)
class Seen:
    """What of a stream table is not in its own row: how far its sources are, and what happens to it now."""

    stale_since: datetime | None
    """None: it has all that its sources have."""
    rows: int | None = None
    refreshing_since: datetime | None = None


def status_of(
    table: StreamTable,
    now: datetime,
    scc_id: int | None = None,
    standing: Standing | None = None,
    seen: Seen | None = None,
) -> StreamTableStatus:
    """What `status` tells of a stream table at a moment. `seen`: what there is to see beside the catalog."""
    refreshed = table.last_refresh_at
    seen = seen or Seen(stale_since=refreshed)
    stale = 0.0 if seen.stale_since is None else max(0.0, (now - seen.stale_since).total_seconds())
    return StreamTableStatus(
        name=str(table.name),
        status=table.status,
        status_reason=table.status_reason,
        refresh_mode=table.options.refresh_mode,
        effective_mode=table.effective_mode,
        schedule=table.options.schedule,
        populated=table.populated,
        last_refresh_at=refreshed,
        data_timestamp=table.data_timestamp,
        staleness_seconds=None if refreshed is None else stale,
        consecutive_errors=table.consecutive_errors,
        sources=tuple(str(source.table) for source in table.sources),
        frontier=table.frontier,
        epoch=table.epoch,
        rows=seen.rows,
        refreshing_since=seen.refreshing_since,
        scc_id=scc_id,
        # What a stream table took while it was in a circle says nothing once it has left it.
        last_fixpoint_iterations=None if scc_id is None else table.fixpoint_iterations,
        fuse=condition(table),
        diverged=None if table.diverged is None else str(table.diverged),
        held=None if standing is None else standing.held,
        mode_reason=table.mode_reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(Shown):
    """How a stream table (or a query, before it is one) is kept."""

    name: str | None
    query: str
    mode: RefreshMode
    reason: str | None
    """Why the mode is FULL, when it is."""
    sources: tuple[str, ...] = ()
    frontier: Frontier = field(default_factory=Frontier)
    diamond_group: tuple[str, ...] = ()
    """Members that are refreshed and published together with it."""
    circle: tuple[str, ...] = ()
    """A way through its circle that ends where it began, if it is in one."""
    diverged: str | None = None
    """Since when, and by whom, it does not equal its query."""
    fuse: str | None = None
    """What its fuse allows, if it has one."""
    watermark_groups: tuple[str, ...] = ()
    """Groups that govern it: two or more of their sources are above it."""
    tree: str = ""
    """The operators, indented."""
    delta_sql: str = ""
    internal_tables: tuple[str, ...] = ()
    meaning: str = ""
    """Where its names are looked up, and the settings that it was defined with."""
    notices: tuple[str, ...] = ()
    suggestion: str | None = None
    """A rewrite that could be kept incrementally, where this one cannot."""

    def __repr__(self) -> str:
        return f"Explanation({self.name or 'a query'!r}: {self.mode})"

    def __str__(self) -> str:
        subject = f"stream table '{self.name}'" if self.name else "this query"
        how = "kept incrementally" if self.mode is not RefreshMode.FULL else "recomputed whole at each refresh"
        lines = [f"{subject} is {how} ({self.mode}){f': {self.reason}' if self.reason else ''}"]
        lines += [f"diverged: {self.diverged}"] if self.diverged else []
        lines += [f"fuse: {self.fuse}"] if self.fuse else []
        lines += [f"suggestion: {self.suggestion}"] if self.suggestion else []
        lines += [f"reads: {', '.join(self.sources)}"] if self.sources else []
        lines += [f"frontier: {self.frontier}"] if self.frontier.pins else []
        lines += [f"diamond group: {', '.join(self.diamond_group)} (published together)"] if self.diamond_group else []
        lines += [f"circle: {' -> '.join(self.circle)} (refreshed until none changes)"] if self.circle else []
        lines += [f"watermark groups: {', '.join(self.watermark_groups)}"] if self.watermark_groups else []
        lines += [f"state tables: {', '.join(self.internal_tables)}"] if self.internal_tables else []
        lines += [f"meaning: {self.meaning}"] if self.meaning else []
        lines += [f"notice: {notice}" for notice in self.notices]
        for title, text in (("query", self.query), ("plan", self.tree), ("delta", self.delta_sql)):
            lines += ["", f"{title}:", indent(text.strip("\n"), "  ")] if text.strip() else []
        return "\n".join(lines)


def explanation_of(
    table: StreamTable, *, diamond_group: Iterable[TableName] = (), circle: Iterable[TableName] = ()
) -> Explanation:
    """What `explain` tells of a stream table; operator tree and delta SQL were rendered when its plan was made."""
    return Explanation(
        name=str(table.name),
        query=table.query,
        mode=table.effective_mode,
        reason=table.mode_reason,
        sources=tuple(str(source.table) for source in table.sources),
        frontier=table.frontier,
        diamond_group=tuple(str(member) for member in diamond_group),
        circle=tuple(str(member) for member in circle),
        tree=table.explanation,
        internal_tables=tuple(str(name) for name in table.internal_tables),
        meaning=str(table.meaning),
        notices=table.notices,
        diverged=None if table.diverged is None else str(table.diverged),
        fuse=None if condition(table) is FuseCondition.DISABLED else f"{table.options.fuse}, {condition(table)}",
    )


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that keeps a stream table from being refreshed."""

    text: str
    next_step: str
    table: str
    """Where it lies: the stream table itself or something above it."""


@dataclass(frozen=True, slots=True, repr=False)
class WhyAnswer(Shown):
    """Every reason why a stream table is not refreshing."""

    name: str
    refreshing: bool
    """Whether nothing stands in its way."""
    reasons: tuple[Reason, ...] = ()
    waits: tuple[Reason, ...] = ()
    """What it waits for at the moment, though nothing is wrong: that it is due, that something changes, a scheduler."""
    mode_reason: str | None = None
    """Why each refresh computes it whole, if it does."""

    def __repr__(self) -> str:
        held = (
            "nothing stands in its way" if self.refreshing else f"{len(self.reasons)} reasons why it is not refreshing"
        )
        return f"WhyAnswer({self.name!r}: {held})"

    def __str__(self) -> str:
        whole = [f"each refresh computes it whole: {self.mode_reason}"] if self.mode_reason else []
        if self.refreshing and not self.waits:
            first = f"nothing stands in the way of '{self.name}': the next tick of the scheduler refreshes it"
            return "\n".join([first, *whole])
        first = f"'{self.name}' is not refreshing:" if self.reasons else f"nothing is wrong with '{self.name}':"
        lines = [first]
        for number, reason in enumerate((*self.reasons, *self.waits), start=1):
            lines += [f"  {number}. {reason.text}", f"     to do: {reason.next_step}"]
        return "\n".join([*lines, *whole])


class GraphFormat(StrEnum):
    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A table in the dependency graph."""

    name: str
    kind: str
    """TABLE, STREAM_TABLE or VIEW."""
    sources: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    """What is to be said beside the name."""


def nodes_of(
    tables: Iterable[StreamTable], marks: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> tuple[GraphNode, ...]:
    """The graph of some stream tables and of all they read, sorted by name."""
    nodes: dict[str, GraphNode] = {}
    for table in tables:
        name = str(table.name)
        nodes[name] = GraphNode(name, "STREAM_TABLE", tuple(str(source.table) for source in table.sources))
        for source in table.sources:
            nodes.setdefault(str(source.table), GraphNode(str(source.table), source.kind))
    marked = (replace(node, marks=marks.get(node.name, ())) for node in nodes.values())
    return tuple(sorted(marked, key=lambda node: node.name))


def dependency_tree(nodes: Sequence[GraphNode], name: str | None = None) -> str:
    """What a table reads, as an indented tree; without a name, one tree for each table that nobody reads.

    A part that was drawn already is not drawn again, so the text is as long as the graph has edges.
    """
    known = {node.name: node for node in nodes}
    if name is not None:
        roots = [name]
    else:
        read = {source for node in nodes for source in node.sources if source != node.name}
        roots = [node.name for node in nodes if node.name not in read]
        # In a circle that nobody else reads everybody is read by somebody: it is drawn from its first name.
        seen = _reached(known, roots)
        for node in nodes:
            if node.name not in seen:
                roots.append(node.name)
                seen |= _reached(known, [node.name])
    lines: list[str] = []
    drawn: set[str] = set()
    # Depth first without recursion: a chain of stream tables may be longer than Python's stack.
    pending = [(root, "", "") for root in reversed(roots)]
    while pending:
        current, lead, below = pending.pop()
        node = known.get(current, GraphNode(current, "TABLE"))
        said = (*(() if node.kind == "STREAM_TABLE" else (node.kind.lower(),)), *node.marks)
        mark = f" ({', '.join(said)})" if said else ""
        again = bool(node.sources) and current in drawn
        lines.append(f"{lead}{current}{mark}{' (drawn above)' if again else ''}")
        if again:
            continue
        drawn.add(current)
        last = len(node.sources) - 1
        children = [
            (source, f"{below}{'└─ ' if i == last else '├─ '}", f"{below}{'   ' if i == last else '│  '}")
            for i, source in enumerate(node.sources)
        ]
        pending.extend(reversed(children))
    return "\n".join(lines)


def _reached(known: Mapping[str, GraphNode], roots: Iterable[str]) -> set[str]:
    """The names, and all that they depend on."""
    found: set[str] = set()
    pending = list(roots)
    while pending:
        if (name := pending.pop()) not in found:
            found.add(name)
            pending += known[name].sources if name in known else ()
    return found


def graph(nodes: Sequence[GraphNode], format: str = GraphFormat.TEXT) -> str:
    """The whole graph as text, a Mermaid flowchart, Graphviz, or a picture (SVG)."""
    if format not in set(GraphFormat):
        raise UserError(f"'{format}' is not a graph format", hint=f"Choose one of: {', '.join(GraphFormat)}")
    match GraphFormat(format):
        case GraphFormat.TEXT:
            return dependency_tree(nodes)
        case GraphFormat.MERMAID:
            return _mermaid(nodes)
        case GraphFormat.DOT:
            return _dot(nodes)
        case GraphFormat.SVG:
            return _svg(nodes)


def _mermaid(nodes: Sequence[GraphNode]) -> str:
    ids = {node.name: f"n{i}" for i, node in enumerate(nodes)}
    lines = ["flowchart TD"]
    for node in nodes:
        label = "<br/>".join([node.name, *node.marks]).replace('"', "#quot;")
        lines.append(
            f'  {ids[node.name]}["{label}"]' if node.kind == "STREAM_TABLE" else f'  {ids[node.name]}[("{label}")]'
        )
    lines += [f"  {ids[source]} --> {ids[node.name]}" for node in nodes for source in node.sources]
    return "\n".join(lines)


def _dot(nodes: Sequence[GraphNode]) -> str:
    def quoted(name: str) -> str:
        return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = ["digraph stream_tables {", "  rankdir=TB;"]
    for node in nodes:
        shape = f"shape={'box' if node.kind == 'STREAM_TABLE' else 'cylinder'}"
        lines_of_label = quoted("\n".join([node.name, *node.marks])).replace("\n", "\\n")
        label = f", label={lines_of_label}" if node.marks else ""
        lines.append(f"  {quoted(node.name)} [{shape}{label}];")
    lines += [f"  {quoted(source)} -> {quoted(node.name)};" for node in nodes for source in node.sources]
    return "\n".join([*lines, "}"])


def _svg(nodes: Sequence[GraphNode]) -> Svg:
    number = {node.name: i for i, node in enumerate(nodes)}
    edges = [(number[source], number[node.name]) for node in nodes for source in node.sources]
    return Svg(drawn([Box(node.name, node.kind, ", ".join(node.marks)) for node in nodes], edges))


def as_json(value: object) -> object:
    """Any value of ours as what `json.dumps` takes: dicts, lists, text, numbers, booleans, None.

    >>> as_json(Reason("late", "wait", "t"))
    {'text': 'late', 'next_step': 'wait', 'table': 't'}
    """
    match value:
        case None | bool() | int() | float():
            return value
        case Enum():
            return as_json(value.value)
        case str() | TableName() | Decimal():
            # Decimals as text: a JSON number would be read as binary floating point.
            return str(value)
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes() | bytearray():
            return value.hex()
        case Mapping():
            return {str(key): as_json(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [as_json(item) for item in value]
        case _ if is_dataclass(value):
            return {f.name: as_json(getattr(value, f.name)) for f in fields(value)}
        case _:
            return str(value)
