"""A process with a JVM of its own, told by its parent what to do and where to die. Started as `-m tests.faults.worker`.

Commands come as lines of JSON; each answer is one line. To die at many steps with one JVM, several refreshes, each in a
lake and a thread of its own, are brought to their steps and held there; then the process kills itself, and all of them
end as they stand.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import spark_trickle
from spark_trickle.engine import Engine
from spark_trickle.errors import StreamTableError
from spark_trickle.events import Event, Observer, Step, StepReached
from spark_trickle.model.refresh import Action
from spark_trickle.model.tick import TickReport
from tests.faults import shop

PATIENCE_SECONDS = 120.0


def connect(lake: dict[str, str], *observers: Observer, **settings: Any) -> Engine:
    return spark_trickle.connect(
        lake["warehouse"],
        catalog=lake["catalog"],
        spark_master="local[2]",
        spark_driver_memory="1g",
        spark_conf={"spark.sql.shuffle.partitions": "2"},
        observers=observers,
        **settings,
    )


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def jvm_of(engine: Engine) -> int:
    gateway: Any = engine.spark.sparkContext._gateway
    return int(gateway.proc.pid)


def hold(lake: dict[str, str], work: str, step: str) -> None:
    """Bring a refresh or a transaction to a step, and leave it there."""
    there, stopped = threading.Event(), threading.Event()

    def observe(event: Event) -> None:
        if isinstance(event, StepReached) and event.step == step:
            there.set()
            threading.Event().wait()

    def run() -> None:
        try:
            _work(work)(connect(lake, observe))
        finally:
            stopped.set()

    threading.Thread(target=run, daemon=True).start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not there.wait(0.02):
        if stopped.is_set() or time.monotonic() > deadline:
            raise SystemExit(f"{work} did not come to {step}")


def die_in_a_job(lake: dict[str, str]) -> None:
    """Kill the process while Spark runs a job for the second table of the group, the first being staged."""
    computing = threading.Event()

    def observe(event: Event) -> None:
        if isinstance(event, StepReached) and event.step is Step.COMPUTING and event.table == shop.GROUP[1]:
            computing.set()

    # Over so few rows there would be no job.
    engine = connect(lake, observe, local_query_rows=0)
    tracker = engine.spark.sparkContext.statusTracker()

    def watch() -> None:
        computing.wait(PATIENCE_SECONDS)
        while not tracker.getActiveJobsIds():
            pass
        die()

    threading.Thread(target=watch, daemon=True).start()
    shop.actions(engine)


def race(lake: dict[str, str], seconds: float, at_most: float) -> dict[str, int]:
    """Refresh again and again, until some of it was published; count what came of it."""
    found: Counter[str] = Counter()
    with connect(lake) as engine:
        started = time.monotonic()
        while (elapsed := time.monotonic() - started) < at_most:
            if elapsed > seconds and found[Action.DIFFERENTIAL]:
                break
            found.update(attempt(engine))
    return dict(found)


def attempt(engine: Engine) -> list[str]:
    """One refresh of the group: its actions, or the kind of its error."""
    try:
        return [str(action) for action in shop.actions(engine).values()]
    except StreamTableError as err:
        return [err.kind]


def lose_jvm(lake: dict[str, str]) -> str:
    """Kill Spark, not Python, in the middle of a refresh; tell what the caller sees."""
    doomed: list[int] = []

    def observe(event: Event) -> None:
        if isinstance(event, StepReached) and event.step is Step.STAGED and doomed:
            os.kill(doomed.pop(), signal.SIGKILL)

    engine = connect(lake, observe)
    doomed.append(jvm_of(engine))
    try:
        shop.actions(engine)
    except StreamTableError as err:
        return f"{err.kind}: {err}"
    return "nothing"


def schedule(lake: dict[str, str], reports: str, **settings: Any) -> str:
    """Be a scheduler until told to stop; a line for each tick that did something, or holds something else than before,
    and beside it, in `*.passes`, a byte for each tick.

    After each tick, all that it published is verified.
    """
    held: set[tuple[str, str]] = set()
    unread: set[str] = set()
    passes = Path(reports).with_suffix(".passes")
    with (
        connect(lake, **settings) as engine,
        Path(reports).open("a", buffering=1) as lines,
        passes.open("ab", buffering=0) as ended,
    ):

        def told(report: TickReport) -> None:
            read(report)
            ended.write(b".")

        def read(report: TickReport) -> None:
            before = set(held)
            held.clear()
            held.update((skip.name, code) for skip in report.skipped for code in skip.codes)
            if report.idle and held <= before:
                return
            unread.update(outcome.name for outcome in report.refreshed)
            wrong = {f"violation: {text}" for text in verified(engine, unread)}
            counts = Counter(f"held: {code}" for _, code in held - before) + counted(report) + Counter(wrong)
            lines.write(json.dumps(counts) + "\n")

        engine.run(told=told)
    return "stopped"


def counted(report: TickReport) -> Counter[str]:
    circles = [o for o in report.refreshed if o.fixpoint_iteration is not None]
    return Counter(
        {
            "ticks": int(not report.idle),
            "ticks of several": int(len(report.refreshed) > 1),
            "refreshed": len(report.refreshed),
            "members of circles": len(circles),
            "failed": len(report.failed),
        }
    ) + Counter(f"action: {outcome.action}" for outcome in report.refreshed)


def verified(engine: Engine, names: set[str]) -> Iterator[str]:
    """What is not the answer of its query. What cannot be read because a file is away is looked at again later."""
    for name in sorted(names):
        try:
            found = engine.verify(name)
        except StreamTableError as err:
            sys.stderr.write(f"not verified: {err}\n")
            continue
        names.discard(name)
        if not found.ok and found.diverged is None:
            yield f"'{name}' is not its query's answer at its frontier: {found.sample}"


def _work(name: str) -> Callable[[Engine], object]:
    return shop.actions if name == "refresh" else shop.pay


def main() -> None:
    commands: dict[str, Callable[..., object]] = {
        "hold": hold,
        "die_in_a_job": die_in_a_job,
        "race": race,
        "lose_jvm": lose_jvm,
        "schedule": schedule,
    }
    # The first engine starts the JVM and stays, so that the others find it.
    first = connect(json.loads(sys.stdin.readline()))
    _answer(jvm_of(first))
    for line in sys.stdin:
        name, arguments = json.loads(line)
        _answer(commands[name](**arguments))


def _answer(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
