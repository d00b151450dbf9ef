"""What each query reads: the columns that a peer is given, and their types. Imports nothing of ours, so that the peers'
environments can read it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

QUERIES = (1, 3, 5, 6)

COLUMNS: Mapping[int, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        1: {
            "lineitem": (
                "l_orderkey",
                "l_linenumber",
                "l_quantity",
                "l_extendedprice",
                "l_discount",
                "l_tax",
                "l_returnflag",
                "l_linestatus",
                "l_shipdate",
            )
        },
        3: {
            "customer": ("c_custkey", "c_mktsegment"),
            "orders": ("o_orderkey", "o_custkey", "o_orderdate", "o_shippriority"),
            "lineitem": ("l_orderkey", "l_linenumber", "l_extendedprice", "l_discount", "l_shipdate"),
        },
        5: {
            "customer": ("c_custkey", "c_nationkey"),
            "orders": ("o_orderkey", "o_custkey", "o_orderdate"),
            "lineitem": ("l_orderkey", "l_linenumber", "l_suppkey", "l_extendedprice", "l_discount"),
            "supplier": ("s_suppkey", "s_nationkey"),
            "nation": ("n_nationkey", "n_name", "n_regionkey"),
            "region": ("r_regionkey", "r_name"),
        },
        6: {
            "lineitem": (
                "l_orderkey",
                "l_linenumber",
                "l_quantity",
                "l_extendedprice",
                "l_discount",
                "l_shipdate",
            )
        },
    }
)
"""The columns of each table that a query reads, after those of its key."""

KEYS: Mapping[str, int] = MappingProxyType(
    {"lineitem": 2, "orders": 1, "customer": 1, "supplier": 1, "nation": 1, "region": 1}
)
"""So many of the first columns are the key of a table."""

DECIMALS = frozenset({"l_quantity", "l_extendedprice", "l_discount", "l_tax"})
"""All have two digits after the point."""
DATES = frozenset({"l_shipdate", "o_orderdate"})
TEXTS = frozenset({"l_returnflag", "l_linestatus", "c_mktsegment", "n_name", "r_name"})
WEIGHT = "_weight"
"""Of a changed row: 1 if it came, -1 if it went."""


def batch_name(number: int) -> str:
    """The folder of one cycle's changes."""
    return f"batch-{number:02}"
