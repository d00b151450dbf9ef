"""Stories (see `stories`) told to Spark and Iceberg: all of them on one engine, window by window, so that one window of
all stories is a few refreshes. What went wrong is collected story by story; nothing is asserted here.

Needs a JVM: for `tests/spark` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import sqlglot
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from sqlglot import exp

from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError
from spark_trickle.model.refresh import Action
from spark_trickle.sql.parse import parse_query
from tests.support.duck import Row, Table
from tests.support.printed import difference, printed
from tests.support.stories import Story, World

FAILURES = (StreamTableError, PySparkException, Py4JJavaError)
INCREMENTAL = (Action.DIFFERENTIAL, Action.NO_DATA)
ROW_DELTAS = ", ".join(
    f"'{name}' = '{value}'"
    for name, value in (
        ("format-version", "3"),
        ("write.delete.mode", "merge-on-read"),
        ("write.update.mode", "merge-on-read"),
    )
)
THREADS = 3
"""Most of a statement on ten rows is waiting for files and catalogs."""


@dataclass
class Telling:
    """One story as it goes on Spark."""

    story: Story
    namespace: str
    name: str
    problems: list[str] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)

    @property
    def windows(self) -> tuple[tuple[str, ...], ...]:
        return self.story.world.windows


def told(engine: Engine, stories: Iterable[Story]) -> list[Telling]:
    """Tell all stories to the end; each comes back with its problems and with what every refresh did."""
    worlds: dict[World, str] = {}
    tellings = []
    for number, story in enumerate(stories):
        namespace = worlds.setdefault(story.world, f"w{len(worlds)}")
        tellings.append(Telling(story, namespace, f"{namespace}.q{number}"))
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda item: _make(engine, *item), worlds.items()))
        list(pool.map(partial(_create, engine), tellings))
        for window in range(max((len(world.windows) for world in worlds), default=0)):
            moving = [each for each in tellings if not each.problems and window < len(each.windows)]
            shared = {space: [each for each in moving if each.namespace == space] for space in worlds.values()}
            list(pool.map(partial(_change, engine, window), filter(None, shared.values())))
            moving = [each for each in moving if not each.problems]
            groups = (moving[place::THREADS] for place in range(THREADS))
            list(pool.map(partial(_refresh, engine, f"window {window + 1}"), filter(None, groups)))
            # Every story is looked at after its first window, and when it ends.
            due = [each for each in moving if window in (0, len(each.windows) - 1)]
            list(pool.map(partial(_compare, engine, f"window {window + 1}"), due))
        for what, change in (("everything was deleted", _empty), ("it was loaded again", _load)):
            list(pool.map(lambda item, change=change: change(engine, *item), worlds.items()))
            moving = [each for each in tellings if not each.problems]
            groups = (moving[place::THREADS] for place in range(THREADS))
            list(pool.map(partial(_refresh, engine, what), filter(None, groups)))
            list(pool.map(partial(_compare, engine, what), moving))
    return tellings


def _empty(engine: Engine, world: World, namespace: str) -> None:
    for table in world.tables:
        engine.spark.sql(f"DELETE FROM {namespace}.{table.name}")


def _load(engine: Engine, world: World, namespace: str) -> None:
    rows = dict(world.load)
    for table in world.tables:
        if rows.get(table.name):
            engine.spark.sql(f"INSERT INTO {namespace}.{table.name} {_rows(table, rows[table.name])}")


def _make(engine: Engine, world: World, namespace: str) -> None:
    engine.spark.sql(f"CREATE NAMESPACE lake.{namespace}")
    rows = dict(world.load)
    for table in world.tables:
        engine.spark.sql(_creation(namespace, table, rows.get(table.name, ())))


def _creation(namespace: str, table: Table, rows: Sequence[Row]) -> str:
    head, tail = f"CREATE TABLE {namespace}.{table.name}", f"USING iceberg TBLPROPERTIES ({ROW_DELTAS})"
    if rows:
        return f"{head} {tail} AS {_rows(table, rows)}"
    return f"{head} ({', '.join(f'{name} {kind}' for name, kind in _columns(table))}) {tail}"


def _columns(table: Table) -> list[tuple[str, str]]:
    declared = sqlglot.parse_one(f"CREATE TABLE x ({table.columns})", read="duckdb").find_all(exp.ColumnDef)
    return [(column.name, column.args["kind"].sql(dialect="spark")) for column in declared]


def _rows(table: Table, rows: Iterable[Row]) -> str:
    values = ", ".join(f"({', '.join(_literal(value) for value in row)})" for row in rows)
    columns = enumerate(_columns(table), start=1)
    cast = ", ".join(f"CAST(col{place} AS {kind}) AS {name}" for place, (name, kind) in columns)
    return f"SELECT {cast} FROM VALUES {values}"


def _literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'"


def _create(engine: Engine, telling: Telling) -> None:
    query = _placed(telling.story.query, telling.namespace)
    with _noting(telling):
        engine.create_stream_table(telling.name, query, refresh_mode="DIFFERENTIAL", strict=True)


def _placed(query: str, namespace: str) -> str:
    """The user's text, with nothing changed but where its tables are."""
    tree = parse_query(query)
    hidden = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    tables = [table.this for table in tree.find_all(exp.Table) if table.name.lower() not in hidden]
    for place in sorted((table.meta["start"] for table in tables), reverse=True):
        query = f"{query[:place]}{namespace}.{query[place:]}"
    return query


def _change(engine: Engine, window: int, sharing: list[Telling]) -> None:
    with _noting(*sharing):
        for statement in sharing[0].windows[window]:
            engine.spark.sql(_translated(statement, sharing[0].namespace))


def _translated(statement: str, namespace: str) -> str:
    """A statement for DuckDB in Spark's words. Rows of Iceberg's third format have addresses, too; wrapped into a
    function, because Iceberg would look for a bare one among the columns that its files have bounds of.
    """

    def put(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table) and node.db == "after":
            node.set("db", exp.to_identifier(namespace))
        if isinstance(node, exp.Column) and node.name == "rowid":
            return exp.func("COALESCE", exp.column("_row_id"), exp.Literal.number(-1))
        return node

    return sqlglot.parse_one(statement, read="duckdb").transform(put).sql(dialect="spark")


def _refresh(engine: Engine, when: str, moving: list[Telling]) -> None:
    """One refresh of all; if it fails, one of each, to know whose fault it is."""
    try:
        outcomes = engine.refresh_stream_tables([each.name for each in moving])
    except FAILURES:
        outcomes = []
        for each in moving:
            with _noting(each):
                outcomes.append(engine.refresh_stream_table(each.name))
    by_name = {outcome.name: outcome for outcome in outcomes}
    for each in moving:
        outcome = by_name.get(each.name)
        if outcome is not None:
            each.actions.append(outcome.action)
            if outcome.action not in INCREMENTAL:
                each.problems.append(f"{when}: was {outcome.action}: {outcome.reason}")


def _compare(engine: Engine, when: str, telling: Telling) -> None:
    """With the query itself, run beside it: `verify` would share a mistake of the engine's."""
    with _noting(telling):
        kept = printed(engine.spark.sql(f"SELECT * FROM {telling.name}"))
        right = printed(engine.spark.sql(_placed(telling.story.query, telling.namespace)))
        kind = difference(kept, right, roughly=True)
        if kind:
            telling.problems.append(f"{when}: {kind}: {kept - right} too many, {right - kept} missing")


@contextmanager
def _noting(*tellings: Telling) -> Iterator[None]:
    """A story that fails is not told further; the others are."""
    try:
        yield
    except FAILURES as err:
        for telling in tellings:
            telling.problems.append(f"{type(err).__name__}: {str(err)[:1000]}")
