"""What the scheduler keeps in the catalog: its lease with the fence, failures, what it remembers, cuts read again."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Connection

from spark_trickle.catalog import gates
from spark_trickle.catalog.catalog import Catalog
from spark_trickle.catalog.rereading import CutReader
from spark_trickle.errors import DeposedError, UnavailableError
from spark_trickle.model.gate import Gate, GateChange
from spark_trickle.model.intervention import InterventionStatus
from spark_trickle.model.publication import Cut, Publication, Swap
from spark_trickle.model.refresh import Action
from spark_trickle.model.standing import Failure, Standing, UnderWay
from spark_trickle.model.stream_table import Status
from spark_trickle.names import TableName
from tests.support.catalog_values import NOON, history_row, stream_table

T = TableName.parse
TEN = timedelta(seconds=10)


def test_the_lease_is_held_by_one_at_a_time_and_its_token_advances(catalog: Catalog) -> None:
    first = catalog.take_lease("one", NOON, NOON + TEN)
    assert first is not None and first.token == 1 and first.holder == "one"
    assert catalog.take_lease("two", NOON + TEN / 2, NOON + TEN) is None
    second = catalog.take_lease("two", NOON + TEN, NOON + 2 * TEN)
    assert second is not None and second.token == 2
    assert catalog.lease() == second
    with pytest.raises(DeposedError):
        catalog.renew_lease(1, NOON + 9 * TEN)
    catalog.give_back_lease(1)
    assert catalog.lease().holder == "two"
    catalog.renew_lease(2, NOON + 3 * TEN, NOON + TEN)
    assert (catalog.lease().expires_at, catalog.lease().ticked_at) == (NOON + 3 * TEN, NOON + TEN)
    catalog.give_back_lease(2)
    assert not catalog.lease().live(NOON)
    third = catalog.take_lease("three", NOON, NOON + TEN)
    assert third is not None and third.token == 3


def test_whoever_lost_the_lease_publishes_nothing(catalog: Catalog) -> None:
    catalog.insert(stream_table("totals"))
    catalog.take_lease("one", NOON, NOON)
    catalog.publish(Publication(swaps=(Swap(T("orders"), None, "m1"),), fence=1))
    catalog.take_lease("two", NOON, NOON + TEN)
    with pytest.raises(DeposedError):
        catalog.publish(Publication(swaps=(Swap(T("orders"), "m1", "m2"),), history=(history_row("x"),), fence=1))
    failure = Failure(table=T("totals"), error="boom", at=NOON, permanent=True, retry_at=None)
    with pytest.raises(DeposedError):
        catalog.fail([failure], [history_row("totals")], fence=1)
    assert catalog.pointers()[T("orders")].location == "m1"
    assert catalog.get(T("totals")).status is Status.ACTIVE
    assert catalog.history(limit=None) == ()


def test_failures_that_may_go_away_suspend_after_too_many_in_a_row(catalog: Catalog) -> None:
    catalog.insert(stream_table("totals"))
    for n in (1, 2, 3):
        failed = catalog.get(T("totals"))
        assert (failed.status, failed.consecutive_errors) == (Status.ACTIVE, n - 1)
        retry = NOON + n * TEN
        failure = Failure(table=T("totals"), error=f"boom {n}", at=NOON, permanent=False, retry_at=retry)
        catalog.fail([failure], [history_row("totals", error=f"boom {n}")])
        assert catalog.standings()[T("totals")] == Standing(table=T("totals"), retry_at=retry, error=f"boom {n}")
    failed = catalog.get(T("totals"))
    assert (failed.status, failed.status_since) == (Status.SUSPENDED, NOON)
    assert failed.status_reason == "3 refreshes in a row failed, the last one with boom 3"
    assert len(catalog.history(T("totals"))) == 3


def test_failures_of_another_catalog_suspend_nobody(catalog: Catalog) -> None:
    catalog.insert(stream_table("totals"))
    for n in range(1, 9):
        failure = Failure(table=T("totals"), error="away", at=NOON, permanent=False, retry_at=NOON, outside=True)
        catalog.fail([failure], [history_row("totals", error="away")])
        assert (catalog.get(T("totals")).status, catalog.get(T("totals")).consecutive_errors) == (Status.ACTIVE, n)


def test_a_failure_that_will_come_again_is_an_error_at_once(catalog: Catalog) -> None:
    catalog.insert(stream_table("totals"))
    catalog.fail([Failure(table=T("totals"), error="boom", at=NOON, permanent=True, retry_at=None)], [])
    failed = catalog.get(T("totals"))
    assert (failed.status, failed.status_reason, failed.consecutive_errors) == (Status.ERROR, "boom", 1)


def test_a_failure_of_what_was_dropped_meanwhile_is_only_history(catalog: Catalog) -> None:
    failure = Failure(table=T("gone"), error="boom", at=NOON, permanent=True, retry_at=None)
    catalog.fail([failure], [history_row("gone")])
    catalog.publish(Publication(standings=(Standing(table=T("gone"), held="x"),)))
    assert (catalog.standings(), len(catalog.history(limit=None))) == ({}, 1)


def test_what_is_remembered_comes_back_equal_and_goes_with_its_stream_table(catalog: Catalog) -> None:
    table = catalog.insert(stream_table("totals"))
    kept = Standing(table=T("totals"), held="gated", held_since=NOON, retry_at=NOON + TEN, error="boom", slowed=4)
    catalog.publish(Publication(standings=(kept,)))
    assert catalog.standings() == {T("totals"): kept}
    catalog.publish(Publication(standings=(Standing(table=T("totals")),)))
    assert catalog.standings() == {}
    catalog.publish(Publication(standings=(kept,)))
    catalog.delete(table)
    assert catalog.standings() == {}


def test_a_cut_read_again_is_the_same_value_until_something_changes_and_then_equal_to_one_read_anew(
    catalog: Catalog,
) -> None:
    read = CutReader(catalog)
    known = [read()]

    def moved() -> bool:
        known.append(read())
        assert known[-1] == anew(catalog)
        assert list(known[-1].tables) == list(anew(catalog).tables)
        return known[-1] is not known[-2]

    assert not moved()
    table = catalog.insert(stream_table("totals"))
    assert moved() and not moved()
    catalog.swap([Swap(T("orders"), None, "m1")])
    assert moved() and not moved()
    other = catalog.insert(stream_table("a_first_one"))
    assert moved() and not moved()
    assert known[-1].tables[T("totals")] is known[-2].tables[T("totals")]
    catalog.update(replace(table, epoch=7))
    assert moved() and not moved()
    catalog.swap([Swap(T("orders"), "m1", "m2")])
    assert moved() and not moved()
    catalog.change_gates([GateChange(source=T("orders"), gated=True, at=NOON, by="me")])
    assert moved() and not moved()
    catalog.delete(other)
    catalog.insert(stream_table("a_first_one", ("elsewhere",), created_at=NOON + TEN))
    assert moved() and not moved()
    assert known[-1].tables[T("a_first_one")].sources[0].table == T("elsewhere")
    catalog.swap([Swap(T("orders"), "m2", None)])
    assert moved() and not moved()
    catalog.publish(Publication(namespaces=("without_tables",)))
    assert moved() and not moved()


def anew(catalog: Catalog) -> Cut:
    """All of it read from the database."""
    with catalog.read() as connection:
        return catalog.cut_of_lake(connection)


def test_a_cut_that_could_not_be_read_to_its_end_is_read_again(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.insert(stream_table("totals"))
    catalog.cut()
    catalog.change_gates([GateChange(source=T("orders"), gated=True, at=NOON, by="me")])

    def away(connection: Connection, *, closed_only: bool) -> dict[TableName, Gate]:
        raise UnavailableError("the database is away")

    with monkeypatch.context() as patched:
        patched.setattr(gates, "read", away)
        with pytest.raises(UnavailableError):
            catalog.cut()
    assert catalog.cut() == anew(catalog) and list(catalog.cut().gates) == [T("orders")]


def test_threads_that_read_cuts_beside_writers_see_what_was_committed_before_they_asked(catalog: Catalog) -> None:
    written, wrong, over = [0], list[str](), threading.Event()

    def look() -> None:
        while not over.is_set():
            least = written[0]
            seen = catalog.cut_of_lake()
            counts = {table.epoch for table in seen.tables.values()} or {0}
            if min(counts) < least or len(counts) > 1 or len(seen.pointers) != max(counts) > 0:
                wrong.append(f"{counts} and {len(seen.pointers)} tables, when {least} were published")

    readers = [threading.Thread(target=look) for _ in range(3)]
    tables = [catalog.insert(stream_table(name)) for name in ("a", "b")]
    for reader in readers:
        reader.start()
    try:
        for number in range(1, 60):
            swap = Swap(T(f"source{number}"), None, "m1")
            catalog.publish(Publication(swaps=(swap,), updated=tuple(replace(t, epoch=number) for t in tables)))
            tables = [catalog.get(table.name) for table in tables]
            written[0] = number
    finally:
        over.set()
        for reader in readers:
            reader.join()
    assert not wrong, wrong[:3]


def test_what_is_under_way_is_told_with_the_lease_and_gone_with_it(catalog: Catalog) -> None:
    catalog.take_lease("a", NOON, NOON + TEN)
    running = (UnderWay((TableName("s", "t`1"), TableName.parse("u")), NOON),)
    catalog.renew_lease(1, NOON + 2 * TEN, NOON, running)
    assert catalog.lease().running == running
    catalog.renew_lease(1, NOON + 3 * TEN)
    assert catalog.lease().running == ()
    catalog.renew_lease(1, NOON + 3 * TEN, NOON, running)
    catalog.give_back_lease(1)
    assert catalog.lease().running == ()


def test_what_people_do_is_written_when_it_begins_and_when_it_ends(catalog: Catalog) -> None:
    first = catalog.begin_intervention("refresh", "totals", "ann", "page", NOON)
    second = catalog.begin_intervention("suspend", "other", "ben", "api", NOON + TEN)
    catalog.end_intervention(first, InterventionStatus.FAILED, "no such thing", 12.5)
    newest, oldest = catalog.interventions()
    assert (newest.id, newest.status, newest.duration_ms) == (second, InterventionStatus.RUNNING, None)
    assert (oldest.by, oldest.via, oldest.detail, oldest.began_at) == ("ann", "page", "no such thing", NOON)
    assert [each.id for each in catalog.interventions("totals")] == [first]
    catalog.prune_history(NOON + TEN)
    assert [each.id for each in catalog.interventions()] == [second]


def test_history_is_read_on_from_a_row(catalog: Catalog) -> None:
    catalog.record([history_row(name, started_at=NOON + i * TEN) for i, name in enumerate("abcd")])
    numbers = [row.id for row in catalog.activity(0, NOON, 10)]
    assert [row.name for row in catalog.activity(numbers[1], NOON, 10)] == ["c", "d"]
    assert [row.name for row in catalog.activity(0, NOON + TEN, 10)] == ["b", "c", "d"]
    assert [row.name for row in catalog.activity(0, NOON, 2)] == ["c", "d"]
    assert catalog.activity(numbers[2], NOON, 1)[0].action is Action.DIFFERENTIAL
