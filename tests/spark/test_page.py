"""The page over a real lake: a refresh followed live in a browser, rows and proof on request, what others refresh."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from spark_trickle.engine import Engine
from spark_trickle.model.refresh import Action
from spark_trickle.serve.access import Door
from spark_trickle.serve.jobs import Jobs
from spark_trickle.serve.server import serving
from tests.support.browser import visit


def test_a_refresh_is_followed_live_and_proved_on_request(engine: Engine, browser: Browser, tmp_path: Path) -> None:
    engine.sql("CREATE TABLE orders (id BIGINT, region STRING, amount DECIMAL(12,2), `<b>odd</b>` STRING)")
    engine.sql("INSERT INTO orders VALUES (1, 'eu', 10.00, 'x'), (2, '<i>us</i>', 5.50, NULL)")
    engine.create_stream_table(
        "totals", "SELECT region, SUM(amount) AS total, COUNT(*) AS n FROM orders GROUP BY region", schedule="1s"
    )
    engine.create_stream_table("large", "SELECT region FROM totals WHERE total > 9", schedule="1s")
    jobs = Jobs(engine, lambda: engine.spark)
    with serving(engine, jobs, Door("127.0.0.1", 0)) as address, visit(browser, address, tmp_path) as at:
        page = at.go("#/table/totals")
        expect(page.locator(".at-head .badge")).to_have_text("fresh")
        expect(page.locator(".at-columns tbody tr")).to_have_count(3)
        expect(page.locator(".at-columns")).to_contain_text("decimal(22, 2)")
        expect(page.locator(".at-frontier tbody tr")).to_contain_text("has all")
        expect(page.locator(".at-head")).to_contain_text("2 rows")
        engine.sql("INSERT INTO orders VALUES (3, 'eu', 2.50, 'y')")
        expect(page.locator(".at-frontier tbody tr")).to_contain_text("1 snapshot behind")
        page.locator(".at-head").get_by_role("button", name="Refresh").click()
        page.locator("#ask-yes").click()
        expect(page.locator("#jobs")).to_contain_text("DIFFERENTIAL: +1 −1 rows", timeout=60_000)
        expect(page.locator(".at-frontier tbody tr")).to_contain_text("has all")
        expect(page.locator(".at-history tbody tr").first).to_contain_text("differential")
        assert engine.history("totals", limit=1)[0].action is Action.DIFFERENTIAL
        page.locator(".at-rows").get_by_role("button", name="Show rows").click()
        page.locator("#ask-yes").click()
        expect(page.locator(".at-rows tbody")).to_contain_text("12.50", timeout=60_000)
        expect(page.locator(".at-rows tbody")).to_contain_text("<i>us</i>")
        page.locator(".at-head").get_by_role("button", name="Verify").click()
        page.locator("#ask-yes").click()
        expect(page.locator(".at-rows")).to_contain_text("it equals its query at its frontier", timeout=60_000)
        at.shot("live")
        page = at.go("#/table/large")
        for amount in (4, 5, 6):
            engine.sql(f"INSERT INTO orders VALUES (9, 'us', {amount}, 'z')")
            assert [each.action for each in engine.refresh_stream_tables(["totals", "large"])] != []
        expect(page.locator(".at-history tbody tr")).to_have_count(len(engine.history("large", limit=50)))
        page = at.go("#/table/totals")
        expect(page.locator(".at-fresh .point").first).to_be_attached()
        at.shot("lag", whole=False)
        assert at.well
    done = engine.watch.catalog.interventions("totals")
    assert [each.action for each in done] == ["verify", "refresh"]
    assert {each.status.value for each in done} == {"COMPLETED"}
