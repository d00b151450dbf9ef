"""What is known about functions: which are aggregates, which of those depend on the order of rows, and how Spark
names a column.
"""

from __future__ import annotations

from sqlglot import exp

ALGEBRAIC = frozenset({"count", "sum", "avg", "mean", "min", "max"})
"""Aggregates whose change can be merged into their value."""

RECOMPUTABLE = frozenset(
    [
        "any",
        "approx_count_distinct",
        "approx_percentile",
        "percentile_approx",
        "bit_and",
        "bit_or",
        "bit_xor",
        "bool_and",
        "bool_or",
        "every",
        "some",
        "corr",
        "count_if",
        "covar_pop",
        "covar_samp",
        "kurtosis",
        "max_by",
        "min_by",
        "median",
        "percentile",
        "regr_avgx",
        "regr_avgy",
        "regr_count",
        "regr_intercept",
        "regr_r2",
        "regr_slope",
        "regr_sxx",
        "regr_sxy",
        "regr_syy",
        "skewness",
        "std",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "try_avg",
        "try_sum",
        "var_pop",
        "var_samp",
        "variance",
        "hll_sketch_agg",
        "bitmap_construct_agg",
        "bitmap_or_agg",
        "product",
        "logical_and",
        "logical_or",
    ]
)
"""Aggregates that depend on nothing but the rows of a group: kept by computing the group again."""

ORDER_SENSITIVE = {
    "first": "Use min, max, or max_by with a column that orders the rows",
    "first_value": "Use min, max, or max_by with a column that orders the rows",
    "last": "Use max_by with a column that orders the rows",
    "last_value": "Use max_by with a column that orders the rows",
    "any_value": "Use min or max",
    "mode": "Ties make it ambiguous; count per value and take max_by instead",
    "collect_list": "Write sort_array(collect_list(...))",
    "array_agg": "Write sort_array(array_agg(...))",
    "collect_set": "Write sort_array(collect_set(...))",
    "listagg": "Write array_join(sort_array(collect_list(...)), ',')",
    "string_agg": "Write array_join(sort_array(collect_list(...)), ',')",
    "histogram_numeric": "It depends on the order of rows",
    "count_min_sketch": "It depends on a seed",
    "grouping": "It belongs to GROUPING SETS",
    "grouping_id": "It belongs to GROUPING SETS",
}

_COLLECTS = frozenset({"collect_list", "collect_set", "array_agg"})
_ORDERING = frozenset({"sort_array", "array_sort", "size", "array_size", "cardinality"})
"""Around a collected array, these make its order irrelevant (array_sort and sort_array with one or two arguments)."""
_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)


def function_name(node: exp.Expr) -> str:
    """The name of a function call, lower case."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    return type(node).__name__.lower()


def is_aggregate(node: exp.Expr) -> bool:
    """Is this node an aggregate call, with all that belongs to it (FILTER, a sort that makes it deterministic)?"""
    if is_windowed(node):
        return False
    if isinstance(node, _WRAPPERS):
        return is_aggregate(node.this)
    if isinstance(node, exp.AggFunc):
        return True
    if not isinstance(node, exp.Anonymous):
        return False
    name = function_name(node)
    if name in _ORDERING:
        return bool(node.expressions) and function_name(bare_call(node.expressions[0])) in _COLLECTS
    return name in ALGEBRAIC or name in RECOMPUTABLE or name in ORDER_SENSITIVE


def is_windowed(node: exp.Expr) -> bool:
    """Is this the function of a window (with its FILTER and the like)?"""
    above = node.parent
    if isinstance(above, exp.Window):
        return node.arg_key == "this"
    return isinstance(above, _WRAPPERS) and node.arg_key == "this" and is_windowed(above)


def is_ordered(node: exp.Expr) -> bool:
    """Is this call inside one that makes its order irrelevant?"""
    return function_name(node) in _COLLECTS and node.parent is not None and is_aggregate_of_collected(node.parent)


def is_aggregate_of_collected(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and function_name(node) in _ORDERING


def has_aggregate(node: exp.Expr) -> bool:
    return any(is_aggregate(found) for found in node.walk())


def bare_call(node: exp.Expr) -> exp.Expr:
    """The call itself, without FILTER and the like."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    return node


def algebraic(node: exp.Expr) -> exp.Expr:
    """The same aggregate as one whose change can be merged, where there is one: FILTER becomes CASE, count_if a count.

    >>> from spark_trickle.sql.parse import parse_query
    >>> algebraic(parse_query("SELECT SUM(a) FILTER (WHERE b > 1)").selects[0]).sql()
    'SUM(CASE WHEN b > 1 THEN a END)'
    """
    if isinstance(node, exp.Filter):
        return _unfiltered(node)
    if not isinstance(node, exp.Anonymous) or len(node.expressions) != 1:
        return node
    value = node.expressions[0]
    if isinstance(value, exp.Distinct):
        return node
    match function_name(node):
        case "count_if":
            return exp.Count(this=exp.case().when(value.copy(), exp.Literal.number(1)), big_int=True)
        case "bool_and" | "every":
            return exp.Min(this=value.copy())
        case "bool_or" | "some":
            return exp.Max(this=value.copy())
        case "mean":
            return exp.Avg(this=value.copy())
    return node


def _unfiltered(node: exp.Filter) -> exp.Expr:
    call, condition = node.this, node.expression.this
    if not isinstance(call, (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)):
        return node
    if call.expressions or isinstance(call.this, exp.Distinct):
        return node
    value = exp.Literal.number(1) if isinstance(call.this, exp.Star) else call.this.copy()
    plain = call.copy()
    plain.set("this", exp.case().when(condition.copy(), value))
    return plain


def spark_name(node: exp.Expr) -> str:
    """The name Spark gives an output column without an alias (for common expressions).

    >>> from spark_trickle.sql.parse import parse_query
    >>> [spark_name(entry) for entry in parse_query("SELECT COUNT(*), Sum(amount)").selects]
    ['count(1)', 'sum(amount)']
    """
    if isinstance(node, exp.Alias):
        return str(node.alias)
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Dot):
        return str(node.expression.name)
    holder = exp.Paren(this=node.copy())
    for star in list(holder.find_all(exp.Star)):
        star.replace(exp.Literal.number(1))
    for found in list(holder.find_all(exp.Binary)):
        if not isinstance(found, exp.Dot) and (found is holder.this or not isinstance(found.parent, exp.Paren)):
            found.replace(exp.paren(found.copy()))
    return str(holder.this.sql(dialect="spark", normalize_functions="lower")).replace("`", "")
