"""Frontiers, pins, costs, meanings, fuses, names and what is under way as JSON text, as columns hold them.

The format is ours alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from typing import Any

from spark_trickle.errors import InternalError
from spark_trickle.model.frontier import Frontier, Pin
from spark_trickle.model.fuse import Blown, ChangedRows, Diverged, FuseState, PendingChange
from spark_trickle.model.meaning import Meaning
from spark_trickle.model.standing import UnderWay
from spark_trickle.model.stream_table import Costs
from spark_trickle.names import TableName


def dump_pins(pins: Iterable[Pin]) -> str:
    return _dump(
        {
            "namespace": pin.table.namespace,
            "name": pin.table.name,
            "uuid": pin.uuid,
            "snapshot_id": pin.snapshot_id,
            "schema_id": pin.schema_id,
            "location": pin.location,
        }
        for pin in pins
    )


def load_pins(text: str) -> tuple[Pin, ...]:
    return tuple(
        Pin(
            table=TableName(item["namespace"], item["name"]),
            uuid=item["uuid"],
            snapshot_id=item["snapshot_id"],
            schema_id=item["schema_id"],
            location=item["location"],
        )
        for item in _load(text)
    )


def dump_frontier(frontier: Frontier) -> str:
    return dump_pins(frontier.pins)


def load_frontier(text: str) -> Frontier:
    return Frontier(load_pins(text))


def dump_under_way(running: Iterable[UnderWay]) -> str | None:
    found = [{"tables": dump_names(each.tables), "since": each.since.isoformat()} for each in running]
    return _dump(found) if found else None


def load_under_way(text: str | None) -> tuple[UnderWay, ...]:
    found = [] if text is None else _load(text)
    return tuple(UnderWay(load_names(each["tables"]), datetime.fromisoformat(each["since"])) for each in found)


def dump_names(names: Iterable[TableName]) -> str:
    return _dump([name.namespace, name.name] for name in names)


def load_names(text: str) -> tuple[TableName, ...]:
    return tuple(TableName(namespace, name) for namespace, name in _load(text))


def dump_texts(texts: Iterable[str]) -> str:
    return _dump(texts)


def load_texts(text: str) -> tuple[str, ...]:
    return tuple(str(item) for item in _load(text))


def dump_costs(costs: Costs) -> str | None:
    """None: nothing was measured yet."""
    return None if costs == Costs() else json.dumps(asdict(costs))


def load_costs(text: str | None) -> Costs:
    if text is None:
        return Costs()
    found = json.loads(text)
    return Costs(**{**found, "recent_ms": tuple(found["recent_ms"])})


def dump_meaning(meaning: Meaning) -> str:
    return json.dumps({**asdict(meaning), "settings": dict(meaning.settings)}, ensure_ascii=False)


@lru_cache(maxsize=1024)
def load_meaning(text: str | None) -> Meaning:
    """Most stream tables of a lake mean the same by their names: it is read once."""
    if text is None:
        return Meaning()
    found = json.loads(text)
    return Meaning(**{**found, "settings": tuple(sorted(found["settings"].items()))})


def dump_pairs(pairs: Iterable[tuple[str, str]]) -> str | None:
    """Names with texts; None for none, as for those from before they were written down."""
    found = [list(pair) for pair in pairs]
    return _dump(found) if found else None


def load_pairs(text: str | None) -> tuple[tuple[str, str], ...]:
    return () if text is None else tuple((name, told) for name, told in _load(text))


def dump_fuse(state: FuseState) -> str | None:
    """None: it remembers nothing."""
    if state == FuseState():
        return None
    blown = state.blown
    return json.dumps(
        {
            "blown": blown and {"at": blown.at.isoformat(), "reason": blown.reason, "pending": _changes(blown.pending)},
            "accepted": _changes(state.accepted),
            "reinitialize": state.reinitialize,
            "skipping": dump_names(state.skipping),
            "changes": [[change.rows, change.deleted] for change in state.changes],
        },
        ensure_ascii=False,
    )


def load_fuse(text: str | None) -> FuseState:
    if text is None:
        return FuseState()
    found = json.loads(text)
    blown = found["blown"]
    return FuseState(
        blown=blown
        and Blown(
            at=datetime.fromisoformat(blown["at"]), reason=blown["reason"], pending=_load_changes(blown["pending"])
        ),
        accepted=_load_changes(found["accepted"]),
        reinitialize=found["reinitialize"],
        skipping=load_names(found["skipping"]),
        changes=tuple(ChangedRows(*each) for each in found["changes"]),
    )


def dump_diverged(diverged: Diverged | None) -> str | None:
    return None if diverged is None else json.dumps({**asdict(diverged), "since": diverged.since.isoformat()})


def load_diverged(text: str | None) -> Diverged | None:
    if text is None:
        return None
    found = json.loads(text)
    return Diverged(**{**found, "since": datetime.fromisoformat(found["since"])})


def _changes(pending: Iterable[PendingChange]) -> list[list[object]]:
    return [[dump_pins([each.pin]), each.change.rows, each.change.deleted] for each in pending]


def _load_changes(found: Iterable[Any]) -> tuple[PendingChange, ...]:
    return tuple(PendingChange(load_pins(pin)[0], ChangedRows(rows, deleted)) for pin, rows, deleted in found)


def _dump(items: Iterable[object]) -> str:
    return json.dumps(list(items), ensure_ascii=False, separators=(",", ":"))


def _load(text: str) -> list[Any]:
    if text == "[]":
        return []
    found = json.loads(text)
    if not isinstance(found, list):
        raise InternalError(f"the catalog holds '{text[:80]}' where a list belongs")
    return found
