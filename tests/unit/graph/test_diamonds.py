"""Diamonds, by the names that the plan for them gives its tests, and the pictures that users are shown."""

from __future__ import annotations

from spark_trickle.graph.dag import data_flow
from spark_trickle.graph.diamonds import Diamond, diamonds
from spark_trickle.model.stream_table import Source
from spark_trickle.names import TableName
from tests.support.catalog_values import stream_table
from tests.support.graphs import tables_of


def found(text: str) -> dict[str, Diamond]:
    return {str(diamond.convergence): diamond for diamond in diamonds(data_flow(tables_of(text).values()))}


def shown(names: object) -> list[str]:
    return [str(name) for name in names]  # type: ignore[attr-defined]


def test_detect_diamonds_simple() -> None:
    (diamond,) = found("b: a; c: a; d: b c").values()
    assert str(diamond.convergence) == "d"
    assert shown(diamond.intermediates) == ["b", "c"]
    assert shown(diamond.shared_sources) == ["a"]
    assert [shown(path) for path in diamond.paths()] == [["a", "b", "d"], ["a", "c", "d"]]


def test_detect_diamonds_deep() -> None:
    (diamond,) = found("b: a; e: b; c: a; d: e c").values()
    assert str(diamond.convergence) == "d"
    assert sorted(shown(diamond.intermediates)) == ["b", "c", "e"]
    assert [shown(path) for path in diamond.paths()] == [["a", "c", "d"], ["a", "b", "e", "d"]]


def test_detect_diamonds_none() -> None:
    assert found("b: a; c: b; d: c") == {}


def test_detect_diamonds_overlapping() -> None:
    both = found("b: a; c: a; e: a; d: b c; f: c e")
    assert {name: shown(diamond.intermediates) for name, diamond in both.items()} == {
        "d": ["b", "c"],
        "f": ["c", "e"],
    }


def test_detect_diamonds_multiple_roots() -> None:
    assert found("b: x; c: y; d: b c") == {}


def test_a_direct_edge_from_a_base_table_is_a_path_too() -> None:
    (diamond,) = found("b: a; d: a b").values()
    assert shown(diamond.members) == ["b", "d"]
    assert [shown(path) for path in diamond.paths()] == [["a", "d"], ["a", "b", "d"]]


def test_what_all_paths_share_is_a_source_and_no_member() -> None:
    (diamond,) = found("top: base; b: top; c: top; d: b c").values()
    assert shown(diamond.members) == ["b", "c", "d"]
    assert shown(diamond.shared_sources) == ["base", "top"]
    assert {path[0].name for path in diamond.paths()} == {"top"}


def test_what_a_direct_edge_goes_around_is_a_member_though_other_branches_share_it() -> None:
    (diamond,) = found("top: base; b: top; c: top; d: b c base").values()
    assert shown(diamond.members) == ["top", "b", "c", "d"]


def test_a_source_of_one_branch_only_is_no_member() -> None:
    (diamond,) = found("own: other; b: a own; c: a; d: b c").values()
    assert shown(diamond.members) == ["c", "b", "d"]


def test_what_reads_the_convergence_is_in_no_diamond() -> None:
    assert set(found("b: a; c: a; d: b c; e: d; f: e")) == {"d"}


def test_deeper_diamonds() -> None:
    """The picture of the blog post: one at C, one at E; and one at D, which reads source_2 directly, too."""
    deeper = found("A: source_1; B: source_1 source_2; C: A B; D: B source_2; E: C D")
    assert {name: shown(diamond.intermediates) for name, diamond in deeper.items()} == {
        "C": ["A", "B"],
        "D": ["B"],
        "E": ["A", "C", "D"],
    }
    assert shown(deeper["E"].shared_sources) == ["source_1", "source_2", "B"]


def test_two_stream_tables_that_read_one_view_share_what_the_view_reads() -> None:
    """A view is inlined: its tables are sources, and it is none."""

    def over_view(name: str, base: str) -> object:
        sources = (Source(table=TableName.parse("v"), kind="VIEW"), Source(table=TableName.parse(base), kind="TABLE"))
        return stream_table(name, sources=sources)

    same = [over_view("b", "a"), over_view("c", "a"), stream_table("d", ("b", "c"))]
    (diamond,) = diamonds(data_flow(same))  # type: ignore[arg-type]
    assert shown(diamond.shared_sources) == ["a"]


def test_a_circle_counts_as_one_table() -> None:
    (diamond,) = found("p: a q; q: p; b: a; d: q b").values()
    assert shown(diamond.members) == ["b", "p", "q", "d"]
