"""Spark's errors become ours here, once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from spark_trickle.errors import ComputeError, SqlError, StreamTableError, UnavailableError

_PLACE = re.compile(r"line (\d+),? pos(?:ition)? (\d+)", re.IGNORECASE)


@contextmanager
def spark_errors(doing: str) -> Iterator[None]:
    """Translate what Spark raises while `doing` something with data."""
    try:
        yield
    except StreamTableError:
        raise
    except PySparkException as err:
        raise ComputeError(f"Spark failed while {doing}: {_first_lines(str(err))}") from err
    except Py4JNetworkError as err:
        raise UnavailableError(f"Spark went away while {doing}: {err}", hint="Connect again") from err
    except Py4JJavaError as err:
        raise ComputeError(f"Spark failed while {doing}: {_first_lines(str(err.java_exception))}") from err
    except Py4JError as err:
        raise UnavailableError(f"Spark went away while {doing}: {err}", hint="Connect again") from err


@contextmanager
def sql_errors(what: str) -> Iterator[None]:
    """Translate what Spark says of a query it cannot analyse."""
    try:
        yield
    except AnalysisException as err:
        message = _first_lines(str(err))
        place = _PLACE.search(str(err))
        line, column = (int(place[1]), int(place[2]) + 1) if place else (None, None)
        raise SqlError(f"{what} is not valid: {message}", line=line, column=column) from err
    except PySparkException as err:
        raise SqlError(f"{what} is not valid: {_first_lines(str(err))}") from err


def _first_lines(text: str) -> str:
    """The part of a Spark message that a person can use: no plan, no JVM trace."""
    kept = []
    for line in text.strip().splitlines():
        if line.startswith(("\tat ", "'", "==", "+-")) or "JVM stacktrace" in line:
            break
        kept.append(line.strip())
        if len(kept) == 3:
            break
    return " ".join(part for part in kept if part)[:600]
