"""What the page about the page says is so."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from typer.main import get_command

from spark_trickle.cli.main import app
from spark_trickle.conditions import State
from spark_trickle.serve.api import ENDPOINTS
from spark_trickle.serve.metrics import MOST_TABLES
from tests.support.catalog_values import history_row
from tests.unit.serve.conftest import ORIGIN, TOKEN, Served

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "page.md").read_text(encoding="utf-8")


def test_the_words_the_metrics_and_the_pictures_are_there(served: Callable[..., Served]) -> None:
    words = set(re.findall(r"^\| ([a-z ]+) \|", TEXT, re.MULTILINE))
    assert words == {"not loaded" if state is State.EMPTY else state.value for state in State}
    at = served()
    at.client.get("/metrics")
    at.engine.watch.catalog.record([history_row("exec_summary")])
    families = text_string_to_metric_families(at.client.get("/metrics").text)
    shown = {f"{each.name}_total" if each.type == "counter" else each.name for each in families}
    assert set(re.findall(r"`(trickle_\w+)(?:\{[\w,]+\})?`", TEXT)) == shown
    assert f"{MOST_TABLES:,}" in TEXT
    for picture in re.findall(
        r"\((images/[\w-]+\.png)\)", TEXT + (ROOT / "README.md").read_text().replace("docs/", "")
    ):
        assert 0 < (ROOT / "docs" / picture).stat().st_size < 150_000


def test_the_commands_and_addresses_are_right(served: Callable[..., Served]) -> None:
    known = {option for parameter in get_command(app).commands["serve"].params for option in parameter.opts}  # type: ignore[attr-defined]
    for line in re.findall(r"^trickle .*serve.*$", TEXT, re.MULTILINE):
        words = shlex.split(line)
        assert {word for word in words[words.index("serve") :] if word.startswith("--")} <= known
    assert set(re.findall(r"`(--[\w-]+)(?: NAME)?`", TEXT)) <= known
    paths = set(re.findall(r"/api/v1(/[\w-]+)", TEXT)) - {"/openapi"}
    assert paths <= {endpoint.path for endpoint in ENDPOINTS}
    at = served(token=TOKEN)
    (body,) = re.findall(r"-d '(\{.*\})'", TEXT)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "Host": ORIGIN[7:]}
    answer = at.client.post("/api/v1/actions", content=body.replace("order_totals", "exec_summary"), headers=headers)
    assert answer.status_code == 202
    assert at.client.get(f"/api/v1/actions/{answer.json()['id']}", headers=headers).json()["action"] == "refresh"
