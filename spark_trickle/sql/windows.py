"""Window functions: taken out of expressions and put into operators below them, one per way to make partitions.

Where the result depends on which of several equal rows comes first, the order is completed with all other columns that
the query reads: rows that agree on them cannot be told apart. How a function depends on ties is in `ties`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from spark_trickle.sql.functions import bare_call, function_name
from spark_trickle.sql.operators import Item, Operator, Project, Window, column, used
from spark_trickle.sql.ordering import ascending, check_orderable, decides, ordered_columns, shown
from spark_trickle.sql.parse import wrong
from spark_trickle.sql.said import Said, said
from spark_trickle.sql.ties import Ties, numbered, ties, untied, with_plain_names

if TYPE_CHECKING:
    from spark_trickle.sql.build import Builder

_DEFINED = ("partition_by", "order", "spec")


def name_windows(node: exp.Select, text: str) -> None:
    """Put the definitions of the WINDOW clause where its names are used."""
    known: dict[str, exp.Window] = {}
    above: exp.Expr | None = node
    while isinstance(above, exp.Select):
        for entry in above.args.get("windows") or ():
            known.setdefault(entry.this.name.lower(), entry)
        above = _query_around(above)
    for entry in node.args.get("windows") or ():
        _define(entry, known, text)
    clauses = [node.args.get(clause) for clause in ("qualify", "order")]
    for part in [*node.expressions, *(clause for clause in clauses if clause is not None)]:
        for window in part.find_all(exp.Window):
            if window.find_ancestor(exp.Query) is node:
                _define(window, known, text)


def _define(window: exp.Window, known: dict[str, exp.Window], text: str) -> None:
    name = window.args.get("alias")
    if name is None:
        return
    if name.name.lower() not in known:
        raise wrong(text, window, f"there is no window '{name.name}'", hint="Define it in the WINDOW clause")
    window.set("alias", None)
    definition = known[name.name.lower()]
    _define(definition, known, text)  # which may be by another name again, also one that comes later
    for clause in _DEFINED:
        value = definition.args.get(clause)
        if value and not window.args.get(clause):
            window.set(clause, [part.copy() for part in value] if isinstance(value, list) else value.copy())


def _query_around(node: exp.Select) -> exp.Expr | None:
    """The SELECT in whose FROM this one stands: its windows are known here, too."""
    inside = node.parent
    while isinstance(inside, (exp.Subquery, exp.SetOperation, exp.From, exp.Join)):
        inside = inside.parent
    return inside


def has_window(expressions: Iterable[exp.Expr]) -> bool:
    return any(expression.find(exp.Window) is not None for expression in expressions)


def lifted(builder: Builder, operator: Operator, expressions: Sequence[exp.Expr]) -> tuple[Operator, list[exp.Expr]]:
    """The expressions without window functions, over an operator that computes those."""
    lifter = _Lifter(builder, operator, [exp.Paren(this=expression.copy()) for expression in expressions])
    while has_window(lifter.holders):
        lifter.innermost()
    found = [holder.this for holder in lifter.holders]
    for expression in found:
        expression.pop()
    return lifter.operator, found


@dataclass(frozen=True, slots=True)
class _Call:
    """One window function."""

    node: exp.Window
    """As written: what is replaced."""
    function: exp.Expr
    keys: tuple[str, ...]
    order: tuple[exp.Ordered, ...]
    spec: exp.WindowSpec | None
    ties: Ties

    def over(self, function: exp.Expr, order: Iterable[exp.Ordered], spec: exp.WindowSpec | None) -> exp.Window:
        parts = [part.copy() for part in order]
        return exp.Window(
            this=function.copy(),
            partition_by=[column(key) for key in self.keys],
            order=exp.Order(expressions=parts) if parts else None,
            spec=None if spec is None else spec.copy(),
            over="OVER",
        )


@dataclass(slots=True)
class _Lifter:
    builder: Builder
    operator: Operator
    holders: list[exp.Paren]
    named: dict[exp.Expr, str] = field(default_factory=dict)
    """Computed partition keys."""
    told_apart: dict[str, None] = field(default_factory=dict)
    """Results that may differ between rows that are equal otherwise."""

    def innermost(self) -> None:
        """Take out the window functions that contain no other."""
        found = [w for holder in self.holders for w in holder.find_all(exp.Window)]
        nodes = dict.fromkeys(w for w in found if len(list(w.find_all(exp.Window))) == 1)
        calls = [self._call(node) for node in nodes]
        self._compute_keys()
        for keys in dict.fromkeys(frozenset(call.keys) for call in calls):
            same = [call for call in calls if frozenset(call.keys) == keys]
            # Two numberings of equal rows in different orders could be combined in several ways: one comes first,
            # and then the rows differ.
            plain = [call for call in same if call.ties is Ties.NONE]
            tied = [call for call in same if call.ties is not Ties.NONE]
            orders = list(dict.fromkeys(call.order for call in tied))
            first = [call for call in tied if orders and call.order == orders[0]]
            self._stage([*plain, *first])
            for order in orders[1:]:
                self._stage([call for call in tied if call.order == order])

    def _call(self, node: exp.Window) -> _Call:
        here = set(self.operator.columns)  # anything else is the same for all rows
        parts = [part.unnest() for part in node.args.get("partition_by") or () if used(part) & here]
        keys = dict.fromkeys(self._key(part) for part in parts)
        clause = node.args.get("order")
        function, spec = with_plain_names(node.this), node.args.get("spec")
        order = tuple(clause.expressions) if clause is not None else ()
        kind = ties(function, bool(order), spec, self.builder.text)
        covered = ordered_columns(order) | set(keys)
        if kind is not Ties.NONE and decides(self.operator, covered):
            kind = Ties.NONE
        if kind in (Ties.PEERS, Ties.FIRST) and self._needed() <= covered:
            kind = Ties.NONE  # peers are equal in all that is read
        return _Call(node, function, tuple(keys), order, spec, kind)

    def _key(self, expression: exp.Expr) -> str:
        if isinstance(expression, exp.Column):
            return expression.name
        if expression not in self.named:
            self.named[expression.copy()] = self.builder.names.fresh("partition_key")
        return self.named[expression]

    def _compute_keys(self) -> None:
        missing = [Item(name, key) for key, name in self.named.items() if name not in self.operator.columns]
        if missing:
            kept = (Item(name, column(name)) for name in self.operator.columns)
            self.operator = Project(self.operator, (*kept, *missing))

    def _needed(self) -> set[str]:
        """Columns that the rest of the query reads."""
        return {name for holder in self.holders for name in used(holder)} | set(self.told_apart)

    def _stage(self, calls: list[_Call]) -> None:
        """One operator: all calls have the same partitions, those with ties also the same order."""
        if not calls:
            return
        keys = calls[0].keys
        calls = [replace(call, keys=keys) for call in calls]
        needed = self._needed()
        items: list[Item] = []
        peers = [call for call in calls if call.ties is Ties.PEERS]
        for call in calls:
            if call.ties is Ties.PEERS:
                continue
            order = call.order if call.ties is Ties.NONE else (*call.order, *self._rest(call, needed))
            function, spec = untied(call.function, call.spec, call.ties)
            items.append(Item(self._fresh(_wish(call)), call.over(function, order, spec)))
            self._put(call.node, column(items[-1].name))
            if call.ties is not Ties.NONE:
                self.told_apart[items[-1].name] = None
        if peers:
            orders = [(*call.order, *self._rest(call, needed)) for call in peers]
            items.append(Item(self._fresh("row_number"), peers[0].over(_ROW_NUMBER, orders[0], None)))
        self.operator = Window(self.operator, keys, tuple(items), self._said(calls[0]))
        if peers:
            self._by_number(peers, items[-1].name)

    def _by_number(self, calls: list[_Call], number: str) -> None:
        """Calls over peers, by the number of each row."""
        items = []
        for call in calls:
            function, value = numbered(call.function, number, call.spec, self.builder.text)
            items.append(Item(self._fresh(_wish(call)), call.over(function, call.order, call.spec)))
            self._put(call.node, value(column(items[-1].name)))
        self.operator = Window(self.operator, calls[0].keys, tuple(items), self._said(calls[0]))

    def _said(self, call: _Call) -> Said:
        name = f"{function_name(bare_call(call.function)).upper()}(...) OVER"
        return said(self.builder.text, call.node, name, keyword="OVER")

    def _rest(self, call: _Call, needed: set[str]) -> list[exp.Ordered]:
        """What completes the order of a call: the other columns that somebody reads."""
        covered = ordered_columns(call.order) | set(call.keys)
        computed = set(self.named.values())
        names = [n for n in self.operator.columns if n in needed and n not in covered and n not in computed]
        written = f"{call.function.sql(dialect='spark')} OVER ({_shown_order(call)})".replace("`", "")
        check_orderable(self.operator, names, self.builder.text, written, "OVER")
        said = [name for name in names if name not in self.told_apart]
        if said:
            what = "does not decide ties" if call.order else "depends on the order of rows"
            self.builder.completions.append(f"{written} {what}: rows are further ordered by {', '.join(said)}")
        return [ascending(name) for name in names]

    def _fresh(self, wish: str) -> str:
        return self.builder.names.fresh(wish)

    def _put(self, node: exp.Window, value: exp.Expr) -> None:
        for holder in self.holders:
            for found in [w for w in holder.find_all(exp.Window) if w == node]:
                found.replace(value.copy())


_ROW_NUMBER = exp.Anonymous(this="row_number", expressions=[])


def _wish(call: _Call) -> str:
    function = bare_call(call.function)
    return "_".join([function_name(function), *sorted(used(function))[:1]])


def _shown_order(call: _Call) -> str:
    return f"ORDER BY {shown(call.order)}" if call.order else ""
