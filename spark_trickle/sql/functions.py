"""What is known about functions: which are aggregates, which of those leave their answer open, and how Spark names a
column.
"""

from __future__ import annotations

from sqlglot import exp

ALGEBRAIC = frozenset({"count", "sum", "avg", "mean", "min", "max"})
"""Aggregates whose change can be merged into their value."""

RECOMPUTABLE = frozenset({
    "any", "approx_count_distinct", "bit_and", "bit_or", "bit_xor", "bitmap_and_agg", "bitmap_construct_agg",
    "bitmap_or_agg", "bool_and", "bool_or", "corr", "count_if", "count_min_sketch", "covar_pop", "covar_samp", "every",
    "kurtosis", "median", "percentile", "percentile_cont", "percentile_disc", "regr_avgx", "regr_avgy", "regr_count",
    "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "skewness", "some", "std", "stddev",
    "stddev_pop", "stddev_samp", "try_avg", "try_sum", "var_pop", "var_samp", "variance",
})  # fmt: skip
"""Aggregates that depend on nothing but the rows of a group: kept by computing the group again."""

COMPLETED = frozenset({
    "any_value", "array_agg", "collect_list", "collect_set", "first", "first_value", "last", "last_value", "listagg",
    "max_by", "min_by", "mode", "string_agg",
})  # fmt: skip
"""Aggregates that may give several answers for the same rows; `completed` says which one is meant."""

APPROXIMATE = frozenset({
    "approx_percentile", "approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine", "histogram_numeric",
    "hll_sketch_agg", "hll_union_agg", "kll_merge_agg_bigint", "kll_merge_agg_double", "kll_merge_agg_float",
    "kll_sketch_agg_bigint", "kll_sketch_agg_double", "kll_sketch_agg_float", "percentile_approx",
    "theta_intersection_agg", "theta_sketch_agg", "theta_union_agg",
})  # fmt: skip
"""Aggregates whose answer is near enough, and another one as near when rows come in another order."""

GROUPING = frozenset({"grouping", "grouping_id"})
"""They tell grouping sets apart; Spark counts them as aggregates."""

GENERATORS = frozenset({
    "explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode", "posexplode_outer", "stack",
    "variant_explode", "variant_explode_outer", "window",
})  # fmt: skip
"""Functions that make several rows of one."""

TIME_WINDOW = "window"
"""It makes a row for each window of time that one lies in; in Spark's SQL it is written like any function."""

_COLLECTS = frozenset({"collect_list", "collect_set", "array_agg"})
_ORDERING = frozenset({"sort_array", "array_sort", "size", "array_size", "cardinality"})
"""Around a collected array, these make its order irrelevant (array_sort: without a comparison of its own)."""
_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


def function_name(node: exp.Expr) -> str:
    """The name of a function call, lower case."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    return type(node).__name__.lower()


def is_generator(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and function_name(node) in GENERATORS


def is_aggregate(node: exp.Expr) -> bool:
    """Is this node an aggregate call, with all that belongs to it (FILTER, a sort that makes it deterministic)?"""
    if is_windowed(node):
        return False
    if isinstance(node, _WRAPPERS):
        return is_aggregate(node.this)
    if isinstance(node, exp.Any):
        return not isinstance(node.parent, (exp.Like, exp.ILike))
    if isinstance(node, exp.AggFunc):
        return True
    if not isinstance(node, exp.Anonymous):
        return False
    name = function_name(node)
    if is_aggregate_of_collected(node):
        return bool(node.expressions) and function_name(bare_call(node.expressions[0])) in _COLLECTS
    return name in ALGEBRAIC or name in RECOMPUTABLE or name in COMPLETED or name in APPROXIMATE


def is_windowed(node: exp.Expr) -> bool:
    """Is this the function of a window (with its FILTER and the like)?"""
    above = node.parent
    if isinstance(above, exp.Window):
        return node.arg_key == "this"
    return isinstance(above, _WRAPPERS) and node.arg_key == "this" and is_windowed(above)


def is_ordered(node: exp.Expr) -> bool:
    """Is this collected array inside a call that makes its order irrelevant?"""
    parent = node.parent
    while isinstance(parent, _WRAPPERS):
        parent = parent.parent
    return parent is not None and is_aggregate_of_collected(parent)


def is_aggregate_of_collected(node: exp.Expr) -> bool:
    if not isinstance(node, exp.Anonymous) or function_name(node) not in _ORDERING:
        return False
    return function_name(node) != "array_sort" or len(node.expressions) == 1


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
    if isinstance(node, exp.Any) and is_aggregate(node):
        return exp.Max(this=node.this.unnest().copy())
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
    if call.expressions or (isinstance(call.this, exp.Distinct) and len(call.this.expressions) != 1):
        return node
    if isinstance(call.this, exp.Distinct):
        only = exp.case().when(condition.copy(), call.this.expressions[0].copy())
        call = call.copy()
        call.set("this", exp.Distinct(expressions=[only]))
        return call
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
    if isinstance(node, exp.Paren):
        return spark_name(node.unnest())
    if isinstance(node, exp.Alias):
        return str(node.alias)
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Dot):
        return str(node.expression.name)
    if isinstance(node, exp.Literal):
        return str(node.name)
    holder = exp.Paren(this=node.copy())
    for text in [found for found in holder.find_all(exp.Literal) if found.is_string]:
        text.replace(exp.Var(this=text.name))  # Spark shows a text without its quotes
    for star in list(holder.find_all(exp.Star)):
        star.replace(exp.Literal.number(1))
    for found in list(holder.find_all(exp.Binary)):
        if not isinstance(found, exp.Dot) and (found is holder.this or not isinstance(found.parent, exp.Paren)):
            found.replace(exp.paren(found.copy()))
    return str(holder.this.sql(dialect="spark", normalize_functions="lower")).replace("`", "")
