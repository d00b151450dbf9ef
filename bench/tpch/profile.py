"""Where the time of a refresh goes: its Spark jobs from Spark's status store, with what each one read and wrote.

Plans of the queries that ran go to a file, because they are long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROFILED = {f"spark.{what}": "100000" for what in ("ui.retainedJobs", "ui.retainedStages", "sql.ui.retainedExecutions")}
"""Settings of a session that is profiled: by default Spark forgets all but the last thousand."""


def profiled(spark: SparkSession, work: Callable[[], object], plans: Path) -> str:
    """Run it; a line for each Spark job and for each gap between them, in order."""
    context: Any = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    jobs_before = _last(_jobs(context), "jobId")
    queries_before = _last(_queries(spark), "executionId")
    started = time.time() * 1000
    work()
    ended = time.time() * 1000
    context.listenerBus().waitUntilEmpty()
    jobs = [job for job in _jobs(context) if job.jobId() > jobs_before]
    queries = [query for query in _queries(spark) if query.executionId() > queries_before]
    _write_plans(queries, started, plans)
    of_query = {job.jobId(): _query_of(job.jobId(), queries) for job in jobs}
    return "\n".join([*_timeline(context, jobs, of_query, started, ended), f"  plans: {plans}"])


def _timeline(context: Any, jobs: list[Any], of_query: dict[int, str], started: float, ended: float) -> Iterator[str]:
    """Times from the start; a gap is planning, commits, and what the driver does alone."""
    reached, busy = started, 0.0
    for job in sorted(jobs, key=lambda job: _time(job.submissionTime())):
        begin, end = _time(job.submissionTime()), _time(job.completionTime())
        if begin > reached + 20:
            yield f"  {reached - started:7,.0f} ms  {begin - reached:6,.0f} ms  no job"
        busy += max(0.0, end - max(reached, begin))
        reached = max(reached, end)
        yield (
            f"  {begin - started:7,.0f} ms  {end - begin:6,.0f} ms  job {job.jobId()} of {of_query[job.jobId()]}: "
            f"{_stages(context, job)}"
        )
    if ended > reached + 20:
        yield f"  {reached - started:7,.0f} ms  {ended - reached:6,.0f} ms  no job"
    total = ended - started
    yield f"  total {total:,.0f} ms: {busy:,.0f} ms with a job running, {total - busy:,.0f} ms without"


def _stages(context: Any, job: Any) -> str:
    read = shuffled = records = run = 0
    for number in _each(job.stageIds()):
        stage = context.statusStore().lastStageAttempt(number)
        read += stage.inputBytes()
        records += stage.inputRecords()
        shuffled += stage.shuffleWriteBytes()
        run += stage.executorRunTime()
    tasks = job.numTasks() - job.numSkippedTasks()
    said = [f"{tasks} tasks, {run:,} ms of tasks"]
    said += [f"read {records:,} rows, {read / 1e6:,.1f} MB"] if read or records else []
    said += [f"shuffled {shuffled / 1e6:,.1f} MB"] if shuffled else []
    return ", ".join(said) + f" ({job.name()[:60]})"


def _write_plans(queries: list[Any], started: float, plans: Path) -> None:
    plans.parent.mkdir(parents=True, exist_ok=True)
    text = []
    for query in queries:
        took = _time(query.completionTime()) - query.submissionTime()
        head = f"query {query.executionId()}: from {query.submissionTime() - started:,.0f} ms, {took:,.0f} ms"
        text += [head, query.description(), query.physicalPlanDescription(), ""]
    plans.write_text("\n".join(text), encoding="utf-8")


def _query_of(job: int, queries: list[Any]) -> str:
    found = next((query for query in queries if query.jobs().contains(job)), None)
    return "no query" if found is None else f"query {found.executionId()}"


def _jobs(context: Any) -> list[Any]:
    return list(_each(context.statusStore().jobsList(None)))


def _queries(spark: SparkSession) -> list[Any]:
    state: Any = spark._jsparkSession.sharedState()
    return list(_each(state.statusStore().executionsList()))


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(i) for i in range(sequence.size()))


def _last(things: list[Any], key: str) -> int:
    return max((getattr(thing, key)() for thing in things), default=-1)


def _time(moment: Any) -> float:
    """Milliseconds of an Option[Date]; what has not ended ends now."""
    return float(moment.get().getTime()) if moment.isDefined() else time.time() * 1000
