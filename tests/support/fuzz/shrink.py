"""A failing case made small: parts of its query, states of its history and rows are left out while it still fails.

Works on sqlglot's trees, so that any query can be shrunk, not only ours. An edit may give a text that means nothing;
such a candidate does not fail in the same way and is dropped. Orders are left alone: a total order must stay one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from sqlglot import exp
from sqlglot.errors import SqlglotError

from spark_trickle.errors import SqlError
from spark_trickle.sql.parse import TrickleSpark, parse_query
from tests.support.fuzz.cases import Case, Outcome, Verdict
from tests.support.fuzz.schema import History, State

Edit = Callable[[exp.Expr], exp.Expr | None]
"""Changes a node in place, or gives the new root."""


class Runs(Protocol):
    """Where a case is tried."""

    def run(self, case: Case) -> Outcome: ...


@dataclass
class Shrinker:
    bench: Runs
    seconds: float = 30.0
    tried: int = 0

    def shrink(self, case: Case, outcome: Outcome) -> Case:
        """The smallest case found in time that fails in the same way."""
        self.until = time.monotonic() + self.seconds
        self.kind = outcome.kind
        while time.monotonic() < self.until:
            before = case
            for candidates in (_histories, _queries, _rows, _sources):
                case = self._descend(case, candidates)
            if case == before:
                break
        return case

    def _descend(self, case: Case, candidates: Callable[[Case], Iterator[Case]]) -> Case:
        found = True
        while found and time.monotonic() < self.until:
            found = False
            for candidate in candidates(case):
                if time.monotonic() > self.until:
                    break
                if self._fails(candidate):
                    case, found = candidate, True
                    break
        return case

    def _fails(self, case: Case) -> bool:
        self.tried += 1
        outcome = self.bench.run(case)
        return outcome.verdict is Verdict.FAILED and outcome.kind == self.kind


def _histories(case: Case) -> Iterator[Case]:
    """With fewer states: up to some, from some on, without one."""
    count = len(case.history)
    for last in range(1, count):
        yield replace(case, history=case.history[:last])
    for place in range(count - 1):
        yield replace(case, history=case.history[:place] + case.history[place + 1 :])


def _rows(case: Case) -> Iterator[Case]:
    """With fewer rows: a table without any, without one row from a state on, one state as the one before."""
    history = case.history
    for name in history[0]:
        if any(state[name] for state in history):
            yield replace(case, history=tuple({**state, name: ()} for state in history))
    for place, state in enumerate(history):
        for name, rows in state.items():
            if place and rows != history[place - 1][name]:
                yield replace(case, history=_with(history, place, name, history[place - 1][name]))
            for row in dict.fromkeys(rows):
                yield replace(case, history=tuple(_less(each, name, row) for each in history))
                yield replace(case, history=_with(history, place, name, _less(state, name, row)[name]))


def _with(history: History, place: int, name: str, rows: tuple[tuple[object, ...], ...]) -> History:
    return tuple({**state, name: rows} if here == place else state for here, state in enumerate(history))


def _less(state: State, name: str, row: tuple[object, ...]) -> State:
    rows = list(state[name])
    if row in rows:
        rows.remove(row)
    return {**state, name: tuple(rows)}


def _sources(case: Case) -> Iterator[Case]:
    for source in case.sources:
        if f"{source.name} " not in case.text and len(case.sources) > 1:
            history = tuple({n: rows for n, rows in state.items() if n != source.name} for state in case.history)
            yield replace(case, sources=tuple(s for s in case.sources if s is not source), history=history)


def _queries(case: Case) -> Iterator[Case]:
    """With one part of the query left out or put in the place of its whole; large parts first."""
    try:
        tree = parse_query(case.text)
    except SqlError:
        return
    nodes = list(tree.walk())
    for place, node in enumerate(nodes):
        for edit in edits(node):
            copy = tree.copy()
            target = next(found for here, found in enumerate(copy.walk()) if here == place)
            try:
                root = edit(target) or copy
                text = root.sql(dialect=TrickleSpark)
            except (SqlglotError, AttributeError, ValueError):
                continue
            if len(text) < len(case.text):
                yield replace(case, text=text)


def edits(node: exp.Expr) -> Iterator[Edit]:
    """Ways to make the query smaller at a node."""
    if node.find_ancestor(exp.Ordered, exp.Order) or isinstance(node, exp.Ordered | exp.Order):
        return
    if node.find_ancestor(exp.Having) and _has_sets(node.find_ancestor(exp.Select) or exp.Select()):
        return
    if isinstance(node, exp.Query) and node.parent is not None:
        yield _alone
    if isinstance(node, exp.SetOperation):
        yield lambda found: _replace(found, found.this)
        yield lambda found: _replace(found, found.expression)
    if isinstance(node, exp.CTE):
        yield _inline
    if isinstance(node, exp.Select):
        yield from _select_edits(node)
    elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
        yield lambda found: _replace(found, exp.Literal.number(1))
    elif (isinstance(node, exp.Window | exp.Filter | exp.Case) or _is_operation(node)) and not _guards_in(node):
        yield from _part_edits(node)


def _is_operation(node: exp.Expr) -> bool:
    kinds = exp.Binary | exp.Unary | exp.Func | exp.Predicate | exp.In | exp.Between
    return isinstance(node, kinds) and not isinstance(node, exp.Query)


def _part_edits(node: exp.Expr) -> Iterator[Edit]:
    """A part in the place of the whole, or a plain value."""
    parts = [child for child in node.iter_expressions() if not isinstance(child, exp.DataType | exp.Order)]
    for place in range(len(parts)):

        def promote(found: exp.Expr, place: int = place) -> None:
            children = [child for child in found.iter_expressions() if not isinstance(child, exp.DataType | exp.Order)]
            part = children[place]
            _replace(found, part.args["true"] if isinstance(part, exp.If) else part)

        yield promote
    if isinstance(node, exp.Connector | exp.Predicate | exp.Not | exp.Exists | exp.In):
        yield lambda found: _replace(found, exp.true())


def _select_edits(node: exp.Select) -> Iterator[Edit]:
    for joins in range(len(node.args.get("joins") or [])):
        yield lambda found, at=joins: _without_relation(found, found.args["joins"][at])  # type: ignore[misc]
    for place in range(len(node.expressions) if len(node.expressions) > 1 else 0):
        yield lambda found, at=place: found.expressions[at].pop() and None  # type: ignore[misc]
    for clause in ("with_", "where", "having", "qualify", "distinct", "offset", "group"):
        if node.args.get(clause) and not (clause == "having" and _has_sets(node)):
            yield lambda found, at=clause: found.set(at, None)  # type: ignore[misc]
    if node.args.get("limit"):
        yield _without_limit
    group = node.args.get("group")
    for place in range(len(group.expressions) if group and len(group.expressions) > 1 else 0):
        yield lambda found, at=place: found.args["group"].expressions[at].pop() and None  # type: ignore[misc]


def _guards_in(node: exp.Expr) -> bool:
    """COALESCE(... IN (query), FALSE) stays, or goes as a whole with what is around it: the engines differ without."""
    found = node if node.name.upper() == "COALESCE" or isinstance(node, exp.Coalesce) else None
    return found is not None and any(each.args.get("query") for each in found.find_all(exp.In))


def _has_sets(node: exp.Select) -> bool:
    """HAVING is kept where DuckDB and Spark differ without it."""
    group = node.args.get("group")
    return group is not None and any(group.args.get(name) for name in ("rollup", "cube", "grouping_sets"))


def _without_limit(found: exp.Expr) -> None:
    for clause in ("limit", "order", "offset"):
        found.set(clause, None)


def _without_relation(select: exp.Expr, join: exp.Expr) -> None:
    """A join goes with everything that names its table."""
    alias = join.this.alias_or_name
    join.pop()
    for column in list(select.find_all(exp.Column)):
        if column.table == alias:
            _drop(select, column)


def _drop(select: exp.Expr, column: exp.Expr) -> None:
    """The smallest thing around a column that can go."""
    node = column
    while node.parent is not None and node is not select:
        parent = node.parent
        if node.arg_key == "expressions" and isinstance(parent, exp.Select | exp.Order | exp.Window | exp.Group):
            node.pop()
            return
        if isinstance(parent, exp.Connector):
            parent.replace(parent.right if node is parent.left else parent.left)
            return
        if isinstance(parent, exp.Where | exp.Having):
            parent.pop()
            return
        node = parent


def _replace(found: exp.Expr, part: exp.Expr) -> exp.Expr | None:
    new = part.copy()
    if found.parent is None:
        return new
    found.replace(new)
    return None


def _alone(found: exp.Expr) -> exp.Expr:
    """An inner query as the whole, with the CTEs that it can see."""
    inner = found.unnest() if isinstance(found, exp.Subquery) else found
    inner = inner.copy()
    outer = found.root().args.get("with_")
    if outer is not None and not inner.args.get("with_") and found.find_ancestor(exp.With) is None:
        inner.set("with_", outer.copy())
    return inner


def _inline(found: exp.Expr) -> None:
    """A CTE's query in the places of its name."""
    assert isinstance(found, exp.CTE)
    holder = found.parent.parent if found.parent else None
    if holder is None:
        return
    for table in list(holder.find_all(exp.Table)):
        if table.name == found.alias and not table.db:
            alias = exp.TableAlias(this=exp.to_identifier(table.alias or table.name))
            table.replace(exp.Subquery(this=found.this.copy(), alias=alias))
    found.pop()
    if not holder.args["with_"].expressions:
        holder.set("with_", None)
