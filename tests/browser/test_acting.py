"""What can be done in a browser: asked first, done, told and written down; by keys alone; not where it is read-only."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from spark_trickle.engine import Engine
from spark_trickle.model.stream_table import Status
from tests.browser.conftest import NO_SPARK, Open

TOKEN = "correct-horse-battery-staple"


def confirm(page: Page) -> None:
    expect(page.locator("dialog")).to_be_visible()
    page.locator("#ask-yes").click()


def test_every_action_asks_first_and_is_written_down(opened: Open, engine: Engine) -> None:
    with opened() as visit:
        page = visit.go("#/table/exec_summary")
        head, told = page.locator(".at-head"), page.locator("#jobs")
        head.get_by_role("button", name="Suspend").click()
        page.locator("dialog").get_by_role("button", name="Cancel").click()
        expect(page.locator("dialog")).to_be_hidden()
        assert engine.status("exec_summary").status is Status.ACTIVE
        head.get_by_role("button", name="Suspend").click()
        visit.shot("asking", whole=False)
        confirm(page)
        expect(told).to_contain_text("suspended")
        expect(page.locator(".at-head .badge")).to_have_text("held")
        head.get_by_role("button", name="Resume").click()
        confirm(page)
        expect(page.locator(".at-head .badge")).to_have_text("fresh")
        head.get_by_role("button", name="Gate").click()
        confirm(page)
        expect(told).to_contain_text("gated")
        visit.go("#/table/returns_report")
        page.locator(".why").get_by_role("button", name="Ungate").click()
        confirm(page)
        expect(page.locator(".at-head .badge")).not_to_have_text("held")
        visit.go("#/table/stock_levels")
        page.locator(".why").get_by_role("button", name="skip changes").click()
        expect(page.locator("#ask-how")).to_have_value("skip_changes")
        page.locator("#ask-how").select_option("apply")
        confirm(page)
        expect(told).to_contain_text("reset: apply")
        for name in ("Refresh", "Verify"):
            page.locator(".at-head").get_by_role("button", name=name).click()
            confirm(page)
        page.locator(".at-rows").get_by_role("button", name="Show rows").click()
        confirm(page)
        expect(page.locator(".at-rows")).to_contain_text(NO_SPARK)
        expect(page.locator(".job.failed")).to_have_count(3)
        visit.shot("failing", whole=False)
        assert engine.fuse_status()[-1].fuse_state is not None
        page.get_by_role("link", name="Activity").click()
        rows = page.locator("section").filter(has_text="By hand").locator("tbody tr")
        expect(rows).to_have_count(7)
        expect(rows.last).to_contain_text("suspend")
        by = engine.watch.catalog.interventions(limit=1)[0].by
        expect(rows.last).to_contain_text(by)
        assert visit.well


def test_read_only_shows_everything_and_does_nothing(opened: Open) -> None:
    with opened(read_only=True) as visit:
        page = visit.go("#/table/returns_report")
        expect(page.locator("#readonly")).to_be_visible()
        expect(page.locator(".why .reason").first).to_contain_text("gated")
        assert page.locator("main button").count() == 0
        page = visit.go("#/graph")
        page.locator(".node[data-id='returns']").click()
        expect(page.locator(".side")).to_contain_text("returns")
        assert page.locator(".side").get_by_role("button", name="Ungate").count() == 0
        assert visit.well


def test_with_a_token_one_logs_in_once_and_it_is_nowhere_to_be_seen(opened: Open, engine: Engine) -> None:
    with opened(token=TOKEN) as visit:
        page = visit.page
        page.goto(visit.address)
        expect(page.get_by_label("Token")).to_be_focused()
        visit.shot("login", whole=False)
        page.get_by_label("Token").fill("something-else-altogether")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_have_text("that is not the token")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_label("Your name").fill("Ann")
        page.keyboard.press("Enter")
        expect(page.locator(".tile.held b")).to_have_text("6")
        assert TOKEN not in page.url and page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Ungate").click()
        confirm(page)
        expect(page.locator(".at-acts")).to_contain_text("Ann: ungated")
        assert engine.gate_history("returns")[0].by == "Ann"
        assert [error for error in visit.errors if "401" not in error] == [] and not visit.elsewhere


def test_keys_alone_are_enough(opened: Open, engine: Engine) -> None:
    with opened() as visit:
        page = visit.go()
        keys = page.keyboard
        keys.press("/")
        expect(page.get_by_label("Find a table")).to_be_focused()
        expect(page.locator("#find-names option")).to_have_count(15)
        keys.type("exec_summary")
        keys.press("Enter")
        expect(page.get_by_role("heading", name="exec_summary")).to_be_visible()
        for _ in range(40):
            if page.evaluate("document.activeElement.textContent") == "Suspend":
                break
            keys.press("Tab")
        keys.press("Enter")
        expect(page.locator("dialog")).to_be_visible()
        keys.press("Escape")
        expect(page.locator("dialog")).to_be_hidden()
        assert page.evaluate("document.activeElement.textContent") == "Suspend", "focus returns to where it was"
        keys.press("Enter")
        expect(page.locator("#ask-yes")).to_be_focused()
        keys.press("Enter")
        expect(page.locator(".at-head .badge")).to_have_text("held")
        assert engine.status("exec_summary").status is Status.SUSPENDED
        page = visit.go("#/graph")
        page.locator(".node[data-id='exec_summary']").focus()
        keys.press("Enter")
        expect(page.locator(".side")).to_contain_text("exec_summary")
        keys.press("Enter")
        expect(page.get_by_role("heading", name="exec_summary")).to_be_visible()
        assert visit.well
