"""Held by a blown fuse: more has changed than is usual, and somebody has to look. The change waits in the sources."""

from __future__ import annotations

from spark_trickle.holds.rule import Held, Situation
from spark_trickle.model.fuse import Blown
from spark_trickle.model.hold import Hold, HoldCode
from spark_trickle.model.stream_table import Fuse
from spark_trickle.names import TableName


def by_fuses(at: Situation) -> Held:
    return {
        name: (fuse_hold(name, table.fuse.blown),)
        for name, table in at.cut.tables.items()
        if table.fuse.blown is not None and table.options.fuse is not Fuse.OFF
    }


def fuse_hold(name: TableName, blown: Blown) -> Hold:
    return Hold(
        code=HoldCode.FUSE,
        member=name,
        text=f"its fuse has blown: {blown.reason}",
        next_step=ways_out(name),
        cause=name,
        account=f"the fuse of '{name}' has blown at {blown.at:%Y-%m-%d %H:%M:%S} UTC: {blown.reason}",
    )


def ways_out(name: TableName) -> str:
    return (
        f"look at the change (changes(...) of its sources); then reset_fuse('{name}', 'apply') takes it in, "
        f"'reinitialize' computes everything again, 'skip_changes' leaves it out"
    )
