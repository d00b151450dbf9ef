"""Rows of a DataFrame as values to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_trickle.cli.output import Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fetch(frame: DataFrame, limit: int) -> Rows:
    """The first rows of a result; one more is asked for, to know whether there are more."""
    from spark_trickle.spark.session.failures import spark_errors

    with spark_errors("reading the rows"):
        found = frame.take(limit + 1)
    rows = tuple(tuple(_plain(cell) for cell in row) for row in found[:limit])
    return Rows(tuple(frame.columns), rows, truncated=len(found) > limit)


def _plain(cell: object) -> object:
    """A struct as a dict: its field names are part of what it says."""
    as_dict = getattr(cell, "asDict", None)
    return cell if as_dict is None else as_dict(recursive=True)
