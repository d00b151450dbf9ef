"""Which tables a text names, and what is left of a UNION without the branches that read some of them. Pure.

It tells the columns of stream tables that are made together and read each other: those of the branches that read no
other are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from spark_trickle.errors import SqlError
from spark_trickle.sql.parse import parse_query

Names = Callable[[tuple[str, ...]], bool]
"""Whether a name, in its parts, is one of those that are asked for."""


def named(query: str) -> frozenset[tuple[str, ...]]:
    """The names of tables in a query, in their parts; nothing where only Spark can read it."""
    try:
        tree = parse_query(query)
    except SqlError:
        return frozenset()
    return frozenset(_tables(tree, {entry.alias.lower() for entry in tree.find_all(exp.CTE)}))


def without(query: str, names: Names) -> str | None:
    """The query without the branches of a UNION that read one of the names; None: nothing is left of it."""
    tree = parse_query(query)
    clause = tree.args.get("with_")
    entries = {entry.alias.lower(): entry for entry in clause.expressions} if clause is not None else {}
    known = frozenset(entries)
    reading = {name for name, entry in entries.items() if any(map(names, _tables(entry, known)))}
    while more := {
        n for n in known - reading if any(t.name.lower() in reading for t in entries[n].find_all(exp.Table))
    }:
        reading |= more

    def reads(node: exp.Expr) -> bool:
        inside = any(not t.db and t.name.lower() in reading for t in node.find_all(exp.Table))
        return inside or any(map(names, _tables(node, known)))

    left = _left(tree.copy(), reads)
    if left is None:
        return None
    kept = [entries[name] for name in entries if name not in reading]
    if kept and clause is not None:
        left.set("with_", exp.With(expressions=kept, recursive=clause.args.get("recursive")))
    return left.sql(dialect="spark")


def _left(node: exp.Expr, reads: Callable[[exp.Expr], bool]) -> exp.Query | None:
    node.set("with_", None)
    if isinstance(node, exp.Subquery):
        return _left(node.this, reads)
    if not isinstance(node, exp.Union):
        return None if reads(node) or not isinstance(node, exp.Query) else node
    first, second = _left(node.this, reads), _left(node.expression, reads)
    if first is not None and second is not None:
        return exp.union(first, second, distinct=False, copy=False)
    if first is not None or second is None:
        return first
    names = node.this.named_selects
    if not names or "*" in names or "" in names:
        return second
    alias = exp.TableAlias(
        this=exp.to_identifier("branch"), columns=[exp.to_identifier(name, quoted=True) for name in names]
    )
    return exp.select("*").from_(exp.Subquery(this=second, alias=alias), copy=False)


def _tables(node: exp.Expr, entries: frozenset[str] | set[str]) -> Iterator[tuple[str, ...]]:
    for table in node.find_all(exp.Table):
        parts = tuple(part.name for part in table.parts)
        if len(parts) > 1 or parts[0].lower() not in entries:
            yield parts
