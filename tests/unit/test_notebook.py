"""How values look in a notebook: escaped, short, and all that are promised do."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest

import spark_trickle.engine
from spark_trickle.errors import InternalError, NotFoundError
from spark_trickle.html import Listing, Svg, cell
from spark_trickle.model.frontier import Frontier
from spark_trickle.model.refresh import Action, HistoryRow, Outcome, RefreshOutcome, Verification
from spark_trickle.model.stream_table import RefreshMode
from spark_trickle.model.tick import Failed, TickReport
from spark_trickle.sla import Sla
from spark_trickle.views import Explanation, GraphNode, Reason, WhyAnswer, graph, status_of
from tests.support.catalog_values import NOON, stream_table

assert spark_trickle.engine, "which says how values look"

HOSTILE = "<img src=x onerror=alert(1)>\"'&"
TABLE = stream_table(f"`{HOSTILE}`", query=f"SELECT '{HOSTILE}'", status_reason=HOSTILE, notices=(HOSTILE,))
OUTCOME = RefreshOutcome(
    name=HOSTILE, action=Action.FULL, status=Outcome.FAILED, mode="FULL", reason=HOSTILE, rows_inserted=1234
)
REASON = Reason(HOSTILE, HOSTILE, HOSTILE)
ROW = HistoryRow(
    name=HOSTILE,
    action=Action.SKIP,
    status=Outcome.SKIPPED,
    mode=None,
    reason=HOSTILE,
    error=None,
    started_at=NOON,
    duration_ms=1,
    rows_inserted=0,
    rows_deleted=0,
    frontier=Frontier(),
    cut=None,
    group=None,
    epoch=1,
    jobs=0,
    commits=0,
    initiated_by="MANUAL",
)
VALUES = (
    TABLE,
    OUTCOME,
    Verification(name=HOSTILE, ok=False, missing_rows=1, unexpected_rows=2, frontier=Frontier(), sample=(HOSTILE,)),
    WhyAnswer(HOSTILE, False, (REASON,), (REASON,)),
    WhyAnswer(HOSTILE, True),
    Explanation(name=HOSTILE, query=HOSTILE, mode=RefreshMode.FULL, reason=HOSTILE, tree=HOSTILE, delta_sql=HOSTILE),
    TickReport(cut="c", units=1, failed=(Failed(name=HOSTILE, error=HOSTILE),)),
    status_of(TABLE, datetime.now(UTC)),
)
LISTS = (
    Listing([TABLE]),
    Listing([OUTCOME] * 250),
    Listing([ROW]),
    Listing([status_of(TABLE, datetime.now(UTC))]),
    Listing([Sla(name=HOSTILE, schedule=HOSTILE, promised=True, counted_since=NOON)]),
)


@pytest.mark.parametrize("value", [*VALUES, *LISTS], ids=lambda value: type(value).__name__)
def test_it_is_html_with_every_text_escaped(value: object) -> None:
    made = value._repr_html_()  # type: ignore[attr-defined]
    assert made and "<img" not in made and "&lt;img" in made
    ElementTree.fromstring(f"<div>{made}</div>")


@pytest.mark.parametrize("value", [*VALUES, ROW], ids=lambda value: type(value).__name__)
def test_its_repr_is_one_short_line(value: object) -> None:
    if not isinstance(value, TickReport):
        assert len(repr(value)) < 150 and "\n" not in repr(value)


def test_a_list_is_a_list_and_an_empty_or_long_one_is_shown_as_such() -> None:
    assert Listing([1, 2]) == [1, 2] and Listing([1])._repr_html_() is None
    assert Listing[int]()._repr_html_() is None
    assert "and 50 more" in str(LISTS[1]._repr_html_())
    assert cell(None) == "" and cell(["<", 1]) == "&lt;, 1"


def test_the_graph_is_a_picture_with_every_name_as_text() -> None:
    nodes = (
        GraphNode("orders", "TABLE"),
        GraphNode(HOSTILE, "STREAM_TABLE", ("orders", "v")),
        GraphNode("v", "VIEW"),
        GraphNode("a\x00b", "STREAM_TABLE", ("a\x00b", HOSTILE)),
    )
    made = graph(nodes, "svg")
    assert isinstance(made, Svg) and made._repr_svg_() == made
    assert "<img" not in made and "script" not in made
    root = ElementTree.fromstring(made)
    assert len([each for each in root.iter() if each.tag.endswith("path")]) == 4
    ElementTree.fromstring(graph((), "svg"))


def test_an_error_of_the_user_is_shown_without_the_way_it_came() -> None:
    assert NotFoundError("table", "t")._render_traceback_() == ["NotFoundError: table 't' does not exist"]
    try:
        raise InternalError("a bug")
    except InternalError as err:
        assert any("test_notebook.py" in line for line in err._render_traceback_())
