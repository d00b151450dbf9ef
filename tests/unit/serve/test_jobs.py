"""What people do through the page: done, told, and written down with who did it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from spark_trickle.engine import Engine
from spark_trickle.errors import UserError
from spark_trickle.events import Step, StepReached
from spark_trickle.model.stream_table import Status
from spark_trickle.serve.access import Visitor
from spark_trickle.serve.actions import Deed
from spark_trickle.serve.jobs import WAITING, Jobs, JobState
from spark_trickle.serve.next_steps import ActionKind
from tests.unit.serve.conftest import ORIGIN, Served

Make = Callable[..., Served]
ANN = Visitor("Ann", "page")


def act(at: Served, **asked: Any) -> Any:
    at.client.get("/")
    return at.client.post("/api/v1/actions", json=asked, headers={"Origin": ORIGIN})


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_is_metadata_is_done_at_once_and_written_down(served: Make) -> None:
    at = served()
    done = act(at, action="suspend", subject="exec_summary").json()
    assert (done["state"], done["outcome"], done["result"]["status"]) == ("done", "suspended", "SUSPENDED")
    assert at.engine.status("exec_summary").status is Status.SUSPENDED
    assert act(at, action="resume", subject="exec_summary").json()["outcome"] == "resumed"
    assert act(at, action="ungate", subject="returns").json()["outcome"] == "ungated"
    assert act(at, action="reset_fuse", subject="stock_levels", how="skip_changes").json()["state"] == "done"
    assert "skipped" in (at.engine.status("stock_levels").diverged or "")
    written = at.client.get("/api/v1/interventions").json()
    assert [each["action"] for each in written] == ["reset_fuse", "ungate", "resume", "suspend"]
    assert {each["status"] for each in written} == {"COMPLETED"}
    assert written[0]["via"] == "page" and written[0]["by"]


def test_what_fails_says_why_and_is_written_down_too(served: Make) -> None:
    at = served()
    job = act(at, action="reset_fuse", subject="exec_summary").json()
    assert (job["state"], "is not blown" in job["outcome"]) == ("failed", True)
    assert at.client.get("/api/v1/interventions").json()[0]["status"] == "FAILED"
    job = act(at, action="refresh", subject="exec_summary").json()
    assert job["state"] in ("waiting", "starting_spark", "failed")
    until(lambda: at.client.get(f"/api/v1/actions/{job['id']}").json()["state"] == "failed")
    assert at.client.get(f"/api/v1/actions/{job['id']}").json()["outcome"] == "Spark cannot be started here"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"action": "drop", "subject": "exec_summary"}, "there is no action 'drop'"),
        ({"action": "refresh", "subject": "nope"}, "stream table 'nope' does not exist"),
        ({"action": "refresh", "subject": "sales"}, "stream table 'sales' does not exist"),
        ({"action": "refresh", "subject": 3}, "`subject` is the name of a table"),
        ({"action": "refresh", "subject": "exec_summary", "how": "IMMEDIATE"}, "cannot be 'IMMEDIATE'"),
        ({"action": "gate", "subject": "trickle_internal.x"}, "holds state of a stream table"),
        ({"action": "gate", "subject": "x", "more": 1}, "an action is an object with"),
    ],
)
def test_what_cannot_be_done_is_refused(served: Make, asked: dict[str, Any], said: str) -> None:
    answer = act(served(), **asked)
    assert answer.status_code in (400, 404)
    assert said in answer.json()["message"]


def test_jobs_wait_for_one_worker_tell_their_progress_and_are_bounded(engine: Engine) -> None:
    going_on = threading.Event()

    def start() -> object:
        going_on.wait(10)
        raise UserError("no Spark here")

    jobs = Jobs(engine, start)
    first = jobs.ask(Deed(ActionKind.REFRESH, "exec_summary"), ANN)
    until(lambda: jobs.all()[-1].state is JobState.STARTING_SPARK)
    jobs.heard(StepReached(Step.COMPUTING, "exec_summary"))
    assert jobs.all()[-1].progress == ("computing: exec_summary",)
    second = jobs.ask(Deed(ActionKind.VERIFY, "archive"), ANN)
    assert jobs.ask(Deed(ActionKind.VERIFY, "archive"), ANN).id == second.id, "pressing twice asks once"
    for how in range(WAITING - 1):
        jobs.ask(Deed(ActionKind.ROWS, "archive", str(how)), ANN)
    with pytest.raises(UserError, match="jobs are waiting already"):
        jobs.ask(Deed(ActionKind.ROWS, "exec_summary"), ANN)
    assert jobs.ask(Deed(ActionKind.SUSPEND, "archive"), ANN).over, "metadata does not wait for Spark"
    going_on.set()
    until(lambda: all(job.over for job in jobs.all()))
    found = jobs.get(first.id)
    assert found is not None and (found.state, found.outcome) == (JobState.FAILED, "no Spark here")
    jobs.close()
    with pytest.raises(UserError, match="stopping"):
        jobs.ask(Deed(ActionKind.ROWS, "exec_summary"), ANN)
