"""Leaves:  Δ(t) = changes(t);  a constant row never changes."""

from __future__ import annotations

from dataclasses import replace

from spark_trickle.delta.plan import WEIGHT, Version
from spark_trickle.delta.rules.rule import Recur
from spark_trickle.sql.operators import OneRow, Operator, Scan, ScanColumn


def differentiate(scan: Scan, changed: frozenset[str], recur: Recur) -> Operator | None:
    if scan.source not in changed:
        return None
    weight = ScanColumn(WEIGHT, WEIGHT, "bigint")
    return replace(scan, version=Version.CHANGES.value, items=(*scan.items, weight))


def constant(row: OneRow, changed: frozenset[str], recur: Recur) -> Operator | None:
    return None
