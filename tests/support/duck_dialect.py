"""Generated SQL as DuckDB reads it: one copy of the tree, changed in place and written out.

Most of the time of a random case goes into trees, so none is copied twice here.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.plan import bounded_by
from spark_trickle.delta.ranges import KEY_RANGE

_WORDS = {"sequence": "GENERATE_SERIES", "raise_error": "ERROR"}


def duck_sql(query: exp.Expr, target: str = "", *, copy: bool = True) -> str:
    """The text; `step.target` is the table that is kept. A tree that nobody needs any more needs no copy."""
    return in_duckdb(query.copy() if copy else query, target).sql(dialect="duckdb", copy=False)


def in_duckdb(query: exp.Expr, target: str = "") -> exp.Expr:
    """Spark's generators, bounds of ranges and the target in DuckDB's words; the tree is changed."""
    # From the inside to the outside: what a call is replaced with holds its operands, which are done by then.
    for node in reversed(list(query.walk())):
        if isinstance(node, exp.Anonymous):
            put = _call(node)
            if put is not node:
                query = put if node is query else query
                node.replace(put)
        elif isinstance(node, exp.Table):
            if target and node.name == "target" and node.db == "step":
                node.set("this", exp.to_identifier(target, quoted=True))
                node.set("db", exp.to_identifier("after"))
        elif isinstance(node, exp.Select) and node.args.get("laterals"):
            _join_laterals(node)
    return query


def _call(call: exp.Anonymous) -> exp.Expr:
    name = call.name.lower()
    if name == "array":
        return exp.Array(expressions=call.expressions)
    if name == KEY_RANGE:
        return _bounds(call)
    return exp.Anonymous(this=_WORDS[name], expressions=call.expressions) if name in _WORDS else call


def _bounds(call: exp.Anonymous) -> exp.Expr:
    """Bounds of the changed values in the place of `key_range`, as the executor puts them there."""
    key, source, column = call.expressions
    changes = exp.table_(source.name, db=bounded_by(source.name).value, quoted=True)
    bound = exp.column(exp.to_identifier(column.name, quoted=True))
    low, high = (exp.select(kind(this=bound.copy())).from_(changes.copy()).subquery() for kind in (exp.Min, exp.Max))
    return exp.Between(this=key, low=low, high=high)


def _join_laterals(select: exp.Select) -> None:
    for view in select.args.pop("laterals"):
        names = [found.name for found in view.args["alias"].args["columns"]]
        made = zip(_unnested(view.this), names, strict=True)
        rows = exp.select(*(exp.alias_(v, n, quoted=True) for v, n in made))
        alias = exp.TableAlias(this=view.args["alias"].this)
        lateral = exp.Lateral(this=exp.Subquery(this=rows), alias=alias)
        join = exp.Join(this=lateral, kind="CROSS")
        if view.args.get("outer"):
            join = exp.Join(this=lateral, side="LEFT", on=exp.true())
        select.append("joins", join)


def _unnested(call: exp.Expr) -> list[exp.Expr]:
    name, (array, *_) = call.name.lower(), call.expressions
    unnest = exp.Anonymous(this="UNNEST", expressions=[array.copy()])
    if name == "explode":
        return [unnest]
    if name == "posexplode":
        places = exp.Anonymous(this="RANGE", expressions=[exp.Anonymous(this="LEN", expressions=[array.copy()])])
        return [exp.Anonymous(this="UNNEST", expressions=[places]), unnest]
    raise NotImplementedError(name)
