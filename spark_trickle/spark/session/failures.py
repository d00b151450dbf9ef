"""Spark's errors become ours here, once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from spark_trickle.errors import CommitUnknownError, ComputeError, SqlError, StreamTableError, UnavailableError
from spark_trickle.names import TableName
from spark_trickle.spark.session.wording import in_short, tables_meant

_COMMIT_UNKNOWN = "org.apache.iceberg.exceptions.CommitStateUnknownException"
_DATABASE = ("SQLException", "SQLiteException")
"""How the names of JDBC's exceptions end; inside Iceberg's catalog nothing else speaks to a database."""
_SPARK_EXCEPTION = "org.apache.spark.SparkException: "
_OF_THE_QUERY = ("[CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE]",)
"""What is wrong with a query although Spark does not raise it as an error of analysis: a recursion whose step has
another type than its anchor."""
_MOST_CAUSES = 20
_FILE_GONE = (
    "org.apache.iceberg.exceptions.NotFoundException",
    "java.io.FileNotFoundException",
    "java.nio.file.NoSuchFileException",
)
_FILE_GONE_CONDITION = "FAILED_READ_FILE.FILE_NOT_EXIST"
_PLACE = re.compile(r"line (\d+),? pos(?:ition)? (\d+)", re.IGNORECASE)


@contextmanager
def spark_errors(doing: str) -> Iterator[None]:
    """Translate what Spark raises while `doing` something with data."""
    try:
        yield
    except StreamTableError:
        raise
    except PySparkException as err:
        raise ComputeError(f"Spark failed while {doing}: {_said(err)}") from err
    except Py4JNetworkError as err:
        raise UnavailableError(f"Spark went away while {doing}: {err}", hint="Connect again") from err
    except Py4JJavaError as err:
        raise _of_java(err.java_exception, doing) from err
    except (Py4JError, ConnectionError) as err:
        raise UnavailableError(f"Spark went away while {doing}: {err}", hint="Connect again") from err


@contextmanager
def sql_errors(what: str, tables: Callable[[], Iterable[TableName]] = tuple) -> Iterator[None]:
    """Translate what Spark says of a query it cannot analyse. `tables`: those that there are, to suggest one."""
    try:
        yield
    except AnalysisException as err:
        message = in_short(str(err)).rstrip(".")
        place = _PLACE.search(str(err))
        line, column = (int(place[1]), int(place[2]) + 1) if place else (None, None)
        relation = unknown_table(err)
        hint = None if relation is None else tables_meant(relation, tables())
        raise SqlError(f"{what} is not valid: {message}", hint=hint, line=line, column=column) from err
    except PySparkException as err:
        raise ComputeError(f"Spark failed on {what}: {_said(err)}") from err
    except Py4JJavaError as err:
        message = str(err.java_exception).removeprefix(_SPARK_EXCEPTION)
        if message.startswith(_OF_THE_QUERY):
            raise SqlError(f"{what} is not valid: {in_short(message)}") from err
        raise _of_java(err.java_exception, f"working on {what}") from err


def unknown_table(err: BaseException | None) -> str | None:
    """The name of a table that Spark did not find, as it writes it."""
    if not isinstance(err, AnalysisException) or err.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    return (err.getMessageParameters() or {}).get("relationName")


def file_gone(err: BaseException) -> bool:
    """Whether Spark says that a file is not there which a table's metadata names."""
    if isinstance(err, Py4JJavaError):
        chain = _causes(err.java_exception)
        # What happened in an executor may have arrived as text only.
        return any(kind in _FILE_GONE for kind in _kinds(chain)) or any(kind in str(chain[0]) for kind in _FILE_GONE)
    if isinstance(err, PySparkException):
        return err.getCondition() == _FILE_GONE_CONDITION or any(f"{kind}: " in str(err) for kind in _FILE_GONE)
    return False


def versions_gone(
    what: str, err: BaseException | None, hint: str = "Open it again to read what is there now"
) -> ComputeError | None:
    """The error of ours for a user's block whose versions were taken away while it read them; None: it is no such one.

    What is read is read late, by the user: it cannot be told where the query was made.
    """
    found = next((each for each in (err, getattr(err, "__cause__", None)) if each and file_gone(each)), None)
    if found is None:
        return None
    return ComputeError(
        f"files of the versions that {what} reads are gone: another process expired these versions, or somebody "
        f"deleted files ({in_short(str(getattr(found, 'java_exception', found)))})",
        hint=f"{hint}; maintain(retain=...) says how long old versions stay readable",
    )


def _said(err: PySparkException) -> str:
    """What Spark says; some of its errors, and of Iceberg's, are only a name."""
    return in_short(str(err)) or type(err).__name__


def _of_java(thrown: Any, doing: str) -> StreamTableError:
    """Our error for an exception that PySpark does not know: mostly Iceberg's."""
    text, chain = in_short(str(thrown)), _causes(thrown)
    kinds = _kinds(chain)
    if _COMMIT_UNKNOWN in kinds:
        return CommitUnknownError(
            f"it is not known whether a write landed while {doing}: {text}", hint="Look before doing it again"
        )
    reasons = [each.getMessage() for each, kind in zip(chain, kinds, strict=True) if kind.endswith(_DATABASE)]
    if reasons:
        # The innermost one is the driver's own.
        reason = in_short(str(reasons[-1]))
        return UnavailableError(f"the catalog cannot be reached while {doing}: {reason}", hint="Try again")
    caused = in_short(str(chain[-1]))
    return ComputeError(f"Spark failed while {doing}: {text if caused in text else f'{text} (caused by: {caused})'}")


def _causes(thrown: Any) -> list[Any]:
    chain = [thrown]
    while len(chain) < _MOST_CAUSES and (cause := chain[-1].getCause()) is not None:
        chain.append(cause)
    return chain


def _kinds(chain: list[Any]) -> list[str]:
    return [str(each.getClass().getName()) for each in chain]
