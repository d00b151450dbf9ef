"""Who may come in, and what is refused: hosts, origins, tokens, sizes and rates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spark_trickle.errors import ConfigError
from spark_trickle.serve.access import BrowserSessions, Door, Rate, open_door
from tests.unit.serve.conftest import ORIGIN, TOKEN, Served

Make = Callable[..., Served]
GATE = {"action": "gate", "subject": "sales"}
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def test_an_address_that_others_reach_needs_a_token(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"can be reached by others, and there is no token.*TRICKLE_TOKEN"):
        open_door("0.0.0.0", 8080, None, None, False, ())
    file = tmp_path / "token"
    for bad in ("", "short", "with a space in the middle of it", "ü" * 20):
        file.write_text(bad)
        with pytest.raises(ConfigError, match="is not usable"):
            open_door("0.0.0.0", 8080, file, None, False, ())
    with pytest.raises(ConfigError, match="cannot be read"):
        open_door("0.0.0.0", 8080, tmp_path / "nope", None, False, ())
    file.write_text(TOKEN + "\n")
    door = open_door("0.0.0.0", 8080, file, "another-token-of-the-environment", False, ())
    assert door.knows_token(TOKEN) and not door.knows_token(TOKEN + "x") and not door.knows_token("")
    assert open_door("127.0.0.1", 8080, None, TOKEN, False, ()).knows_token(TOKEN)
    assert TOKEN not in repr(door)
    assert open_door("::1", 8080, None, None, False, ()).local


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8080", "", "192.168.1.9:8080"])
def test_a_name_that_only_resolves_to_the_server_is_refused(served: Make, host: str) -> None:
    answer = served().client.get("/api/v1/pulse", headers={"Host": host})
    assert answer.status_code == 421


def test_a_server_for_others_answers_to_its_names_and_to_addresses() -> None:
    door = Door("0.0.0.0", 8080, TOKEN, False, ("lake.example",))
    assert all(door.answers_to(host) for host in ("lake.example", "LAKE.example:443", "10.1.2.3:8080", "[fe80::1]:80"))
    assert not door.answers_to("evil.example")


def test_with_a_token_nothing_is_shown_without_it(served: Make) -> None:
    client = served(token=TOKEN).client
    for path in ("/api/v1/overview", "/api/v1/openapi.json", "/metrics"):
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert client.get(path, params={"token": TOKEN}).status_code == 401, "a token in an address counts for nothing"
        assert client.get(path, headers=BEARER).status_code == 200
    page = client.get("/", follow_redirects=False)
    assert (page.status_code, page.headers["location"]) == (303, "/login")
    for path in ("/healthz", "/readyz", "/login", "/static/style.css"):
        assert client.get(path).status_code == 200


def test_a_browser_logs_in_with_the_token_and_acts_by_name(served: Make) -> None:
    at = served(token=TOKEN)
    origin = {"Origin": ORIGIN}
    assert at.client.post("/login", json={"token": "wrong"}, headers=origin).status_code == 401
    answer = at.client.post("/login", json={"token": TOKEN, "name": "Ann"}, headers=origin)
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and TOKEN not in cookie
    assert at.client.get("/api/v1/overview").status_code == 200
    done = at.client.post("/api/v1/actions", json=GATE, headers=origin)
    assert (done.status_code, done.json()["state"], done.json()["by"]) == (202, "done", "Ann")
    assert at.engine.source_gates()[0].gated_by in ("Ann", "test")
    assert {gate.source_table: gate.gated_by for gate in at.engine.source_gates()}["sales"] == "Ann"
    at.client.post("/logout", headers=origin)
    assert at.client.get("/api/v1/overview").status_code == 401


def test_another_sites_page_cannot_act(served: Make) -> None:
    at = served()
    assert at.client.get("/").status_code == 200
    refused: list[dict[str, str]] = [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"},
        {},
    ]
    for headers in refused:
        assert at.client.post("/api/v1/actions", json=GATE, headers=headers).status_code == 403, headers
    form = at.client.post("/api/v1/actions", data={"action": "gate"}, headers={"Origin": ORIGIN})
    assert form.status_code == 400
    assert "sales" not in [gate.source_table for gate in at.engine.source_gates()]
    assert at.client.post("/api/v1/actions", json=GATE, headers={"Origin": ORIGIN}).status_code == 202


def test_without_a_token_programs_read_but_do_not_act(served: Make) -> None:
    client = served().client
    assert client.get("/api/v1/overview").status_code == 200
    answer = client.post("/api/v1/actions", json=GATE)
    assert (answer.status_code, "needs a token" in answer.json()["message"]) == (403, True)


def test_read_only_has_no_actions_whoever_asks(served: Make) -> None:
    at = served(token=TOKEN, read_only=True)
    answer = at.client.post("/api/v1/actions", json=GATE, headers=BEARER)
    assert (answer.status_code, "read-only" in answer.json()["message"]) == (403, True)
    assert 'data-mode="read-only"' in at.client.get("/", headers=BEARER).text
    document = at.client.get("/api/v1/openapi.json", headers=BEARER).json()
    assert set(document["paths"]["/api/v1/actions"]) == {"get"}


def test_what_is_too_large_or_too_often_is_refused(served: Make) -> None:
    at = served(token=TOKEN)
    large = at.client.post("/api/v1/actions", content=b"x" * 70_000, headers=BEARER)
    assert large.status_code == 413

    def pieces() -> Iterator[bytes]:
        yield from [b"x" * 10_000] * 10

    typed = {**BEARER, "Content-Type": "application/json"}
    streamed = at.client.post("/api/v1/actions", content=pieces(), headers=typed)
    assert (streamed.status_code, "too large" in streamed.json()["message"]) == (400, True)
    assert at.client.get("/api/v1/graph?name=" + "x" * 9000, headers=BEARER).status_code == 414
    statuses = [at.client.get("/api/v1/pulse", headers=BEARER).status_code for _ in range(220)]
    assert set(statuses) == {200, 429}
    assert at.client.get("/healthz").status_code == 200
    at.seconds[0] += 2
    assert at.client.get("/api/v1/pulse", headers=BEARER).status_code == 200


def test_guessing_the_token_is_slow(served: Make) -> None:
    at = served(token=TOKEN)
    origin = {"Origin": ORIGIN}
    tries = [at.client.post("/login", json={"token": f"guess {i}"}, headers=origin).status_code for i in range(12)]
    assert tries == [401] * 10 + [429] * 2
    assert at.client.post("/login", json={"token": TOKEN}, headers=origin).status_code == 429


def test_every_answer_forbids_what_the_page_does_not_need(served: Make) -> None:
    client = served().client
    for path in ("/", "/api/v1/overview", "/nothing", "/static/style.css", "/metrics"):
        headers = client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
    assert client.get("/api/v1/overview").headers["cache-control"] == "no-store"


def test_sessions_end_and_are_not_kept_without_bounds() -> None:
    now = [0.0]
    sessions = BrowserSessions(lambda: now[0], seconds=10, most=3)
    first = sessions.begin("ann")
    found = sessions.visitor(first)
    assert found is not None and (found.name, found.via) == ("ann", "page")
    for _ in range(3):
        sessions.begin("x")
    assert sessions.visitor(first) is None
    last = sessions.begin("y")
    now[0] += 11
    assert sessions.visitor(last) is None
    assert sessions.visitor("made up") is None


def test_a_rate_is_kept_for_each_address() -> None:
    now = [0.0]
    rate = Rate(lambda: now[0], per_second=1, burst=2, most=2)
    assert [rate.take("a") for _ in range(3)] == [True, True, False]
    assert rate.take("b")
    now[0] += 1
    assert [rate.take("a") for _ in range(2)] == [True, False]
