"""DISTINCT:  δ R = γ(all columns; n = COUNT(*)) R.  A row is there while its count is above nothing, so the counts
are kept, and merged like any other count. A row comes out when its count leaves or reaches nothing.
"""

from __future__ import annotations

from sqlglot import exp

from spark_trickle.sql.operators import Aggregate, Distinct, Item, column

ROWS = "_trickle_n"
"""Column that counts the rows of a group, where the query has none."""


def counted(distinct: Distinct) -> Aggregate:
    """The grouping whose keys are the different rows."""
    keys = tuple(Item(name, column(name)) for name in distinct.columns)
    return Aggregate(distinct.input, keys, (Item(ROWS, exp.Count(this=exp.Star(), big_int=True)),))
