"""Leaves:  Δ(t) = changes(t);  a constant row never changes."""

from __future__ import annotations

from dataclasses import replace

from spark_trickle.delta.plan import WEIGHT
from spark_trickle.delta.rules.rule import Recur
from spark_trickle.sql.leaves import Leaf, Version
from spark_trickle.sql.operators import OneRow, Operator, Scan, ScanColumn


def differentiate(scan: Scan, changed: frozenset[Leaf], recur: Recur) -> Operator | None:
    if scan.leaf not in changed:
        return None
    weight = ScanColumn(WEIGHT, WEIGHT, "bigint")
    return replace(scan, version=Version.CHANGES, items=(*scan.items, weight))


def constant(row: OneRow, changed: frozenset[Leaf], recur: Recur) -> Operator | None:
    return None
