"""What happens to each engine with each query: a start, some changes, a crash, one more change, a start again."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.peers.answers import Answer, difference
from bench.peers.process import GRACE_S, PATIENCE_S, QUIET_S, QUIET_SHARE, Measured
from bench.peers.report import Change, Story

LOOK_S = 0.05
WRONG_QUIET_S = 10.0
"""So long an engine that does not say when it is done must be quiet before its answer counts as wrong."""


@dataclass(frozen=True, slots=True)
class Side:
    """One engine with one query."""

    engine: str
    query: int
    start: Callable[[], Measured]
    """A process of it, with nothing from before but what it keeps on disk."""
    says_done: bool
    """Whether it knows when a batch is in its answer. If not, it is when the answer is right, or nothing goes on."""
    again: tuple[int, ...]
    """The batches it is given when it is started again, after its first answer."""
    change: Callable[[int], None] = lambda batch: None
    """What the world does before the engine is told of a batch."""
    published: Callable[[], Answer] | None = None
    """Where its answer is, if it does not say it."""


@dataclass(frozen=True, slots=True)
class Reached:
    """When a batch was in the answer, and which answer it was."""

    at: float
    answer: Answer | None
    seen: bool
    """Whether there was something to see: else `at` says when nothing went on any more."""


def tell(side: Side, cycles: int, expected: Callable[[int], Answer]) -> Story:
    """The whole story; `expected` knows the right answer after each batch."""
    wrong: list[str] = []

    def check(batch: int, reached: Reached) -> None:
        found = reached.answer if side.published is None else side.published()
        said = "no answer" if found is None else difference(expected(batch), found)
        if said:
            wrong.append(f"after batch {batch}: {said}")
            say(f"{side.engine} q{side.query:02} WRONG {wrong[-1]}")

    process = side.start()
    try:
        reached = _wait(side, process, 0, expected(0), None)
        first_s, first_cpu_s = reached.at - process.started, process.cpu_s()
        say(f"{side.engine} q{side.query:02}: first answer after {first_s:.1f} s, {first_cpu_s:.1f} s CPU")
        check(0, reached)
        changes = []
        for batch in range(1, cycles + 1):
            change, reached = _change(side, process, batch, expected, reached.answer)
            changes.append(change)
            check(batch, reached)
        memory = process.memory()
    finally:
        process.kill()
    side.change(cycles + 1)
    process = side.start()
    try:
        reached = _wait(side, process, 0, expected(0), None)
        for batch in side.again:
            process.send(batch)
        reached = _wait(side, process, cycles + 1, expected(cycles + 1), reached.answer)
        again_s, again_cpu_s = reached.at - process.started, process.cpu_s()
        check(cycles + 1, reached)
    finally:
        process.kill()
    say(
        f"{side.engine} q{side.query:02}: {memory.now_mb:,.0f} MB, again after {again_s:.1f} s, {again_cpu_s:.1f} s CPU"
    )
    return Story(
        side.engine, side.query, first_s, first_cpu_s, tuple(changes), memory, again_s, again_cpu_s, tuple(wrong)
    )


def _change(
    side: Side, process: Measured, batch: int, expected: Callable[[int], Answer], before: Answer | None
) -> tuple[Change, Reached]:
    side.change(batch)
    right = expected(batch)
    sent, cpu = time.time(), process.cpu_s()
    process.send(batch)
    reached = _wait(side, process, batch, right, before)
    if reached.seen:
        time.sleep(GRACE_S)
    change = Change(reached.at - sent if reached.seen else None, process.cpu_s() - cpu)
    shown = f"{change.latency_s:.3f} s" if change.latency_s is not None else "answer unchanged"
    say(f"{side.engine} q{side.query:02} batch {batch}: {shown}, {change.cpu_s:.2f} s CPU")
    return change, reached


def _wait(side: Side, process: Measured, batch: int, right: Answer, before: Answer | None) -> Reached:
    answer, changed_at = before, 0.0
    quiet_since, cpu = time.time(), process.cpu_s()
    until = time.time() + PATIENCE_S
    while time.time() < until:
        event = process.next_event(LOOK_S)
        if event is not None and event.answer is not None:
            answer, changed_at = event.answer, event.at
        if event is not None and event.done == batch:
            return Reached(event.at, answer, seen=True)
        if side.says_done:
            continue
        is_right = answer is not None and difference(right, answer) is None
        if is_right and changed_at:
            return Reached(changed_at, answer, seen=True)
        now, used = time.time(), process.cpu_s()
        if event is not None or used - cpu > QUIET_SHARE * (QUIET_S if is_right else WRONG_QUIET_S):
            quiet_since, cpu = now, used
        if answer is not None and now - quiet_since > (QUIET_S if is_right else WRONG_QUIET_S):
            return Reached(changed_at or quiet_since, answer, seen=bool(changed_at))
    raise TimeoutError(f"{side.engine} q{side.query:02} has no answer to batch {batch} after {PATIENCE_S:.0f} s")


def say(text: str) -> None:
    """Progress, to the terminal."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201
