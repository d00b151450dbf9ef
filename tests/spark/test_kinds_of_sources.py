"""One story for all kinds of sources: what happens to a table that others write, and what stream tables over it do.

What is different from kind to kind is said by the kind: whether changes can be told (DIFFERENTIAL) or everything is
computed again (FULL), and whether anybody can tell that nothing has changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_trickle.engine import Engine
from spark_trickle.errors import NotDifferentialError, SchemaChangedError, UnavailableError, UserError
from spark_trickle.model.refresh import Action
from spark_trickle.model.tick import TickReport
from tests.spark.engines import columns, values
from tests.spark.kinds_of_sources import KINDS, Kind, Row, kind_of_source

NO_VERSIONS = {
    "parquet": "consists of Parquet files and has no versions",
    "database": "is a table of a JDBC database and has no versions",
}
AWAY = {
    "delta": "does not exist in catalog 'delta'",
    "parquet": "there is nothing at",
    "database": "table 'pg.public.orders' does not exist in catalog 'pg'",
}
"""What is said when it is away; of an Iceberg catalog, that it cannot be reached."""
DROPS_COLUMNS = ("own", "hadoop", "jdbc", "rest", "database")
READERS = {"sums", "joined", "everything"}


@dataclass
class Story:
    """What others have written so far."""

    kind: Kind
    rows: dict[int, Row] = field(default_factory=dict)
    minutes: int = 0

    @property
    def engine(self) -> Engine:
        return self.kind.engine

    def comes(self, *rows: Row) -> None:
        self.rows.update({row[0]: row for row in rows})
        self.kind.insert(*rows)

    def tick(self) -> TickReport:
        """Ten minutes later than the last one: whatever has something to do is due."""
        self.minutes += 10
        return self.engine.tick(datetime.now(UTC) + timedelta(minutes=self.minutes))

    def assert_followed(self) -> None:
        """One tick takes in all that has happened, as this kind is kept, at one version for all."""
        report = self.tick()
        assert not report.failed and not report.skipped, report
        done = {outcome.name: outcome for outcome in report.refreshed}
        assert {done[name].action for name in ("sums", "everything")} == {Action(self.kind.mode)}, done
        assert self.kind.versioned or NO_VERSIONS[self.kind.name] in str(done["sums"].reason)
        assert len({str(each.frontier[self.kind.table]) for each in done.values()}) == 1
        self.assert_right()

    def assert_right(self) -> None:
        """The stream tables hold what follows from the rows, and `verify` says so."""
        sums: dict[str | None, list[int]] = defaultdict(list)
        for _, k, v in self.rows.values():
            sums[k].append(v)
        assert values(self.engine, "SELECT k, s, n FROM sums") == sorted(
            ((k, sum(each), len(each)) for k, each in sums.items()), key=repr
        )
        assert values(self.engine, "SELECT id, p FROM joined") == sorted(
            ((i, v * 10) for i, k, v in self.rows.values() if k == "a"), key=repr
        )
        found = self.engine.verify("sums")
        assert found.ok and bool(found.notices) is (self.kind.name == "database"), found


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Kind]:
    def fixture(name: str) -> Any:
        return request.getfixturevalue(name)

    with kind_of_source(request.param, spark, tmp_path, fixture) as made:
        yield made


def test_the_life_of_a_source(kind: Kind) -> None:
    story = Story(kind)
    what_is_said_and_refused(story)
    rows_come_and_go(story)
    held_and_read_at_one_version(story)
    away_and_back(story)
    other_columns(story)
    made_again(story)


def what_is_said_and_refused(story: Story) -> None:
    kind, engine, table = story.kind, story.engine, story.kind.table
    with pytest.raises((UserError, UnavailableError)):
        engine.create_stream_table("early", f"SELECT id FROM {table}")
    kind.make()
    story.comes((1, "a", 10), (2, "b", 20), (3, None, 30))
    engine.sql("CREATE TABLE factors (k STRING, factor INT)")
    engine.sql("INSERT INTO factors VALUES ('a', 10)")
    sums = f"SELECT k, SUM(v) AS s, COUNT(*) AS n FROM {table} GROUP BY k"
    joined = f"SELECT o.id, o.v * f.factor AS p FROM {table} o JOIN factors f ON o.k = f.k"
    explained = engine.explain_query(sums)
    assert explained.mode == kind.mode and explained.sources == (table,)
    if not kind.versioned:
        why = NO_VERSIONS[kind.name]
        assert f"'{table}' {why}" in str(explained.reason) and "Iceberg or a Delta table" in str(explained.suggestion)
        for options in ({"refresh_mode": "DIFFERENTIAL"}, {"strict": True}):
            with pytest.raises(UserError, match=why):
                engine.create_stream_table("no", sums, **options)
        with pytest.raises(UserError, match=f"cannot be told: .*{why}"):
            engine.changes(table)
    if kind.name != "own":
        with pytest.raises(UserError, match=r"cannot be IMMEDIATE: .* is a table of catalog"):
            engine.create_stream_table("no", sums, refresh_mode="IMMEDIATE")
    engine.create_stream_table("sums", sums, strict=kind.versioned)
    engine.create_stream_table("joined", joined, strict=kind.versioned)
    engine.create_stream_table("everything", f"SELECT * FROM {table}")
    if not kind.versioned:
        for told in (engine.status("sums").mode_reason, engine.explain("sums").reason, engine.why("sums")):
            assert NO_VERSIONS[kind.name] in str(told)
    story.assert_right()


def rows_come_and_go(story: Story) -> None:
    kind, rows = story.kind, story.rows
    story.comes((4, "a", 40))
    story.assert_followed()
    kind.do(f"UPDATE {kind.table} SET v = 11 WHERE id < 3")
    kind.do(f"DELETE FROM {kind.table} WHERE id = 3")
    rows.update({1: (1, "a", 11), 2: (2, "b", 11)})
    del rows[3]
    story.assert_followed()
    kind.do(f"DELETE FROM {kind.table}")
    rows.clear()
    story.assert_followed()
    story.comes((5, "a", 50), (6, "c", 60))
    story.assert_followed()
    nothing = story.engine.refresh_stream_table("sums")
    # A database does not tell whether anything has changed.
    assert nothing.action is (Action.FULL if kind.name == "database" else Action.NO_DATA), nothing


def held_and_read_at_one_version(story: Story) -> None:
    engine, table = story.engine, story.kind.table
    with engine.snapshot([table]) as snap:
        story.comes((7, "a", 70))
        assert snap.sql(f"SELECT * FROM {table}").count() == snap.table(table).count() == 2
    if story.kind.name == "parquet":
        with pytest.raises(UserError, match="files have changed since 'sums' was made from them"):
            engine.verify("sums")
    engine.gate_source(table)
    assert {skip.name: skip.codes for skip in story.tick().skipped} == dict.fromkeys(READERS, ("gated",))
    assert f"source '{table}' is gated" in str(engine.why("sums"))
    engine.ungate_source(table)
    story.assert_followed()


def away_and_back(story: Story) -> None:
    kind = story.kind
    if kind.take_away is None or kind.bring_back is None:
        return
    kind.take_away()
    try:
        report = story.tick()
        assert {skip.name: skip.codes for skip in report.skipped} == dict.fromkeys(READERS, ("away",))
        why = AWAY.get(kind.name, "catalog 'far' cannot be reached")
        assert why in report.skipped[0].reason and why in str(story.engine.why("sums"))
        with pytest.raises(UnavailableError, match="'sums' cannot be refreshed"):
            story.engine.refresh_stream_table("sums")
    finally:
        kind.bring_back()
    story.comes((8, None, 80))
    story.assert_followed()


def other_columns(story: Story) -> None:
    """`*` follows, and the others do not care."""
    story.kind.add_column()
    report = story.tick()
    assert not report.failed and not report.skipped, report
    done = {outcome.name: outcome.action for outcome in report.refreshed}
    assert done["everything"] is Action.REINITIALIZE, report
    assert [name for name, _ in columns(story.engine, "everything")] == ["id", "k", "v", "w"]
    story.assert_right()


def made_again(story: Story) -> None:
    kind, engine, rows = story.kind, story.engine, story.rows
    kind.unmake()
    gone = story.tick()
    # In another catalog it may come back by itself, and is waited for; ours says that it was dropped.
    untold = gone.failed if kind.name == "own" else gone.skipped
    assert not gone.refreshed and {each.name for each in untold} == READERS, gone
    kind.make()
    rows.clear()
    story.comes((9, "a", 90))
    if kind.name == "own":
        for name in READERS:
            engine.resume_stream_table(name)
    assert engine.refresh_stream_table("everything").action in (Action.FULL, Action.REINITIALIZE)
    assert values(engine, "SELECT id FROM everything") == [(9,)]
    for name in ("sums", "joined"):
        if kind.versioned:
            with pytest.raises(NotDifferentialError, match="dropped and made again"):
                engine.refresh_stream_table(name)
        assert engine.refresh_stream_table(name, mode="FULL").action is Action.FULL
    story.assert_right()
    if kind.name in DROPS_COLUMNS:
        kind.do(f"ALTER TABLE {kind.table} DROP COLUMN v")
        with pytest.raises(SchemaChangedError, match="no longer fits its sources"):
            engine.refresh_stream_table("sums")
