"""Diamonds and refresh groups over real tables: notices at creation, views, altering, SQL. No ticks here."""

from __future__ import annotations

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import UserError


@pytest.fixture
def engine(engine: Engine) -> Engine:
    engine.sql(
        "CREATE TABLE sales (region STRING, product INT, amount INT); INSERT INTO sales VALUES ('eu', 1, 10);"
        "CREATE TABLE costs (region STRING, cost INT); INSERT INTO costs VALUES ('eu', 4)"
    )
    engine.create_stream_table("by_region", "SELECT region, SUM(amount) AS revenue FROM sales GROUP BY region")
    engine.create_stream_table("by_product", "SELECT product, SUM(amount) AS revenue FROM sales GROUP BY product")
    return engine


SUMMARY = (
    "SELECT (SELECT SUM(revenue) FROM by_region) AS regional_total, "
    "(SELECT SUM(revenue) FROM by_product) AS product_total"
)
PATHS = "sales -> by_product -> exec_summary; sales -> by_region -> exec_summary"


def test_a_diamond_is_told_with_its_paths_and_shown(engine: Engine) -> None:
    made = engine.create_stream_table("exec_summary", SUMMARY)
    assert any(PATHS in notice and "published together" in notice for notice in made.notices)
    assert engine.explain("by_product").diamond_group == ("by_product", "by_region", "exec_summary")
    rows = [tuple(row) for row in engine.sql("CALL trickle.diamond_groups()").collect()]
    assert rows == [
        ("diamond:exec_summary", "by_product", "default", False, 0, "fastest"),
        ("diamond:exec_summary", "by_region", "default", False, 0, "fastest"),
        ("diamond:exec_summary", "exec_summary", "default", True, 0, "fastest"),
    ]


def test_diamond_none_mode_no_groups(engine: Engine) -> None:
    made = engine.create_stream_table("exec_summary", SUMMARY, diamond_consistency="none")
    assert any(PATHS in notice and "consider diamond_consistency='atomic'" in notice for notice in made.notices)
    assert engine.diamond_groups() == []
    engine.alter_stream_table("exec_summary", diamond_consistency="atomic", diamond_schedule_policy="slowest")
    assert {(row.member_name, row.schedule_policy.value) for row in engine.diamond_groups()} == {
        ("by_product", "slowest"),
        ("by_region", "slowest"),
        ("exec_summary", "slowest"),
    }


def test_two_stream_tables_over_one_view_make_a_diamond_with_what_the_view_reads(engine: Engine) -> None:
    engine.sql("CREATE VIEW europe AS SELECT * FROM costs WHERE region = 'eu'")
    engine.create_stream_table("total", "SELECT SUM(cost) AS cost FROM europe")
    engine.create_stream_table("counted", "SELECT COUNT(*) AS n FROM europe")
    made = engine.create_stream_table("average", "SELECT cost / n AS mean FROM total CROSS JOIN counted")
    assert any("'costs' reaches it on several paths" in notice for notice in made.notices)
    assert [row.member_name for row in engine.diamond_groups()] == ["counted", "total", "average"]


def test_refresh_groups_through_sql_with_their_warning_and_their_end(engine: Engine) -> None:
    engine.create_stream_table("by_cost", "SELECT region, SUM(cost) AS cost FROM costs GROUP BY region")
    engine.sql("CALL trickle.create_refresh_group('margins', array('by_region', 'by_cost'), 'repeatable_read')")
    (row,) = engine.sql("CALL trickle.refresh_groups()").collect()
    assert (row.group_name, row.member_count, row.isolation) == ("margins", 2, "repeatable_read")
    made = engine.create_stream_table(
        "margin", "SELECT r.region, revenue - cost AS margin FROM by_region r JOIN by_cost c ON r.region = c.region"
    )
    assert any("joins 'by_cost', 'by_region' of the refresh group 'margins'" in notice for notice in made.notices)
    with pytest.raises(UserError, match="already a member"):
        engine.create_refresh_group("other", ["by_cost", "by_product"])
    engine.drop_stream_table("by_cost", cascade=True)
    assert engine.refresh_groups()[0].members == ("by_region",)
    assert engine.groups() == []
