"""Held by watermarks: the sources of a group are too far apart, one of them is not ready yet, or what is held back
cannot be read as it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from spark_trickle.holds.aligned import moment
from spark_trickle.holds.alignment import Alignment, alignment, governed, stuck, stuck_text
from spark_trickle.holds.held_back import held_back
from spark_trickle.holds.rule import Held, Situation
from spark_trickle.model.hold import Hold, HoldCode
from spark_trickle.model.watermark import WatermarkMode
from spark_trickle.names import TableName


def by_watermarks(at: Situation) -> Held:
    marks = at.cut.watermarks
    if not marks.groups:
        return {}
    found: dict[TableName, list[Hold]] = defaultdict(list)
    for group in marks.groups:
        state = alignment(group, marks, at.cut.pointers)
        if group.mode is WatermarkMode.GATE and not state.aligned:
            for name, ways in governed(group, at.cut.tables, at.who_reads()).items():
                found[name].append(_hold(name, ways, state, at))
    for name, holds in held_back(at).holds.items():
        found[name].extend(holds)
    return {name: tuple(found[name]) for name in sorted(found)}


def _hold(name: TableName, ways: Mapping[TableName, TableName], state: Alignment, at: Situation) -> Hold:
    group, marks = state.group, at.cut.watermarks
    cause = state.missing[0] if state.missing else state.known[0].source
    if state.missing:
        what = gist = f"watermark group '{group.name}' is not ready: {state.unready}"
        step = f"advance_watermark('{cause}', ...) when it is loaded"
    else:
        slow, fast = state.known[0], state.known[-1]
        gist = f"watermark group '{group.name}' is misaligned"
        what = (
            f"{gist}: '{slow.source}' is at {moment(slow.watermark)} and '{fast.source}' at {moment(fast.watermark)}, "
            f"{(fast.watermark - slow.watermark).total_seconds():g} s apart, and its tolerance is "
            f"{group.tolerance.total_seconds():g} s"
        )
        step = f"load '{cause}' further, then advance_watermark('{cause}', ...)"
    via = ways.get(cause) or next(iter(ways.values()))
    path = "" if via in group.sources else f" ('{via}' depends on it)"
    halted = cause in stuck(marks, at.now, at.stuck_after)
    account = f"{what}{path}; {stuck_text(cause, marks, at.now)}" if halted else None
    return Hold(
        code=HoldCode.WATERMARK,
        member=name,
        text=what + path,
        gist=gist + path,
        next_step=step,
        cause=cause,
        via=via,
        account=account,
    )
