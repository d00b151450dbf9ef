"""Every view in a real browser: what it shows, live, narrow, in the dark, and with names that mean harm."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from spark_trickle.engine import Engine
from tests.browser.conftest import Open
from tests.support.page_lake import HOSTILE, LONG

VIEWS = {
    "overview": "",
    "graph": "#/graph",
    "tables": "#/tables",
    "table": "#/table/exec_summary",
    "activity": "#/activity",
    "hostile": f"#/table/{quote(HOSTILE, safe='')}",
    "long": f"#/table/{LONG}",
}


def test_the_overview_leads_to_what_needs_somebody(opened: Open) -> None:
    with opened() as visit:
        page = visit.go()
        expect(page.locator(".tile.held b")).to_have_text("6")
        expect(page.locator(".at-attention li").first).to_contain_text("rates_daily")
        expect(page.locator(".at-scheduler")).to_contain_text("process 4711")
        expect(page.locator(".at-hold")).to_contain_text("returns")
        expect(page.locator(".lane")).to_have_count(12)
        visit.shot("overview")
        page.locator(".tile.held").click()
        expect(page.locator("tbody tr")).to_have_count(6)
        page.get_by_role("button", name="all").click()
        page.get_by_placeholder("Filter by name or reason").fill("gated")
        expect(page.locator("tbody tr")).to_have_count(2)
        visit.shot("tables")
        page.get_by_role("link", name="returns_report").click()
        expect(page.get_by_role("heading", name="returns_report")).to_be_visible()
        expect(page.locator(".why .reason").first).to_contain_text("source 'returns' is gated")
        expect(page.locator(".why").get_by_role("button", name="Ungate")).to_be_visible()
        visit.shot("held")
        assert visit.well


def test_the_page_of_a_table_shows_its_query_its_frontier_and_its_history(opened: Open) -> None:
    with opened() as visit:
        page = visit.go("#/table/revenue_by_region")
        expect(page.locator(".at-query .sql-k").first).to_have_text("SELECT")
        expect(page.locator(".at-query .sql-c").first).to_have_text("-- what each region sold")
        expect(page.locator(".at-query pre").first).to_contain_text("s.status <> 'cancelled'")
        expect(page.locator(".at-frontier tbody tr")).to_have_count(2)
        expect(page.locator(".at-near")).to_contain_text("published together")
        expect(page.locator(".at-history tbody tr").first).to_contain_text("scheduler")
        assert page.locator(".chart rect").count() > 10
        page.get_by_text("How it is kept: operators").click()
        expect(page.locator(".at-query details pre")).to_be_visible()
        visit.shot("table")
        page.goto(f"{visit.address}/#/table/rates_daily")
        expect(page.locator(".why .reason").first).to_contain_text("does not fit its sources")
        expect(page.locator(".at-head").get_by_role("button", name="Resume")).to_be_visible()
        visit.shot("failed")
        page.goto(f"{visit.address}/#/table/nope")
        expect(page.locator("main")).to_contain_text("stream table 'nope' does not exist")
        assert all("404" in error for error in visit.errors) and not visit.elsewhere


def test_the_graph_is_searched_folded_and_focused(opened: Open) -> None:
    with opened() as visit:
        page = visit.go("#/graph")
        expect(page.locator(".node")).to_have_count(24)
        expect(page.locator(".node.failed")).to_have_count(1)
        expect(page.locator(".hull")).to_have_count(2)
        visit.shot("graph", whole=False)
        page.get_by_label("Find in the graph").fill("exec_summary")
        page.keyboard.press("Enter")
        expect(page.locator(".side")).to_contain_text("exec_summary")
        page.get_by_role("button", name="Only what is around it").click()
        expect(page.locator(".node")).to_have_count(5)
        page.get_by_role("button", name="Around exec_summary").click()
        page.get_by_label("Find in the graph").fill("")
        expect(page.locator(".node")).to_have_count(24)
        page.get_by_role("button", name="Fold namespaces").click()
        expect(page.locator(".node")).to_have_count(3)
        page.locator(".node[data-id='raw']").dblclick()
        expect(page.locator(".node")).to_have_count(4)
        page.get_by_role("button", name="Fold raw").click()
        expect(page.locator(".node")).to_have_count(3)
        page.get_by_role("button", name="Unfold all namespaces").click()
        expect(page.locator(".node")).to_have_count(24)
        page.get_by_role("button", name="Fold namespaces").click()
        expect(page.locator(".node")).to_have_count(3)
        page.get_by_label("Find in the graph").fill("exec_summ")
        page.keyboard.press("Enter")
        expect(page.locator(".node")).to_have_count(5)
        expect(page.locator(".side")).to_contain_text("exec_summary")
        page.get_by_role("button", name="Around exec_summary").click()
        expect(page.locator(".node")).to_have_count(24)
        page.locator(".node[data-id='exec_summary']").dblclick()
        expect(page.get_by_role("heading", name="exec_summary")).to_be_visible()
        assert visit.well


def test_what_others_do_is_seen_without_a_reload(opened: Open, engine: Engine) -> None:
    with opened() as visit:
        page = visit.go()
        page.evaluate("window.same = true")
        expect(page.locator(".tile.held b")).to_have_text("6")
        engine.suspend_stream_table("exec_summary")
        expect(page.locator(".tile.held b")).to_have_text("9")
        page.get_by_role("link", name="Graph").click()
        expect(page.locator(".node[data-id='exec_summary']")).to_have_class("node stream_table held ")
        engine.resume_stream_table("exec_summary")
        expect(page.locator(".node[data-id='exec_summary']")).to_have_class("node stream_table fresh ")
        assert page.evaluate("window.same") is True
        assert visit.well


@pytest.mark.parametrize(("size", "scheme"), [((390, 800), "light"), ((1360, 860), "dark")])
def test_every_view_fits_a_narrow_window_and_the_dark(opened: Open, size: tuple[int, int], scheme: str) -> None:
    with opened(size=size, scheme=scheme) as visit:
        for name, where in VIEWS.items():
            page = visit.go(where)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
                f"{name} is wider than the window"
            )
            visit.shot(f"{name}-{scheme}-{size[0]}", whole=name != "graph")
        light = "getComputedStyle(document.body).backgroundColor"
        before = visit.page.evaluate(light)
        visit.page.get_by_label("Change between light and dark").click()
        assert visit.page.evaluate(light) != before
        assert visit.well


def test_a_name_that_is_html_stays_a_name(opened: Open) -> None:
    with opened() as visit:
        for where in VIEWS.values():
            page = visit.go(where)
            assert page.locator("main img").count() == 0
        page = visit.go(VIEWS["hostile"])
        expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x onerror=alert(1)>")
        page.get_by_role("button", name="Suspend").click()
        expect(page.locator("dialog .subject")).to_have_text(HOSTILE)
        page.locator("#ask-yes").click()
        expect(page.locator("#jobs")).to_contain_text("suspended")
        page = visit.go("#/activity")
        expect(page.locator("tbody tr").first).to_contain_text("<img src=x onerror=alert(1)>")
        assert page.locator("main img, #jobs img").count() == 0
        assert visit.well
        with pytest.raises(Exception, match="TrustedHTML"):
            page.evaluate("document.body.innerHTML = '<b>x</b>'")
