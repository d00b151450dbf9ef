"""One cycle of a shop's life: new orders, old ones deleted, customers, parts and prices changed.

Everything follows from the cycle's number, so that two runs change the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RunSql = Callable[[str], Sequence[tuple[Any, ...]]]
"""Runs a statement of Spark SQL; gives its rows."""
BLOCK = 32
ORDERS_IN_BLOCK = 8
"""The generator gives out the first eight of each 32 order keys."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """Rows that a cycle changes."""

    new_orders: int
    deleted_orders: int
    customers: int
    parts: int
    costs: int
    """Rows of partsupp."""
    prices: int
    """Rows of lineitem."""

    @classmethod
    def of(cls, rows: int, counts: Mapping[str, int]) -> Amounts:
        """The same share of each table. Of the orders nine tenths come or go, half and half, with their lineitems; the
        rest of the lineitems' share are changed prices."""
        share = rows / sum(counts.values())

        def of(table: str, part: float = 1.0) -> int:
            return max(1, round(counts[table] * share * part))

        return cls(
            new_orders=of("orders", 0.45),
            deleted_orders=of("orders", 0.45),
            customers=of("customer"),
            parts=of("part"),
            costs=of("partsupp"),
            prices=of("lineitem", 0.1),
        )


class Shop:
    """Writes the cycles, and knows which keys are next."""

    def __init__(self, sql: RunSql, amounts: Amounts, counts: Mapping[str, int]) -> None:
        self._sql = sql
        self._amounts = amounts
        self._counts = counts
        self._turn = 0
        low, high = self._sql("SELECT min(o_orderkey), max(o_orderkey) FROM orders")[0]
        self._oldest: int = low // BLOCK * BLOCK
        self._next: int = (high // BLOCK + 1) * BLOCK
        self._copied: int = (low + high) // 2 // BLOCK * BLOCK

    def cycle(self) -> None:
        """One cycle, as eight commits."""
        self._change_prices()
        self._add_orders()
        self._delete_orders()
        self._change_customers()
        self._change_parts()
        self._change_costs()
        self._turn += 1

    def _add_orders(self) -> None:
        """New orders are like some from the middle, under keys above the largest."""
        span = _span(self._amounts.new_orders)
        first, shift = self._copied, self._next - self._copied
        for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
            self._sql(
                f"INSERT INTO {table} SELECT {key} + {shift} AS {key}, * EXCEPT ({key}) FROM {table} "
                f"WHERE {key} >= {first} AND {key} < {first + span}"
            )
        self._copied += span
        self._next += span

    def _delete_orders(self) -> None:
        until = self._oldest + _span(self._amounts.deleted_orders)
        for table, key in (("lineitem", "l_orderkey"), ("orders", "o_orderkey")):
            self._sql(f"DELETE FROM {table} WHERE {key} >= {self._oldest} AND {key} < {until}")
        self._oldest = until

    def _change_prices(self) -> None:
        """Of the newest lineitems."""
        first = self._next - _span(max(1, self._amounts.prices // 4))
        self._sql(
            "UPDATE lineitem SET "
            "l_discount = CASE WHEN l_discount >= 0.10 THEN 0.00 ELSE l_discount + 0.01 END, "
            f"l_extendedprice = CAST(l_extendedprice + l_quantity * {1 + self._turn % 3} AS DECIMAL(15, 2)) "
            f"WHERE l_orderkey >= {first} AND l_orderkey < {self._next}"
        )

    def _change_customers(self) -> None:
        nth, chosen = self._all_over("c_custkey", self._counts["customer"], self._amounts.customers)
        segments = "array('AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY')"
        self._sql(
            f"UPDATE customer SET c_acctbal = CAST(c_acctbal + ({nth} % 7 - 3) * 100 AS DECIMAL(15, 2)), "
            f"c_mktsegment = element_at({segments}, CAST(1 + ({nth} + {self._turn}) % 5 AS INT)), "
            f"c_nationkey = CASE WHEN {nth} % 5 = 0 THEN (c_nationkey + 1) % 25 ELSE c_nationkey END "
            f"WHERE {chosen}"
        )

    def _change_parts(self) -> None:
        nth, chosen = self._all_over("p_partkey", self._counts["part"], self._amounts.parts)
        brands = "array('Brand#12', 'Brand#23', 'Brand#34', 'Brand#45')"
        containers = "array('SM CASE', 'MED BOX', 'LG BOX', 'JUMBO PKG', 'WRAP JAR')"
        self._sql(
            f"UPDATE part SET p_size = CAST(1 + (p_size + 6) % 50 AS INT), "
            f"p_container = element_at({containers}, CAST(1 + ({nth} + {self._turn}) % 5 AS INT)), "
            f"p_brand = CASE WHEN {nth} % 2 = 0 THEN element_at({brands}, CAST(1 + {nth} DIV 2 % 4 AS INT)) "
            "ELSE p_brand END, "
            f"p_type = CASE {nth} % 8 WHEN 1 THEN 'ECONOMY ANODIZED STEEL' WHEN 3 THEN 'PROMO PLATED BRASS' "
            "ELSE p_type END, "
            f"p_name = CASE {nth} % 16 WHEN 5 THEN 'forest green blue red navy' WHEN 7 THEN 'plum sky tan red navy' "
            "ELSE p_name END "
            f"WHERE {chosen}"
        )

    def _change_costs(self) -> None:
        nth, chosen = self._all_over("ps_partkey", self._counts["part"], max(1, self._amounts.costs // 4))
        self._sql(
            "UPDATE partsupp SET "
            f"ps_supplycost = CAST(1 + (ps_supplycost + {17 + self._turn}) % 1000 AS DECIMAL(15, 2)), "
            f"ps_availqty = CASE WHEN {nth} % 4 = 0 THEN 1 + (ps_availqty + 1000) % 9999 ELSE ps_availqty END "
            f"WHERE {chosen}"
        )

    def _all_over(self, key: str, keys: int, wanted: int) -> tuple[str, str]:
        """So many keys at equal distances: the number of a chosen one, and the condition that chooses."""
        stride = max(1, keys // wanted)
        return f"({key} DIV {stride})", f"{key} % {stride} = {self._turn * 7 % stride}"


def _span(orders: int) -> int:
    """Keys that hold so many orders."""
    return BLOCK * max(1, round(orders / ORDERS_IN_BLOCK))
