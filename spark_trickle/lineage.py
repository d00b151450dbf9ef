"""Refreshes as OpenLineage events (https://openlineage.io, specification 2-0-2): what was read, what was written, how
it went. Pure JSON, without a client library; where it goes is for `hooks`.

A refresh is one run of the job that is called as its stream table. It is told when it has ended: as START and COMPLETE,
or FAIL.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from spark_trickle.events import Event, RefreshFailed, RefreshFinished
from spark_trickle.hooks import Mailbox, Message, sender, to_file
from spark_trickle.model.refresh import Action, RefreshOutcome

HOOK = "openlineage"
PRODUCER = "urn:spark-trickle"
_SPEC = "https://openlineage.io/spec"
_RUN_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"

JsonObject = dict[str, object]
QueryOf = Callable[[str], str | None]
"""The query of a stream table by its name, if there still is one."""


class Lineage:
    """An observer. Refreshes that found nothing to do are no runs."""

    def __init__(self, mailbox: Mailbox, target: str, namespace: str, query_of: QueryOf) -> None:
        """Args:
        namespace: of jobs and datasets: the warehouse.
        """
        self._mailbox = mailbox
        self._namespace = namespace
        self._query_of = query_of
        http = target.startswith(("http://", "https://"))
        self._send = sender(HOOK, target) if http else to_file(Path(target).expanduser().absolute())

    def __call__(self, event: Event) -> None:
        now = datetime.now(UTC)
        match event:
            case RefreshFinished(outcome) if outcome.action not in (Action.NO_DATA, Action.SKIP):
                run = str(uuid.uuid4())
                for started in (True, False):
                    self._put(partial(self._ended_well, outcome, now, run, started))
            case RefreshFailed(table, error):
                self._put(lambda: failed(table, error, now, self._namespace, self._query_of(table)))
            case _:
                pass

    def _ended_well(self, outcome: RefreshOutcome, ended: datetime, run: str, started: bool) -> JsonObject:
        start, complete = completed(outcome, ended, self._namespace, self._query_of(outcome.name), run)
        return start if started else complete

    def _put(self, make: Callable[[], JsonObject]) -> None:
        self._mailbox.put(Message(HOOK, self._send, lambda: json.dumps(make(), ensure_ascii=False).encode()))


def completed(
    outcome: RefreshOutcome, ended: datetime, namespace: str, query: str | None, run: str
) -> tuple[JsonObject, JsonObject]:
    """The two events of a refresh that ended well."""
    inputs = [
        _dataset(namespace, str(pin.table), {} if pin.version is None else _version(pin.version))
        for pin in outcome.frontier.pins
    ]
    rows = {"rowCount": outcome.rows_inserted}
    output = _dataset(namespace, outcome.name, {})
    written = {**output, "outputFacets": _facet("outputStatistics", "1-0-2/OutputStatisticsOutputDataset", **rows)}
    mode = _facet(
        "trickle_refresh",
        None,
        mode=outcome.mode,
        action=outcome.action.value,
        reason=outcome.reason,
        rowsInserted=outcome.rows_inserted,
        rowsDeleted=outcome.rows_deleted,
    )
    began = ended - timedelta(milliseconds=outcome.duration_ms)
    job = _job(namespace, outcome.name, query)
    start = _event("START", began, run, {}, job, inputs, [output])
    return start, _event("COMPLETE", ended, run, mode, job, inputs, [written])


def failed(table: str, error: str, at: datetime, namespace: str, query: str | None) -> JsonObject:
    """The event of one that did not."""
    facet = _facet("errorMessage", "1-0-1/ErrorMessageRun", message=error, programmingLanguage="PYTHON")
    job = _job(namespace, table, query)
    return _event("FAIL", at, str(uuid.uuid4()), facet, job, [], [_dataset(namespace, table, {})])


def _event(
    kind: str,
    at: datetime,
    run: str,
    run_facets: JsonObject,
    job: JsonObject,
    inputs: list[JsonObject],
    outputs: list[JsonObject],
) -> JsonObject:
    return {
        "eventType": kind,
        "eventTime": at.isoformat(),
        "producer": PRODUCER,
        "schemaURL": _RUN_EVENT,
        "run": {"runId": run, "facets": run_facets},
        "job": job,
        "inputs": inputs,
        "outputs": outputs,
    }


def _job(namespace: str, name: str, query: str | None) -> JsonObject:
    facets = {} if query is None else _facet("sql", "1-0-1/SQLJob", query=query)
    kind = {"processingType": "BATCH", "integration": "SPARK_TRICKLE", "jobType": "REFRESH"}
    facets |= _facet("jobType", "2-0-3/JobTypeJob", **kind)
    return {"namespace": namespace, "name": name, "facets": facets}


def _dataset(namespace: str, name: str, facets: JsonObject) -> JsonObject:
    return {"namespace": namespace, "name": name, "facets": facets}


def _version(snapshot: int) -> JsonObject:
    return _facet("version", "1-0-1/DatasetVersionDataset", datasetVersion=str(snapshot))


def _facet(name: str, schema: str | None, **fields: object) -> JsonObject:
    """One facet; those of OpenLineage's own have a schema of their own."""
    if schema is None:
        where = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunFacet"
    else:
        version, _, kind = schema.partition("/")
        where = f"{_SPEC}/facets/{version}/{kind}Facet.json"
    return {name: {"_producer": PRODUCER, "_schemaURL": where, **fields}}
