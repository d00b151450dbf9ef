"""What can be read through HTTP: the values of the command line, as the document says."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_trickle.serve.api import ENDPOINTS, Api, Query
from spark_trickle.views import as_json
from tests.support.page_lake import HOSTILE, LONG
from tests.unit.serve.conftest import Served

Make = Callable[..., Served]


def fits(value: Any, schema: dict[str, Any], named: dict[str, Any]) -> bool:
    """Whether a value is what a schema says; as much of JSON Schema as ours use."""
    if "$ref" in schema:
        return fits(value, named[schema["$ref"].rsplit("/", 1)[1]], named)
    if "anyOf" in schema:
        return any(fits(value, each, named) for each in schema["anyOf"])
    if "enum" in schema and value not in schema["enum"]:
        return False
    match schema.get("type"):
        case "object":
            return _fits_object(value, schema, named)
        case "array":
            return isinstance(value, list) and all(fits(item, schema["items"], named) for item in value)
        case None:
            return True
        case kind:
            return type(value) in PLAIN[kind]


PLAIN: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def _fits_object(value: Any, schema: dict[str, Any], named: dict[str, Any]) -> bool:
    known, more = schema.get("properties", {}), schema.get("additionalProperties", {})
    return (
        isinstance(value, dict)
        and set(schema.get("required", ())) <= set(value)
        and all(fits(item, known[key], named) for key, item in value.items() if key in known)
        and (more is not False or set(value) <= set(known))
        and all(fits(item, more, named) for key, item in value.items() if key not in known)
    )


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: each.path)
def test_every_answer_is_what_the_document_says(served: Make, endpoint: Any) -> None:
    client = served().client
    document = client.get("/api/v1/openapi.json").json()
    schema = document["paths"][f"/api/v1{endpoint.path}"]["get"]["responses"]["200"]["content"]["application/json"]
    names = ["exec_summary", "rates_daily", "mart.sessions", HOSTILE, LONG]
    takes_name = any(parameter.name == "name" for parameter in endpoint.parameters)
    for name in names if takes_name else [None]:
        answer = client.get(f"/api/v1{endpoint.path}", params={} if name is None else {"name": name})
        assert answer.status_code == 200, answer.text
        assert fits(answer.json(), schema["schema"], document["components"]["schemas"])


def test_answers_are_the_values_of_the_command_line(served: Make) -> None:
    at = served()
    assert at.client.get("/api/v1/groups").json() == as_json(at.engine.groups())
    assert at.client.get("/api/v1/why?name=archive").json() == as_json(at.engine.why("archive"))
    assert at.client.get("/api/v1/fuses").json() == as_json(at.engine.fuse_status())
    assert at.client.get("/api/v1/circles").json() == as_json(at.engine.scc_status())
    assert at.client.get("/api/v1/watermark-groups").json() == as_json(at.engine.watermark_status())
    assert at.client.get("/api/v1/explain?name=exec_summary").json() == as_json(at.engine.explain("exec_summary"))
    for name in ("reachable", "mart.sessions", "returns_report"):
        assert at.client.get(f"/api/v1/why?name={name}").json() == as_json(at.engine.why(name))
        assert at.client.get(f"/api/v1/explain?name={name}").json() == as_json(at.engine.explain(name))

    def lasting(status: Any) -> Any:
        return [{**each, "staleness_seconds": None} for each in status]

    assert lasting(at.client.get("/api/v1/status").json()) == lasting(as_json(at.engine.status()))
    ours: Any = at.client.get("/api/v1/gates").json()
    theirs: Any = as_json(at.engine.bootstrap_gate_status())
    assert [{**each, "gate_duration": 0} for each in ours] == [{**each, "gate_duration": 0} for each in theirs]
    history = at.client.get("/api/v1/history?name=exec_summary&limit=7").json()
    assert history == as_json(at.engine.history("exec_summary", limit=7))
    assert len(history) == 7


def test_the_overview_counts_and_names_what_needs_somebody(served: Make) -> None:
    found = served().client.get("/api/v1/overview").json()
    assert found["total"] == 15
    assert {state: count for state, count in found["counts"].items() if count} == {
        "fresh": 7,
        "due": 1,
        "held": 6,
        "failed": 1,
    }
    assert found["attention"][0]["name"] == "rates_daily"
    assert [row["held_by"] for row in found["attention"] if row["name"] == "returns_report"] == [["returns"]]
    assert found["scheduler"]["live"] and found["scheduler"]["holder"].startswith("process 4711")
    assert [gate["source_table"] for gate in found["gates"]] == ["returns"]
    assert [group["aligned"] for group in found["watermark_groups"]] == [False]
    assert [fuse["fuse_state"] for fuse in found["fuses"]] == ["blown"]
    assert [circle["members"] for circle in found["circles"]] == [["reachable", "routes"]]
    lanes = {lane["unit"]: lane for lane in found["timeline"]["lanes"]}
    assert next(iter(lanes)) == "rates_daily", "where something failed comes first"
    diamond = next(group for group in found["groups"] if group["origin"] == "diamond")
    assert lanes[diamond["group_id"]]["members"] == diamond["members"]


def test_those_who_look_at_once_share_one_look(served: Make) -> None:
    class Stopped:
        moment = datetime.now(UTC)

        def now(self) -> datetime:
            return self.moment

    at = served()
    at.engine.watch.clock = clock = Stopped()
    api = Api(at.engine, at.jobs)
    first = api.overview(Query())
    assert api.overview(Query()) is first
    at.engine.gate_source("sales")
    second = api.overview(Query())
    assert len(second.gates) == len(first.gates) + 1
    clock.moment += timedelta(seconds=2)
    assert api.overview(Query()).now == clock.moment


def test_the_page_of_a_table_says_what_to_do_and_offers_it(served: Make) -> None:
    client = served().client

    def offered(name: str) -> list[tuple[str, str, str | None]]:
        page = client.get("/api/v1/table", params={"name": name}).json()
        advice = [*page["reasons"], *page["waits"]]
        return [(offer["action"], offer["subject"], offer["how"]) for each in advice for offer in each["offers"]]

    assert ("resume", "archive", None) in offered("archive")
    assert ("ungate", "returns", None) in offered("returns_report")
    assert ("reset_fuse", "stock_levels", "skip_changes") in offered("stock_levels")
    assert ("resume", "rates_daily", None) in offered("rates_daily")


def test_wrong_requests_are_told_what_is_wrong(served: Make) -> None:
    client = served().client
    for address, status, said in (
        ("/api/v1/table?name=nope", 404, "stream table 'nope' does not exist"),
        ("/api/v1/table", 400, "the parameter 'name' is missing"),
        ("/api/v1/table?name=`x", 400, "a backtick is not closed"),
        ("/api/v1/history?limit=0", 400, "from 1 to 1000"),
        ("/api/v1/history?limit=1001", 400, "from 1 to 1000"),
        ("/api/v1/graph?fold=maybe", 400, "true or false"),
        ("/api/v1/graph?name=nope", 404, "does not exist"),
        ("/api/v1/overview?x=1", 400, "'x' is not a parameter here"),
        ("/api/v1/nothing", 404, "there is nothing here"),
        ("/api/v1/actions/12", 404, "action '12' does not exist"),
    ):
        answer = client.get(address)
        assert answer.status_code == status, address
        assert said in answer.json()["message"]


def test_the_pulse_moves_with_every_commit(served: Make) -> None:
    at = served()
    before = at.client.get("/api/v1/pulse").json()
    assert at.client.get("/api/v1/pulse").json() == before
    at.engine.gate_source("sales")
    after = at.client.get("/api/v1/pulse").json()
    assert after["stamp"] != before["stamp"] and after["generation"] > before["generation"]


def test_secrets_of_the_settings_are_masked(served: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    at = served()
    secret = "hunter2-hunter2"
    conf = {"spark.hadoop.fs.s3a.secret.key": secret, "spark.app": "x"}
    settings = at.engine.settings.model_copy(update={"spark_conf": conf, "catalog": f"postgresql://ann:{secret}@db/x"})
    assert secret not in json.dumps([settings.shown(key) for key in type(settings).model_fields])
    shown = {each["key"]: each["value"] for each in at.client.get("/api/v1/settings").json()}
    assert shown["catalog"].startswith("sqlite:///")
