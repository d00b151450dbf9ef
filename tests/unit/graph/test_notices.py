"""What the user is told when a stream table makes a diamond or stands beside a declared group."""

from __future__ import annotations

from spark_trickle.graph.notices import left_over, notices
from spark_trickle.model.groups import DeclaredGroup
from spark_trickle.names import TableName
from tests.support.graphs import tables_of


def told(text: str, name: str, *declared: DeclaredGroup, before: str | None = None, none: str = "") -> list[str]:
    """The notices of a stream table that is made, or altered if it was there `before`."""
    tables = tables_of(text, none=tuple(none.split()))
    new = TableName.parse(name)
    others = {key: table for key, table in tables.items() if key != new} if before is None else tables_of(before)
    return list(notices(tables[new], others, declared))


def group(members: str) -> DeclaredGroup:
    return DeclaredGroup(name="g", members=tuple(TableName.parse(member) for member in members.split()))


SALES = "revenue_by_region: sales; revenue_by_product: sales; exec_summary: revenue_by_region revenue_by_product"


def test_the_notice_names_the_paths_of_the_diamond() -> None:
    assert told(SALES, "exec_summary") == [
        "'exec_summary' makes a diamond: 'sales' reaches it on several paths: "
        "sales -> revenue_by_product -> exec_summary; sales -> revenue_by_region -> exec_summary. "
        "They are refreshed at one cut and published together"
    ]


def test_with_none_the_notice_says_what_may_be_seen_and_what_to_do() -> None:
    (notice,) = told(SALES, "exec_summary", none="exec_summary")
    assert "'exec_summary' may combine two versions; consider diamond_consistency='atomic'" in notice


def test_a_stream_table_without_a_diamond_is_told_nothing() -> None:
    assert told("b: a; c: b", "c") == []
    assert told(f"{SALES}; report: exec_summary", "report") == []


def test_each_source_of_several_is_named() -> None:
    (notice,) = told("b: x y; c: x y; d: b c", "d")
    assert "'x', 'y' reach it on several paths: x -> b -> d; x -> c -> d; y -> b -> d; y -> c -> d." in notice


def test_a_diamond_with_very_many_paths_names_some() -> None:
    wide = "; ".join(f"b{i}: a" for i in range(40))
    (notice,) = told(f"{wide}; d: {' '.join(f'b{i}' for i in range(40))}", "d")
    assert "and 2 more" in notice
    assert len(notice) < 400


def test_a_new_query_tells_of_a_diamond_that_it_makes_further_down() -> None:
    (notice,) = told("b: a; c: a; d: b c", "c", before="b: a; c: x; d: b c")
    assert notice.startswith("'d' makes a diamond: 'a' reaches it")


def test_a_new_query_does_not_tell_again_of_diamonds_that_were_there() -> None:
    assert told("b: a; c: a; d: b c", "c", before="b: a; c: a x; d: b c") == []


def test_joining_members_of_a_declared_group_is_warned_about() -> None:
    (notice,) = told("b2: b1; c2: c1; d: b2 c2", "d", group("b2 c2"))
    assert notice.startswith("'d' joins 'b2', 'c2' of the refresh group 'g' and is no member of it.")
    assert "drop_refresh_group('g')" in notice


def test_joining_what_depends_on_members_is_warned_about_too() -> None:
    assert len(told("b2: b1; c2: c1; b3: b2; d: b3 c2", "d", group("b2 c2"))) == 1


def test_reading_one_member_or_one_after_the_other_is_not_warned_about() -> None:
    assert told("b2: b1; c2: c1; d: b2 x", "d", group("b2 c2")) == []
    assert told("b2: b1; c2: b2; d: c2", "d", group("b2 c2")) == []


def test_dropping_members_tells_what_is_left_of_the_group() -> None:
    dropped = {TableName.parse("b")}
    assert left_over(dropped, [group("a b"), group("c d")]) == (
        "refresh group 'g' groups nothing any more; drop_refresh_group('g') removes it",
    )
    assert left_over(dropped, [group("a b c")]) == ("refresh group 'g' has 2 members left",)
