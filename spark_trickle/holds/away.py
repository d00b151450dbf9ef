"""Held by a source of another catalog that cannot be found: whoever reads it waits until it can.

Only direct readers are held: what is below them has what they have. It ends by itself, with the next cut that has the
source.
"""

from __future__ import annotations

from collections import defaultdict

from spark_trickle.holds.rule import Held, Situation
from spark_trickle.model.hold import Hold, HoldCode
from spark_trickle.names import TableName


def by_catalogs(at: Situation) -> Held:
    if not at.cut.away:
        return {}
    readers = at.who_reads()
    found: dict[TableName, list[Hold]] = defaultdict(list)
    for source, away in sorted(at.cut.away.items()):
        for name in readers(source):
            if name in at.cut.tables:
                found[name].append(
                    Hold(
                        code=HoldCode.AWAY,
                        member=name,
                        text=f"source '{source}' is away: {away.reason}",
                        next_step=away.next_step,
                        cause=source,
                        via=source,
                        gist=f"source '{source}' is away",
                    )
                )
    return {name: tuple(found[name]) for name in sorted(found)}
