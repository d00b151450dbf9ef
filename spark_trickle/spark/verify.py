"""Proof on demand: a stream table's contents against its query at its frontier, as multisets.

The query runs as the user wrote it, over exactly the frontier's versions of the sources: nothing of the incremental
machinery is used. Only where its text leaves several answers open (ties, lists without an order) it runs as it was
completed, which the stream table's notices tell. Floating columns of rows that differ are compared with a relative
tolerance, because the order of additions is not fixed even between two runs of the same query.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from spark_trickle.elsewhere.formats import is_borrowed
from spark_trickle.elsewhere.unversioned import JDBC, is_unversioned, kind_of, number_of, what_it_is
from spark_trickle.errors import ComputeError, NotConvergedError, UserError
from spark_trickle.graph.dag import data_flow
from spark_trickle.model.frontier import Pin, Pointer
from spark_trickle.model.refresh import Verification
from spark_trickle.model.stream_table import StreamTable
from spark_trickle.names import INTERNAL_NAMESPACE, TableName, quote
from spark_trickle.spark.execution.planning import planned_for
from spark_trickle.spark.execution.write import Writer
from spark_trickle.spark.queries.changing import unknowable_moment
from spark_trickle.spark.session.failures import spark_errors, versions_gone
from spark_trickle.spark.workspaces.purge import purge
from spark_trickle.storage.iceberg import load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql import types as t

    from spark_trickle.spark.execution.bench import Bench
    from spark_trickle.spark.workspaces.workspace import Workspace

TOLERANCE = 1e-9
MAX_DIFFERENCES = 10_000
SAMPLE = 10
_CONTENTS = "verified_contents"
"""What a member of a circle holds, while its own name stands for what is computed again."""

MOST_ROUNDS = 10_000
"""Nobody waits for more."""


def verify(bench: Bench, table: StreamTable, circle: Sequence[StreamTable] = (), limit: int = 0) -> Verification:
    """Compare; the bench's workspace is at a cut that holds the stream table and its sources.

    Args:
        circle: the members of its circle, if it is in one, itself included. Their least fixed point is computed from
            empty: each compared with the others as they are would bless rows that have only each other to stand on.
        limit: rounds for that; more where more rows are there, of which each may take a round of its own.
    """
    if not table.populated:
        raise UserError(
            f"'{table.name}' has not been loaded yet, there is nothing to verify",
            hint=f"refresh_stream_table('{table.name}') loads it",
        )
    if table.name not in bench.workspace.heads():
        raise UserError(
            f"the table of '{table.name}' is gone: somebody dropped or renamed it",
            hint=f"why('{table.name}') says what to do",
        )
    members = {member.name for member in circle}
    notices: list[str] = []
    for member in circle or (table,):
        for pin in member.frontier.pins:
            if pin.table not in members:
                notices += _rewind(bench, member, pin)
    _require_known_moment(bench, table)
    contents = TableName(INTERNAL_NAMESPACE, _CONTENTS) if circle else table.name
    if circle:
        bench.workspace.repin(Pointer(contents, bench.workspace.heads()[table.name].location))
    # Planned as a change is: the union with the contents is where Spark fails on some subqueries.
    session = bench.workspace.session
    with _its_versions(table), spark_errors(f"verifying '{table.name}'"), planned_for(session, small=False):
        moment = table.data_timestamp
        assert moment is not None  # it is populated
        with least_fixed_point(bench, circle, limit) if circle else nullcontext():
            answer = bench.answer(table, moment)
            other_columns = _other_columns(answer, session.table(contents.sql))
            if other_columns is not None:
                return Verification(
                    name=str(table.name),
                    ok=False,
                    missing_rows=0,
                    unexpected_rows=0,
                    frontier=table.frontier,
                    sample=(other_columns,),
                    notices=tuple(notices),
                )
            rows = differences(bench.workspace, contents, answer)
    missing, unexpected = _without_rounding(rows)
    sample = [f"+ {_show(row)}" for row, _ in missing[:SAMPLE]] + [f"- {_show(row)}" for row, _ in unexpected[:SAMPLE]]
    lost, extra = sum(n for _, n in missing), sum(n for _, n in unexpected)
    return Verification(
        name=str(table.name),
        ok=lost == 0 and extra == 0,
        missing_rows=lost,
        unexpected_rows=extra,
        frontier=table.frontier,
        sample=tuple(sample),
        notices=tuple(notices),
    )


@contextmanager
def _its_versions(table: StreamTable) -> Iterator[None]:
    """Say so where the versions that it was computed of are not there any more."""
    try:
        yield
    except ComputeError as err:
        hint = f"refresh_stream_table('{table.name}') computes it of the newest ones"
        gone = versions_gone(f"the verification of '{table.name}'", err, hint)
        if gone is None:
            raise
        raise gone from err


@contextmanager
def least_fixed_point(bench: Bench, circle: Sequence[StreamTable], limit: int) -> Iterator[None]:
    """Let the names of a circle's members stand for their least fixed point: from empty, each query computed whole,
    again and again, until none gives other rows. Nothing of what is kept is used. What is written for it is deleted.
    """
    workspace = bench.workspace
    writer = Writer(workspace.session, {})
    if not any(member.diverged for member in circle):
        # What was reached bit by bit takes more rounds from empty; but each adds a row, and no more than are there.
        limit = max(limit, min(sum(bench.total_rows(member.name) or 0 for member in circle), MOST_ROUNDS))
    for member in circle:
        columns = workspace.session.table(member.name.sql).limit(0)
        rows = workspace.session.createDataFrame([], columns.schema)
        bench.drop(member.name)
        writer.whole(member.name, rows, exists=False)
    try:
        for _ in range(limit + 1):
            if sum(_computed_again(bench, writer, member) for member in circle) == 0:
                yield
                return
        raise NotConvergedError(data_flow(circle).way_round(member.name for member in circle), limit)
    finally:
        heads = workspace.heads()
        for member in circle:
            purge(workspace.session, heads[member.name].location)


def _computed_again(bench: Bench, writer: Writer, member: StreamTable) -> bool:
    """Whether the query of a member gives other rows than the round before; they take their place."""
    assert member.data_timestamp is not None  # they are published together
    answer = bench.answer(member, member.data_timestamp).localCheckpoint()
    if not differences(bench.workspace, member.name, answer):
        return False
    writer.whole(member.name, answer, exists=True)
    return True


def _other_columns(wanted: DataFrame, found: DataFrame) -> str | None:
    """How the columns of the table differ from its query's: somebody may have altered it."""
    if wanted.columns == found.columns:
        return None
    return f"the table has the columns {', '.join(found.columns)}; its query has {', '.join(wanted.columns)}"


def _rewind(bench: Bench, table: StreamTable, pin: Pin) -> list[str]:
    """Put a source at the version that the frontier names; what a reader should know where that cannot be done."""
    workspace = bench.workspace
    here = workspace.heads().get(pin.table)
    if here is None:
        raise UserError(f"source '{pin.table}' no longer exists: the frontier cannot be read again")
    if here.location == pin.location:
        return []
    if here.kind == "VIEW":
        workspace.repin(Pointer(pin.table, pin.location, "VIEW"))
        return []
    if is_unversioned(pin.location):
        return _as_it_is_now(table, pin)
    if is_borrowed(pin.location):
        workspace.repin(Pointer(pin.table, pin.location))
        return []
    java = load(workspace.session, pin.table)
    if java.io().newInputFile(pin.location).exists():
        workspace.repin(Pointer(pin.table, pin.location))
        return []
    if pin.snapshot_id is None or java.snapshot(pin.snapshot_id) is None:
        raise UserError(
            f"snapshot {pin.snapshot_id} of '{pin.table}', which '{table.name}' was made from, has expired",
            hint="Refresh the stream table, then verify it",
        )
    workspace.rewind(pin.table, pin.snapshot_id)
    return []


def _as_it_is_now(table: StreamTable, pin: Pin) -> list[str]:
    """What is told of a table without versions that is not known to be as it was."""
    what = what_it_is(pin.table, pin.location)
    if kind_of(pin.location) == JDBC:
        then = datetime.fromtimestamp(number_of(pin.location) / 1000, UTC)
        return [
            f"{what}: compared with its rows of now; what was written there since {then:%Y-%m-%d %H:%M:%S} UTC differs"
        ]
    raise UserError(
        f"{what}: its files have changed since '{table.name}' was made from them, and nobody can read what they were",
        hint="Refresh the stream table, then verify it",
    )


def _require_known_moment(bench: Bench, table: StreamTable) -> None:
    """What the clock showed is known, unless Spark's parser asked it."""
    if not table.reads_clock:
        return
    views = [source.table for source in table.sources if source.kind == "VIEW"]
    what = unknowable_moment(bench.workspace, table.query, views)
    if what is not None:
        raise UserError(
            f"'{table.name}' cannot be verified: which moment {what} was is known to nobody",
            hint="Write current_date() or current_timestamp() instead",
        )


def differences(workspace: Workspace, table: TableName, wanted: DataFrame) -> list[tuple[dict[str, Any], int]]:
    """Rows that a table should have more often (above 0) or less often than it has; some of them, if they are many."""
    session = workspace.session
    names = [quote(field.name) for field in wanted.schema.fields]
    copies = "_trickle_w"
    while any(field.name.lower() == copies for field in wanted.schema.fields):
        copies += "_"
    keys = [key for field in wanted.schema.fields for key in _keys(field)]
    view = workspace.view("trickle_verify_query")
    wanted.createOrReplaceTempView(view)
    listed = ", ".join(names)
    shown = ", ".join(f"{_shown(field)} AS {quote(field.name)}" for field in wanted.schema.fields)
    rows = session.sql(
        f"SELECT {shown}, SUM({copies}) AS {copies} FROM ("
        f"SELECT {listed}, 1 AS {copies} FROM {view} UNION ALL SELECT {listed}, -1 FROM {table.sql}) "
        f"GROUP BY {', '.join(keys)} HAVING SUM({copies}) <> 0 LIMIT {MAX_DIFFERENCES}"
    ).collect()
    found = []
    for row in rows:
        values = row.asDict(recursive=True)
        found.append((values, int(values.pop(copies))))
    return found


def _shown(field: t.StructField) -> str:
    """A value of a group, as far as Python has one: it knows no dates after the year 9999."""
    value, kind = f"FIRST({quote(field.name)})", field.dataType.simpleString()
    return f"CAST({value} AS STRING)" if "date" in kind or "timestamp" in kind else value


def _keys(field: t.StructField) -> list[str]:
    name, kind = quote(field.name), field.dataType.simpleString()
    if "map<" in kind or kind == "variant":
        return [f"TO_JSON(STRUCT({name}))"]
    return [name]


Weighted = list[tuple[dict[str, Any], int]]


def _without_rounding(rows: list[tuple[dict[str, Any], int]]) -> tuple[Weighted, Weighted]:
    """(missing, unexpected), without the pairs that are equal but for the rounding of floating sums."""
    missing = [(row, n) for row, n in rows if n > 0]
    unexpected = [(row, -n) for row, n in rows if n < 0]
    by_rest: dict[str, list[int]] = {}
    for index, (row, _) in enumerate(unexpected):
        by_rest.setdefault(_rest(row), []).append(index)
    left = [n for _, n in unexpected]
    still: Weighted = []
    for row, count in missing:
        for index in by_rest.get(_rest(row), []):
            if count and left[index] and _close(row, unexpected[index][0]):
                taken = min(count, left[index])
                count, left[index] = count - taken, left[index] - taken
        if count:
            still.append((row, count))
    return still, [(row, n) for (row, _), n in zip(unexpected, left, strict=True) if n]


def _rest(row: dict[str, Any]) -> str:
    return repr([(k, v) for k, v in row.items() if not isinstance(v, float)])


def _close(one: dict[str, Any], other: dict[str, Any]) -> bool:
    floats = [(v, other[k]) for k, v in one.items() if isinstance(v, float)]
    return bool(floats) and all(
        isinstance(b, float)
        and (math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b)))
        for a, b in floats
    )


def _show(row: dict[str, Any]) -> str:
    return json.dumps(row, default=str, ensure_ascii=False)
