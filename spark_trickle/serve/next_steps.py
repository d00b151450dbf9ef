"""What `why` tells to do, as something that can be done: calls that its sentences name become offers. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from spark_trickle.model.fuse import FuseAction
from spark_trickle.views import Reason

_CALL = re.compile(
    r"(?P<call>resume_stream_table|refresh_stream_table|ungate_source|reset_fuse)"
    r"\('(?P<subject>.+?)'(?:, (?:mode=)?'(?P<how>\w+)')?\)"
)


class ActionKind(StrEnum):
    """What can be done through the page."""

    REFRESH = "refresh"
    SUSPEND = "suspend"
    RESUME = "resume"
    GATE = "gate"
    UNGATE = "ungate"
    RESET_FUSE = "reset_fuse"
    VERIFY = "verify"
    ROWS = "rows"
    """Look at some rows: changes nothing, but needs Spark as the others do that compute."""

    @property
    def needs_spark(self) -> bool:
        return self in (ActionKind.REFRESH, ActionKind.VERIFY, ActionKind.ROWS)

    @property
    def recorded(self) -> bool:
        """Whether it is written down who did it."""
        return self is not ActionKind.ROWS

    @property
    def of_stream_tables(self) -> bool:
        """Whether it is done to stream tables only; the others to any table."""
        return self not in (ActionKind.GATE, ActionKind.UNGATE, ActionKind.ROWS)


@dataclass(frozen=True, slots=True)
class Offer:
    """An action that would help."""

    action: ActionKind
    subject: str
    how: str | None = None
    """The mode of a refresh, or what is done with a blown fuse."""


_ACTIONS = {
    "resume_stream_table": ActionKind.RESUME,
    "refresh_stream_table": ActionKind.REFRESH,
    "ungate_source": ActionKind.UNGATE,
    "reset_fuse": ActionKind.RESET_FUSE,
}


def offers(reason: Reason) -> tuple[Offer, ...]:
    """In the order in which they are told, each once.

    >>> offers(Reason("'t' is suspended", "resume_stream_table('t')", "t"))
    (Offer(action=<ActionKind.RESUME: 'resume'>, subject='t', how=None),)
    """
    found = []
    for match in _CALL.finditer(reason.next_step):
        offer = Offer(_ACTIONS[match["call"]], match["subject"], match["how"])
        found.append(offer)
        if offer.action is ActionKind.RESET_FUSE:
            # The other ways out are told in the same sentence, by their names alone.
            rest = reason.next_step[match.end() :]
            found += [Offer(offer.action, offer.subject, way.value) for way in FuseAction if f"'{way}'" in rest]
    return tuple(dict.fromkeys(found))
