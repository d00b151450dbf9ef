"""Creating, replacing, altering, dropping: everything is checked first, and a failure leaves everything as it was."""

from __future__ import annotations

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import (
    AlreadyExistsError,
    CycleError,
    HasDependentsError,
    NotFoundError,
    SqlError,
    UserError,
)
from spark_trickle.model.refresh import Action
from spark_trickle.model.stream_table import BootstrapGating, Options, RefreshMode, Status
from tests.spark.engines import assert_equals_query, columns, rows, values


def with_items(engine: Engine) -> None:
    engine.sql("CREATE TABLE items (k INT, v STRING); INSERT INTO items VALUES (1, 'a'), (2, 'b'), (2, 'b')")


def test_creating_takes_the_documented_options_and_their_defaults(engine: Engine) -> None:
    with_items(engine)
    plain = engine.create_stream_table("plain", "SELECT k, v FROM items")
    assert plain.options == Options()
    assert (plain.options.schedule, plain.options.refresh_mode, plain.options.strict) == ("calculated", "AUTO", False)
    assert (plain.options.bootstrap_gating, plain.options.fuse, plain.options.fuse_ceiling) == ("respect", "off", None)
    assert (plain.options.diamond_consistency, plain.options.diamond_schedule_policy) == ("atomic", "fastest")
    tuned = engine.create_stream_table(
        "tuned",
        "SELECT k FROM items",
        schedule="1h30m",
        refresh_mode="differential",
        initialize=False,
        diamond_consistency="none",
        diamond_schedule_policy="slowest",
        bootstrap_gating="ignore",
        strict=True,
        fuse="on",
        fuse_ceiling=100,
    )
    assert (tuned.options.refresh_mode, tuned.options.bootstrap_gating) == (
        RefreshMode.DIFFERENTIAL,
        BootstrapGating.IGNORE,
    )
    assert engine.stream_tables()[1] == tuned
    assert engine.refresh_stream_table("tuned").action is Action.FULL

    known = rows(engine, "SHOW TABLES")
    for wrong, message in (
        ({"schedule": "sometimes"}, "sometimes"),
        ({"refresh_mode": "LAZY"}, "AUTO"),
        ({"fuse": "maybe"}, "'on'"),
        ({"fuse_ceiling": -1}, "fuse_ceiling"),
        ({"strict": True, "refresh_mode": "FULL"}, "exclude each other"),
    ):
        with pytest.raises(UserError, match=message):
            engine.create_stream_table("wrong", "SELECT k FROM items", **wrong)
    for query, message in (
        ("SELECT k, K FROM items", "two columns"),
        ("SELECT nothing FROM items", "nothing"),
        ("SELEC k FROM items", "SELEC"),
        ("SELECT k FROM missing", "missing"),
        ("SELECT snapshot_id FROM default.items.snapshots", "metadata"),
        ("SELECT k FROM wrong", "wrong"),
    ):
        with pytest.raises(UserError, match=message):
            engine.create_stream_table("wrong", query)
    with pytest.raises(AlreadyExistsError, match="stream table 'plain'"):
        engine.create_stream_table("plain", "SELECT k FROM items")
    with pytest.raises(AlreadyExistsError, match="table 'items'"):
        engine.create_stream_table("items", "SELECT k FROM plain")
    with pytest.raises(NotFoundError, match="namespace 'nowhere'"):
        engine.create_stream_table("nowhere.t", "SELECT k FROM items")
    assert rows(engine, "SHOW TABLES") == known
    assert [str(t.name) for t in engine.stream_tables()] == ["plain", "tuned"]


def test_if_not_exists_leaves_an_existing_one_alone(engine: Engine) -> None:
    with_items(engine)
    first = engine.create_stream_table_if_not_exists("t", "SELECT k FROM items", schedule="5m")
    again = engine.create_stream_table_if_not_exists("t", "SELECT v FROM items", schedule="1m")
    assert again.query == first.query and "already exists" in again.notices[0]
    assert engine.status("t").schedule == "5m"
    assert columns(engine, "t") == [("k", "int")]


def test_create_or_replace_changes_only_what_differs(engine: Engine) -> None:
    with_items(engine)
    made = engine.create_or_replace_stream_table("t", "SELECT k, v FROM items", schedule="5m")
    same = engine.create_or_replace_stream_table("t", "select k,\n  v -- the value\nfrom items;", schedule="5m")
    assert (same.version, same.epoch, len(engine.history("t"))) == (made.version, 1, 1), "the same query: nothing"

    tuned = engine.create_or_replace_stream_table("t", "SELECT k, v FROM items", schedule="1m")
    assert tuned.options.schedule == "1m" and tuned.version == made.version + 1
    assert len(engine.history("t")) == 1, "options differ: no refresh"

    engine.create_stream_table("reader", "SELECT k FROM t")
    other = engine.create_or_replace_stream_table("t", "SELECT k, COUNT(*) AS n FROM items GROUP BY k", schedule="1m")
    assert other.epoch == 2
    assert columns(engine, "t") == [("k", "int"), ("n", "bigint")]
    assert engine.history("t")[0].reason == "its definition was changed"
    assert_equals_query(engine, "t")
    engine.refresh_stream_table("reader")
    assert_equals_query(engine, "reader")
    engine.sql("INSERT INTO items VALUES (1, 'z'), (7, 'new')")
    assert {o.action for o in engine.refresh_stream_tables(["t", "reader"])} == {Action.DIFFERENTIAL}
    assert_equals_query(engine, "t")
    assert_equals_query(engine, "reader")


def test_altering_checks_everything_first_and_a_failure_changes_nothing(engine: Engine) -> None:
    with_items(engine)
    engine.create_stream_table("t", "SELECT k, v FROM items", schedule="5m")
    engine.create_stream_table("reader", "SELECT v, COUNT(*) AS n FROM t GROUP BY v")
    before = (engine.stream_tables(), rows(engine, "SELECT * FROM t"), rows(engine, "SHOW TABLES IN trickle_internal"))
    for error, changes, message in (
        (UserError, {"schedule": "often"}, "often"),
        (UserError, {"colour": "red"}, "'colour' is not an option"),
        (SqlError, {"query": "SELECT nothing FROM items"}, "nothing"),
        (UserError, {"query": "SELECT k FROM items"}, "'reader', which reads it"),
        (CycleError, {"query": "SELECT 1 AS k, v FROM reader"}, "t -> reader|reader -> t"),
        (CycleError, {"query": "SELECT k, v FROM t"}, "t -> t"),
        (UserError, {"query": "SELECT k, v, rand() AS r FROM items", "refresh_mode": "DIFFERENTIAL"}, "rand"),
    ):
        with pytest.raises(error, match=message):
            engine.alter_stream_table("t", **changes)
        after = (
            engine.stream_tables(),
            rows(engine, "SELECT * FROM t"),
            rows(engine, "SHOW TABLES IN trickle_internal"),
        )
        assert after == before, changes
    with pytest.raises(NotFoundError):
        engine.alter_stream_table("items", schedule="1m")

    assert engine.alter_stream_table("t", schedule="1m", fuse="auto").options.schedule == "1m"
    version = engine.stream_tables()[1].version
    assert engine.alter_stream_table("t").version == version, "nothing to change"
    altered = engine.alter_stream_table("t", query="SELECT k + 1 AS k, v FROM items WHERE k > 1", schedule="2m")
    assert (altered.options.schedule, altered.options.fuse) == ("2m", "auto"), "other options stay"
    assert values(engine, "SELECT * FROM t") == [(3, "b"), (3, "b")]
    engine.refresh_stream_table("reader")
    assert_equals_query(engine, "reader")


def test_changing_the_mode_of_an_unchanged_query_keeps_its_contents(engine: Engine) -> None:
    with_items(engine)
    engine.create_stream_table("t", "SELECT v, COUNT(*) AS n FROM items GROUP BY v")
    engine.sql("INSERT INTO items VALUES (3, 'b')")
    at_once = engine.alter_stream_table("t", refresh_mode="IMMEDIATE")
    assert at_once.effective_mode is RefreshMode.IMMEDIATE
    assert engine.history("t")[0].action is Action.DIFFERENTIAL, "it was brought up to date, not computed again"
    assert_equals_query(engine, "t")

    full = engine.alter_stream_table("t", refresh_mode="FULL")
    assert (full.effective_mode, full.internal_tables) == (RefreshMode.FULL, ())
    engine.sql("INSERT INTO items VALUES (4, 'c')")
    outcome = engine.refresh_stream_table("t")
    assert (outcome.action, outcome.reason) == (Action.FULL, "refresh_mode is FULL")
    engine.alter_stream_table("t", refresh_mode="AUTO", strict=True)
    engine.sql("DELETE FROM items WHERE k = 4")
    assert engine.refresh_stream_table("t").action is Action.DIFFERENTIAL
    assert_equals_query(engine, "t")


def test_dropping_refuses_while_others_read_and_cascades_when_told(engine: Engine) -> None:
    with_items(engine)
    engine.create_stream_table("a", "SELECT v, COUNT(*) AS n FROM items GROUP BY v")
    engine.create_stream_table("b", "SELECT v, n FROM a WHERE n > 1")
    engine.create_stream_table("c", "SELECT v FROM b")
    with pytest.raises(HasDependentsError, match="'b', 'c' read it") as refused:
        engine.drop_stream_table("a")
    assert refused.value.dependents == ("b", "c")
    assert len(engine.stream_tables()) == 3
    assert engine.drop_stream_table("c") == ("c",)
    assert engine.drop_stream_table("a", cascade=True) == ("a", "b")
    assert engine.stream_tables() == ()
    assert [row[1] for row in values(engine, "SHOW TABLES")] == ["items"]
    assert rows(engine, "SHOW TABLES IN trickle_internal") == {}
    with pytest.raises(NotFoundError, match="'a'"):
        engine.drop_stream_table("a")
    with pytest.raises(NotFoundError):
        engine.drop_stream_table("items")
    engine.create_stream_table("a", "SELECT k FROM items")
    assert_equals_query(engine, "a")


def test_suspended_ones_wait_until_they_are_resumed(engine: Engine) -> None:
    with_items(engine)
    engine.create_stream_table("t", "SELECT k FROM items")
    suspended = engine.suspend_stream_table("t")
    assert (suspended.status, engine.suspend_stream_table("t").version) == (Status.SUSPENDED, suspended.version)
    engine.sql("INSERT INTO items VALUES (5, 'e')")
    with pytest.raises(UserError, match="suspended by hand"):
        engine.refresh_stream_table("t")
    engine.resume_stream_table("t")
    assert engine.refresh_stream_table("t").rows_inserted == 1
    for call in (engine.suspend_stream_table, engine.resume_stream_table, engine.status, engine.why, engine.explain):
        with pytest.raises(NotFoundError, match="'nobody'"):
            call("nobody")
