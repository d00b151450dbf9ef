"""What is known about functions: which are aggregates, which of those depend on the order of rows, and how Spark names a column."""

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
_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)


def function_name(node: exp.Expr) -> str:
    """Spark's name of a function call, lower case."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    if isinstance(node, exp.Any):
        return "any"
    return node.sql(dialect="spark").split("(", 1)[0].strip().lower()


def is_aggregate(node: exp.Expr) -> bool:
    """Is this node an aggregate call, with all that belongs to it (FILTER, a sort that makes it deterministic)?"""
    if isinstance(node, _WRAPPERS):
        return is_aggregate(node.this)
    if isinstance(node, exp.AggFunc):
        return True
    if isinstance(node, (exp.ArraySort, exp.ArraySize)):
        return isinstance(node.this, exp.Expr) and is_aggregate(node.this) and function_name(node.this) in _COLLECTS
    if isinstance(node, exp.Anonymous):
        name = function_name(node)
        return name in ALGEBRAIC or name in RECOMPUTABLE or name in ORDER_SENSITIVE
    return False


def has_aggregate(node: exp.Expr) -> bool:
    return any(is_aggregate(found) for found in node.walk())


def bare_call(node: exp.Expr) -> exp.Expr:
    """The call itself, without FILTER and the like."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    return node


def spark_name(node: exp.Expr) -> str:
    """The name Spark gives an output column without an alias (for common expressions).

    >>> from sqlglot import parse_one
    >>> spark_name(parse_one("COUNT(*)", dialect="spark")), spark_name(parse_one("Sum(amount)", dialect="spark"))
    ('count(1)', 'sum(amount)')
    """
    if isinstance(node, exp.Alias):
        return str(node.alias)
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Dot):
        return str(node.expression.name)
    shown = node.copy()
    for star in list(shown.find_all(exp.Star)):
        star.replace(exp.Literal.number(1))
    for found in list(shown.find_all(exp.Binary)):
        if not isinstance(found, (exp.Dot, exp.PropertyEQ)) and not isinstance(found.parent, exp.Paren):
            shown = (
                found.replace(exp.paren(found.copy()))
                if found is shown
                else (found.replace(exp.paren(found.copy())), shown)[1]
            )
    return shown.sql(dialect="spark", normalize_functions="lower").replace("`", "")
