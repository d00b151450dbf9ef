"""Tables and columns that are called like something of ours."""

from __future__ import annotations

import pytest

from spark_trickle.errors import UnsupportedSqlError
from tests.support.duck import Kept, Lake, Table, duck_name, source
from tests.support.our_names import FIRST, KINDS, LEAVES, WINDOWS, cases


def kept(query: str, *names: str) -> Kept:
    """A stream table over three tables, all of it kept through some windows."""
    lake = Lake([Table(name, "id BIGINT, v INTEGER") for name in names])
    for name, rows in zip(names, FIRST.values(), strict=True):
        lake.insert(name, rows)
    stream = Kept(lake, query.format_map(dict(zip("abc", (f"`{name}`" for name in names), strict=True))))
    stream.large = dict.fromkeys(stream.leaves, 10) if len(names[0]) % 2 else {}
    stream.check()
    places = dict(zip("abc", (duck_name(source(name)) for name in names), strict=True))
    for window in WINDOWS:
        for statement in window:
            lake.run(statement.format_map(places))
        stream.step()
    return stream


def test_tables_with_names_of_ours_are_tables_like_others() -> None:
    for kind, names in cases(LEAVES):
        kept(KINDS[kind], *names)


def test_a_table_is_not_taken_for_the_state_of_the_same_name() -> None:
    query = (
        "SELECT x.id, x.n, {a}.v, {c}.v AS w FROM (SELECT id, COUNT(*) AS n, SUM(v) AS s FROM {b} GROUP BY id) x "
        "JOIN {a} ON {a}.id = x.id LEFT JOIN {c} ON {c}.id = {a}.id"
    )
    label = kept(query, "a", "b", "c").maintenance.nodes[0].label
    assert label.startswith("state_")
    found = kept(query, label, "b", "public").maintenance
    assert [node.label for node in found.nodes] == [label, "public"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x.id, x._weight, y._trickle_n AS n, y.q1 AS trickle_t FROM x JOIN y ON x._weight = y._weight",
        "SELECT _weight, SUM(_trickle_n) AS trickle_file, MAX(q1) AS grouping_set FROM x GROUP BY ROLLUP (_weight)",
        "SELECT DISTINCT x._weight, y._trickle_n AS q1 FROM x LEFT JOIN y ON x._weight = y._weight AND x.q1 < y.q1",
    ],
)
def test_columns_with_names_of_ours_are_columns_like_others(query: str) -> None:
    columns = "id BIGINT, _weight INTEGER, _trickle_n INTEGER, q1 INTEGER"
    stream = Kept(Lake([Table("x", columns), Table("y", columns)]), query)
    for statement in (
        "INSERT INTO after.x VALUES (1, 1, 2, 3), (1, 1, 2, 3), (2, 2, NULL, 4)",
        "UPDATE after.x SET _weight = 3 - _weight, _trickle_n = 7",
        "DELETE FROM after.x WHERE _weight = 2",
    ):
        stream.lake.run(statement)
        stream.lake.run(statement.replace("after.x", "after.y"))
        stream.step()


def test_a_column_called_like_the_weight_is_refused_where_it_is_read() -> None:
    lake = Lake([Table("x", "id BIGINT, _Trickle_Weight INTEGER")])
    assert Kept(lake, "SELECT id FROM x").maintenance.sources == (source("x"),)
    with pytest.raises(UnsupportedSqlError, match="a column called _trickle_weight cannot be kept incrementally"):
        Kept(lake, "SELECT id, _trickle_weight AS w FROM x")
