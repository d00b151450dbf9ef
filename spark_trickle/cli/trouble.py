"""What `status --check` finds wrong: what failed, is suspended, or is later than its schedule promised. Pure.

What a gate, a watermark or a fuse holds back is late, too, only if it is past its schedule: then nobody has looked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spark_trickle.watching import Moment

SOMETHING_WRONG = 1


@dataclass(frozen=True, slots=True)
class Trouble:
    name: str
    what: str
    because: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}: {self.because}"


def troubles(moment: Moment) -> list[Trouble]:
    """In the order of names."""
    from spark_trickle.conditions import State, overdue
    from spark_trickle.model.stream_table import Status

    found = []
    for name, condition in sorted(moment.conditions.items()):
        table = moment.tables[name]
        if condition.state is State.FAILED:
            found.append(Trouble(str(name), "failed", condition.because))
        elif table.status is Status.SUSPENDED:
            found.append(Trouble(str(name), "suspended", table.status_reason or "somebody suspended it"))
        elif overdue(condition, moment.board.rhythms[name], moment.now):
            found.append(Trouble(str(name), "late", condition.because))
    return found
