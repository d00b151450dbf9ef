"""Generated SQL as DuckDB reads it: one copy of the tree, changed in place and written out.

Most of the time of a random case goes into trees, so none is copied twice here.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.delta.plan import TARGET
from spark_trickle.sql.leaves import KeyRange, Leaf, Version, leaf_at, leaf_table

_SPARK_TYPES = {
    "TINYINT": "tinyint", "SMALLINT": "smallint", "INTEGER": "int", "BIGINT": "bigint", "HUGEINT": "decimal(38,0)",
    "DOUBLE": "double", "FLOAT": "float", "VARCHAR": "string", "BOOLEAN": "boolean",
    "DATE": "date", "TIMESTAMP": "timestamp_ntz",
}  # fmt: skip
_MORE_THAN_ROWS = ("group", "having", "distinct", "limit", "offset", "qualify", "with_")
_WORDS = {"sequence": "GENERATE_SERIES", "raise_error": "ERROR"}


def spark_type(kind: str) -> str:
    """DuckDB's type in Spark's words."""
    if kind.startswith("DECIMAL"):
        return kind.lower().replace(" ", "")
    if kind.endswith("[]"):
        return f"array<{spark_type(kind[:-2])}>"
    return _SPARK_TYPES.get(kind, kind.lower())


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'::DOUBLE" if isinstance(value, float) else f"'{value}'"


def duck_sql(query: exp.Expr, target: Leaf = TARGET, *, copy: bool = True) -> str:
    """The text; `step.target` is the table that is kept. A tree that nobody needs any more needs no copy."""
    return in_duckdb(query.copy() if copy else query, target).sql(dialect="duckdb", copy=False)


def with_word_all(query: exp.Expr) -> exp.Expr:
    """ORDER BY ALL is no name here: no table of these tests has such a column."""
    for word in list(query.find_all(exp.Column)):
        if word.name == "ALL" and isinstance(word.parent, exp.Ordered):
            word.replace(exp.Var(this="ALL"))
    return query


def in_duckdb(query: exp.Expr, target: Leaf = TARGET) -> exp.Expr:
    """Spark's generators, bounds of ranges and the target in DuckDB's words; the tree is changed."""
    # From the inside to the outside: what a call is replaced with holds its operands, which are done by then.
    for node in reversed(list(query.walk())):
        if isinstance(node, (exp.Anonymous, KeyRange)):
            put = _call(node)
            if put is not node:
                query = put if node is query else query
                node.replace(put)
        elif leaf_at(node) == (Version.AFTER, TARGET):
            for part in ("this", "db"):
                node.set(part, leaf_table(target).args[part])
        elif isinstance(node, exp.Select) and node.args.get("laterals"):
            _join_laterals(node)
        elif isinstance(node, exp.IgnoreNulls):
            node.replace(_ignoring_nulls(node.this))
        elif isinstance(node, exp.Exists) and _is_value(node):
            node.replace(_counted(node))
        elif isinstance(node, exp.In) and isinstance(node.this.unnest(), exp.Tuple) and node.args.get("query"):
            node.replace(_compared(node))
    return query


def _call(call: exp.Anonymous | KeyRange) -> exp.Expr:
    if isinstance(call, KeyRange):
        return _bounds(call)
    name = call.name.lower()
    if name == "array":
        return exp.Array(expressions=call.expressions)
    if name == "try_sum":
        return exp.Sum(this=call.expressions[0])
    if name == "try_multiply":
        return exp.Mul(this=call.expressions[0], expression=call.expressions[1])
    return exp.Anonymous(this=_WORDS[name], expressions=call.expressions) if name in _WORDS else call


def _bounds(within: KeyRange) -> exp.Expr:
    """Bounds of the changed values in the place of a key range, as the executor puts them there."""
    rows = leaf_table(within.rows, Version.CHANGES)
    bound = exp.column(exp.to_identifier(within.column, quoted=True))
    low, high = (exp.select(kind(this=bound.copy())).from_(rows.copy()).subquery() for kind in (exp.Min, exp.Max))
    between = exp.Between(this=within.this, low=low, high=high)
    if not within.nulls:
        return between
    without = exp.select(exp.Count(this=exp.Star())).from_(rows.copy()).where(exp.Is(this=bound, expression=exp.Null()))
    any_null = exp.GT(this=without.subquery(), expression=exp.Literal.number(0))
    return exp.paren(between.or_(exp.and_(exp.Is(this=within.this.copy(), expression=exp.Null()), any_null)))


def _ignoring_nulls(call: exp.Expr) -> exp.Expr:
    """DuckDB says it behind the last operand; sqlglot would leave it out, as our dialect names no function."""
    *first, last = call.expressions
    told = exp.Var(this=f"{last.sql(dialect='duckdb')} IGNORE NULLS")
    return exp.Anonymous(this=call.name, expressions=[*first, told])


def _is_value(node: exp.Exists) -> bool:
    """Is it computed with? A condition of WHERE is not."""
    above = node.parent
    while isinstance(above, (exp.And, exp.Not, exp.Paren)):
        above = above.parent
    return not isinstance(above, exp.Where)


def _counted(node: exp.Exists) -> exp.Expr:
    """Rows are counted: DuckDB 1.5's EXISTS as a value is true for `a = x AND b <> y` where `b` of outside is NULL."""
    query = node.this
    if not isinstance(query, exp.Select) or any(query.args.get(clause) for clause in _MORE_THAN_ROWS):
        return node
    if not all(isinstance(each.unalias(), (exp.Literal, exp.Column)) for each in query.expressions):
        return node
    query.set("expressions", [exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))])
    return exp.Subquery(this=query)


def _compared(node: exp.In) -> exp.Expr:
    """Rows of several columns are compared column by column: DuckDB 1.5's IN is NULL for (1, NULL) among (2, 3), and
    refuses some.
    """
    parts = node.this.unnest().expressions
    names = [f"in_{place}" for place in range(len(parts))]
    same = exp.and_(*(exp.EQ(this=part.copy(), expression=exp.column(n)) for part, n in zip(parts, names, strict=True)))
    is_null = exp.Is(this=exp.Paren(this=same.copy()), expression=exp.Null())
    either, unknown = (exp.Anonymous(this="BOOL_OR", expressions=[each]) for each in (same, is_null))
    found = exp.case().when(either, exp.true()).when(unknown, exp.null()).else_(exp.false())
    alias = exp.TableAlias(this=exp.to_identifier("in_rows"), columns=[exp.to_identifier(name) for name in names])
    rows = exp.Subquery(this=node.args["query"].unnest(), alias=alias)
    return exp.Subquery(this=exp.Select(expressions=[found]).from_(rows))


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
