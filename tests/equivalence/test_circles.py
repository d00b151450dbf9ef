"""Circles of stream tables over random graphs, through many changes, compared with what each comes to from empty.

Graphs have cycles, loops and parts that nothing leads to; rows come and go, several tables at once, sometimes all of
a table. The plans, changes and losses are those that run on Spark.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import rustworkx as rx

from tests.support.duck import Row, Table
from tests.support.duck_circles import Circle, Diverges, least_fixed_point

SEEDS = int(os.environ.get("TRICKLE_CIRCLE_EXAMPLES", "2"))
STEPS = 5

PAIRS, NODES = "src INTEGER, dst INTEGER", "node INTEGER"
BASE = (Table("edges", PAIRS), Table("seed", NODES), Table("attr", "node INTEGER, ok BOOLEAN"))


@dataclass(frozen=True)
class Shape:
    """Queries by name, and the columns that all of them have."""

    columns: str
    queries: dict[str, str]
    upward: bool = False
    """Edges mostly lead from lower to higher numbers: as bags, over a cycle, it would grow for ever."""


def _reached(more: str) -> Shape:
    """Nodes that are reached from the marked ones, along what the text says."""
    return Shape(NODES, {"m": f"SELECT node FROM seed UNION {more}"})


SHAPES = {
    "closure through two": Shape(
        PAIRS,
        {
            "ra": "SELECT DISTINCT e.src, b.dst FROM edges e JOIN rb b ON e.dst = b.src",
            "rb": "SELECT src, dst FROM edges UNION SELECT a.src, e.dst FROM ra a JOIN edges e ON a.dst = e.src",
        },
    ),
    "closure through three": Shape(
        PAIRS,
        {
            "x": "SELECT src, dst FROM edges UNION SELECT src, dst FROM z",
            "y": "SELECT DISTINCT x.src, e.dst FROM x JOIN edges e ON x.dst = e.src",
            "z": "SELECT src, dst FROM y WHERE src IS NOT NULL",
        },
    ),
    "closure by itself": Shape(
        PAIRS, {"t": "SELECT src, dst FROM edges UNION SELECT a.src, b.dst FROM t a JOIN t b ON a.dst = b.src"}
    ),
    "same generation": Shape(
        PAIRS,
        {
            "sg": "SELECT a.dst AS src, b.dst FROM edges a JOIN edges b ON a.src = b.src UNION "
            "SELECT a.dst, b.dst FROM edges a JOIN sg ON a.src = sg.src JOIN edges b ON b.src = sg.dst"
        },
    ),
    "reached from marked nodes, with attributes": Shape(
        NODES,
        {
            "m": "SELECT node FROM seed UNION SELECT e.dst FROM edges e JOIN c ON e.src = c.node "
            "JOIN attr ON attr.node = e.dst WHERE attr.ok",
            "c": "SELECT node FROM m",
        },
    ),
    "distinct and union all": Shape(
        PAIRS,
        {
            "p": "SELECT DISTINCT e.src, e.dst FROM edges e UNION ALL "
            "SELECT q.src, e.dst FROM q JOIN edges e ON q.dst = e.src",
            "q": "SELECT DISTINCT e.src, p.dst FROM edges e JOIN p ON e.dst = p.src",
        },
        upward=True,
    ),
    "bags": Shape(
        PAIRS,
        {
            "p": "SELECT src, dst FROM edges UNION ALL SELECT q.src, e.dst FROM q JOIN edges e ON q.dst = e.src",
            "q": "SELECT src, dst FROM p",
        },
        upward=True,
    ),
    "in": _reached("SELECT dst FROM edges WHERE src IN (SELECT node FROM m)"),
    "exists": _reached(
        "SELECT dst FROM edges WHERE EXISTS (SELECT 1 FROM m WHERE m.node = edges.src) AND EXISTS (SELECT 1 FROM m)"
    ),
    "exists, or": _reached(
        "SELECT dst FROM edges WHERE EXISTS (SELECT 1 FROM m WHERE m.node = edges.src) OR "
        "(dst IN (SELECT node FROM m) AND src NOT IN (SELECT node FROM attr)) OR src = dst"
    ),
    "not in, beside": _reached(
        "SELECT e.dst FROM edges e JOIN m ON e.src = m.node WHERE e.dst NOT IN (SELECT node FROM attr)"
    ),
    "anti join, beside": _reached(
        "SELECT e.dst FROM edges e JOIN m ON e.src = m.node LEFT ANTI JOIN attr ON attr.node = e.dst"
    ),
    "except, beside": _reached("(SELECT e.dst FROM edges e JOIN m ON e.src = m.node EXCEPT SELECT node FROM attr)"),
    "intersect": _reached(
        "SELECT node FROM (SELECT e.dst AS node FROM edges e JOIN m ON e.src = m.node INTERSECT SELECT node FROM attr)"
    ),
    "left join": _reached(
        "SELECT CASE WHEN a.node IS NULL THEN e.dst END FROM m JOIN edges e ON e.src = m.node "
        "LEFT JOIN (SELECT DISTINCT node FROM attr) a ON a.node = e.dst"
    ),
    "aggregate, beside": _reached(
        "SELECT e.dst FROM m JOIN edges e ON e.src = m.node "
        "JOIN (SELECT node, COUNT(*) AS n FROM attr GROUP BY node) a ON a.node = e.dst WHERE a.n < 3"
    ),
    "window, beside": _reached(
        "SELECT e.dst FROM m JOIN (SELECT src, dst, RANK() OVER (PARTITION BY src ORDER BY dst) AS n FROM edges) e "
        "ON e.src = m.node WHERE e.n <= 2"
    ),
    "group by without aggregates": Shape(
        NODES,
        {
            "m": "SELECT node FROM seed UNION ALL SELECT node FROM g WHERE node NOT IN (SELECT node FROM seed)",
            "g": "SELECT e.dst AS node FROM m JOIN edges e ON e.src = m.node GROUP BY e.dst",
        },
    ),
}


class Story:
    """Tables that change by chance."""

    def __init__(self, dice: random.Random, *, upward: bool) -> None:
        self.dice, self.upward = dice, upward
        self.most = dice.randint(2, 6)
        makers: dict[str, Callable[[], Row]] = {"edges": self._edge, "seed": self._node, "attr": self._attribute}
        self.makers = makers
        self.rows = {name: [make() for _ in range(dice.randint(0, 8))] for name, make in makers.items()}
        del self.rows["seed"][2:]

    def go_on(self) -> None:
        for name, rows in self.rows.items():
            for _ in range(self.dice.randint(0, 2)):
                if rows and self.dice.random() < 0.5:
                    rows.remove(self.dice.choice(rows))
                else:
                    rows.append(self.makers[name]())
            if self.dice.random() < 0.05:
                rows.clear()

    def _edge(self) -> Row:
        ends = [self.dice.randint(1, self.most) for _ in range(2)]
        if self.upward and self.dice.random() < 0.97:
            return min(ends), max(ends) + (ends[0] == ends[1])
        return tuple(ends)

    def _node(self) -> Row:
        return (self.dice.randint(1, self.most),)

    def _attribute(self) -> Row:
        return self.dice.randint(1, self.most), self.dice.random() < 0.7


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", SHAPES)
def test_a_circle_is_always_what_it_comes_to_from_empty(name: str, seed: int) -> None:
    shape = SHAPES[name]
    story = Story(random.Random(f"{name} {seed}"), upward=shape.upward)
    circle = Circle(BASE, shape.queries, dict.fromkeys(shape.queries, shape.columns), limit=25)
    for step in range(STEPS):
        if step:
            story.go_on()
        try:
            expected = least_fixed_point(circle, story.rows)
        except Diverges:
            with pytest.raises(Diverges):
                circle.refresh(story.rows)
            return
        circle.refresh(story.rows)
        for member in shape.queries:
            assert circle.rows(member) == expected[member], (step, member, story.rows)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_transitive_closure_is_that_of_a_library_for_graphs(seed: int) -> None:
    shape = SHAPES["closure by itself"]
    story = Story(random.Random(seed), upward=False)
    circle = Circle(BASE, shape.queries, {"t": PAIRS})
    for _ in range(STEPS):
        story.go_on()
        circle.refresh(story.rows)
        graph: rx.PyDiGraph[int, Any] = rx.PyDiGraph()
        graph.add_nodes_from(range(10))
        graph.add_edges_from_no_data([(src, dst) for src, dst in story.rows["edges"]])
        reached = {(src, end) for src, dst in story.rows["edges"] for end in (dst, *rx.descendants(graph, dst))}
        farther = {(a, end) for a in range(10) for end in rx.descendants(graph, a)} | reached
        assert circle.rows("t") == Counter(farther)


def test_rows_that_have_only_each_other_go_and_those_with_another_way_stay() -> None:
    shape = SHAPES["in"]
    circle = Circle(BASE, shape.queries, {"m": NODES})
    ring = [(2, 3), (3, 4), (4, 2)]
    circle.refresh({"edges": [(1, 2), *ring], "seed": [(1,)], "attr": []})
    assert circle.rows("m") == Counter([(1,), (2,), (3,), (4,)])
    circle.refresh({"edges": ring, "seed": [(1,)], "attr": []})
    assert circle.rows("m") == Counter([(1,)])
    assert circle.derived, "what is lost was told without a look at the table"
    # With a second entry the ring stays, though each of its rows lost a derivation.
    circle.refresh({"edges": [(1, 2), (1, 4), *ring], "seed": [(1,)], "attr": []})
    circle.refresh({"edges": [(1, 4), *ring], "seed": [(1,)], "attr": []})
    assert circle.rows("m") == Counter([(1,), (2,), (3,), (4,)])


def test_a_row_that_was_never_there_leads_to_no_others() -> None:
    """Numbers up to the first blocked one. To block it twice takes nothing away, and beyond it there is no end."""
    query = "SELECT node FROM seed UNION ALL SELECT m.node + 1 FROM m LEFT ANTI JOIN attr ON attr.node = m.node + 1"
    circle = Circle(BASE, {"m": query}, {"m": NODES})
    for blocked, last in (([5], 4), ([5, 5], 4), ([5, 3], 2), ([4], 3)):
        circle.refresh({"edges": [], "seed": [(1,)], "attr": [(node, True) for node in blocked]})
        assert circle.rows("m") == Counter((node,) for node in range(1, last + 1))
