"""What people ask for: done at once where it is metadata, in the background where Spark computes; and written down.

One worker runs what needs Spark, one after the other, and starts Spark when the first such job comes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError, UserError
from spark_trickle.events import Event, FuseBlown, Noticed, Retrying, StepReached
from spark_trickle.gating import acting_as
from spark_trickle.model.intervention import InterventionStatus
from spark_trickle.model.standing import UnderWay
from spark_trickle.names import TableName
from spark_trickle.serve.access import Visitor
from spark_trickle.serve.actions import Deed, perform
from spark_trickle.serve.next_steps import ActionKind
from spark_trickle.views import as_json

WAITING = 20
"""Jobs that may wait for the worker."""
KEPT = 100
"""Jobs that are remembered, for those who asked."""
_SAID = 12
_log = logging.getLogger(__name__)


class JobState(StrEnum):
    WAITING = "waiting"
    STARTING_SPARK = "starting_spark"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Something that somebody asked for."""

    id: int
    action: ActionKind
    subject: str
    how: str | None
    by: str
    via: str
    state: JobState
    asked_at: datetime
    ended_at: datetime | None = None
    progress: tuple[str, ...] = ()
    """What happened on the way, newest last."""
    outcome: str | None = None
    """What came of it, or the error."""
    result: object = None
    """The value that the command line would show."""

    @property
    def over(self) -> bool:
        return self.state in (JobState.DONE, JobState.FAILED)


class Jobs:
    """The jobs of one server. For several threads."""

    def __init__(self, engine: Engine, start_spark: Callable[[], object]) -> None:
        self._engine = engine
        self._start_spark = start_spark
        self._catalog, self._clock = engine.watch.catalog, engine.watch.clock
        self._lock = threading.Condition()
        self._jobs: OrderedDict[int, Job] = OrderedDict()
        self._deeds: dict[int, Deed] = {}
        self._queue: deque[int] = deque()
        self._running: int | None = None
        self._since: datetime | None = None
        self._spark_started = False
        self._worker: threading.Thread | None = None
        self._closed = False

    def ask(self, deed: Deed, visitor: Visitor) -> Job:
        """Begin it; what needs no Spark is over when this returns."""
        with self._lock:
            if self._closed:
                raise UserError("the server is stopping")
            job = self._same(deed) or self._take(deed, visitor)
        if not deed.action.needs_spark:
            self._run(job.id)
        with self._lock:
            return self._jobs[job.id]

    def all(self) -> list[Job]:
        """Newest first."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def get(self, number: int) -> Job | None:
        with self._lock:
            return self._jobs.get(number)

    def refreshing(self) -> tuple[UnderWay, ...]:
        """What is being refreshed by this worker."""
        with self._lock:
            if self._running is None or self._since is None:
                return ()
            job = self._jobs[self._running]
            if job.action is not ActionKind.REFRESH or job.state is not JobState.RUNNING:
                return ()
            return (UnderWay((TableName.parse(job.subject),), self._since),)

    def heard(self, event: Event) -> None:
        """An observer: steps of the job that runs become its progress."""
        match event:
            case StepReached(step=step, table=table):
                said = f"{step.value.replace('_', ' ')}{f': {table}' if table else ''}"
            case Retrying(attempt=attempt, because=because):
                table, said = None, f"attempt {attempt}: {because}"
            case Noticed(table, notice) | FuseBlown(table, notice):
                said = f"{table}: {notice}"
            case _:
                return
        with self._lock:
            if self._running is not None:
                self._change(self._running, progress=(*self._jobs[self._running].progress, said)[-_SAID:])

    def close(self, patience: float = 5.0) -> None:
        """Start nothing more; what runs is given a moment."""
        with self._lock:
            self._closed = True
            self._queue.clear()
            self._lock.notify_all()
        if self._worker is not None:
            self._worker.join(patience)

    def _same(self, deed: Deed) -> Job | None:
        """A job that waits already and is the same: pressing twice asks once."""
        return next((self._jobs[number] for number in self._queue if self._deeds[number] == deed), None)

    def _take(self, deed: Deed, visitor: Visitor) -> Job:
        if deed.action.needs_spark and len(self._queue) >= WAITING:
            raise UserError(f"{WAITING} jobs are waiting already", hint="Ask again when some of them are done")
        number = next(reversed(self._jobs), 0) + 1
        job = Job(
            id=number,
            action=deed.action,
            subject=deed.subject,
            how=deed.how,
            by=visitor.name,
            via=visitor.via,
            state=JobState.WAITING,
            asked_at=self._clock.now(),
        )
        self._jobs[number], self._deeds[number] = job, deed
        for old in [each for each in self._jobs.values() if each.over][: max(0, len(self._jobs) - KEPT)]:
            del self._jobs[old.id], self._deeds[old.id]
        if deed.action.needs_spark:
            self._queue.append(number)
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="trickle-jobs", daemon=True)
                self._worker.start()
            self._lock.notify_all()
        return job

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._queue and not self._closed:
                    self._lock.wait()
                if self._closed:
                    return
                number = self._queue.popleft()
                self._running = number
            self._run(number)
            with self._lock:
                self._running = self._since = None

    def _run(self, number: int) -> None:
        """Do it and write it down. Whatever happens becomes the outcome of the job: the worker goes on."""
        deed, job = self._deeds[number], self._jobs[number]
        began, noted = time.perf_counter(), None
        state, outcome, result = JobState.DONE, None, None
        try:
            if deed.action.recorded:
                noted = self._catalog.begin_intervention(
                    deed.action.value, deed.subject, job.by, job.via, self._clock.now()
                )
            if deed.action.needs_spark and not self._spark_started:
                self._set(number, state=JobState.STARTING_SPARK)
                self._start_spark()
                self._spark_started = True
            self._set(number, state=JobState.RUNNING)
            if deed.action.needs_spark:
                with self._lock:
                    self._since = self._clock.now()
            with acting_as(job.by):
                done = perform(self._engine, deed)
            outcome, result = done.said, as_json(done.value)
        except StreamTableError as err:
            state, outcome = JobState.FAILED, str(err)
        except Exception:  # noqa: BLE001 - the boundary of the worker
            _log.exception("a job failed: %s", deed.action.value)
            state, outcome = JobState.FAILED, "an error that nobody expected; its trace is in the server's log"
        took = (time.perf_counter() - began) * 1000
        if noted is not None:
            status = InterventionStatus.COMPLETED if state is JobState.DONE else InterventionStatus.FAILED
            try:
                self._catalog.end_intervention(noted, status, outcome, took)
            except StreamTableError as err:
                _log.warning("what came of a job is not in the catalog: %s", err)
        self._set(number, state=state, outcome=outcome, result=result, ended_at=self._clock.now())

    def _set(self, number: int, **changes: object) -> None:
        with self._lock:
            self._change(number, **changes)

    def _change(self, number: int, **changes: object) -> None:
        if number in self._jobs:
            self._jobs[number] = replace(self._jobs[number], **changes)  # type: ignore[arg-type]
