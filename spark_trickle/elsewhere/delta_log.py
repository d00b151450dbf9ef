"""The log of a Delta table: which versions there are, and which files one consists of. Follows Delta's protocol.

A version is the newest checkpoint that is not younger, and the commits after it, replayed in their order: of each file
and deletion vector the last word counts. Log compaction files and checksums only make that faster, and are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import unquote

from spark_trickle.elsewhere.files import Files, Listed, plain

Json: TypeAlias = Mapping[str, Any]
Key = tuple[str, str]
"""Path of a file as the log writes it, and its deletion vector."""

_COMMIT = re.compile(r"(\d{20})\.json\Z")
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.(?P<id>[0-9a-fA-F-]{36}))?\.(?P<kind>parquet|json)\Z"
)
_STATS_COLUMNS = ("add", "metaData", "protocol", "sidecar")


class LogError(Exception):
    """A version cannot be read: why, in words that follow the name of the table."""


@dataclass(frozen=True, slots=True)
class Log:
    """What the folder of a log has."""

    folder: str
    commits: Mapping[int, Listed]
    checkpoints: Mapping[int, tuple[str, ...]]
    """Names of the files of one whole checkpoint, by version."""

    @property
    def newest(self) -> int:
        return max(self.commits)

    def stamp(self, version: int) -> str | None:
        """What tells a commit from another one of the same number; None: its file is gone."""
        commit = self.commits.get(version)
        return None if commit is None else f"{commit.modified}.{commit.size}"


@dataclass(frozen=True, slots=True)
class State:
    """A version: what the actions up to it come to."""

    version: int
    metadata: Json
    protocol: Json
    adds: Mapping[Key, Json] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Commit:
    """The actions of one commit."""

    version: int
    actions: tuple[Json, ...] = field(repr=False)

    def of(self, kind: str) -> Iterator[Json]:
        return (action[kind] for action in self.actions if action.get(kind) is not None)

    @property
    def files(self) -> list[Json]:
        return [*self.of("add"), *self.of("remove")]

    @property
    def operation(self) -> str | None:
        return next((info.get("operation") for info in self.of("commitInfo")), None)


def read_log(files: Files, place: str) -> Log:
    """What there is. FileNotFoundError: there is no log."""
    folder = f"{place}/_delta_log"
    commits: dict[int, Listed] = {}
    found: dict[int, list[str]] = {}
    for listed in files.list(folder):
        if match := _COMMIT.match(listed.path):
            commits[int(match[1])] = listed
        elif match := _CHECKPOINT.match(listed.path):
            found.setdefault(int(match[1]), []).append(listed.path)
    if not commits:
        raise FileNotFoundError(f"{folder} has no commits")
    whole = {version: _whole(names) for version, names in found.items()}
    return Log(folder, commits, {version: names for version, names in whole.items() if names})


def _whole(names: Iterable[str]) -> tuple[str, ...]:
    """The files of one checkpoint of a version, all of them; nothing where parts are missing."""
    parts: dict[int, list[str]] = {}
    for name in sorted(names):
        match = _CHECKPOINT.match(name)
        assert match is not None
        if match["part"] is None:
            return (name,)
        parts.setdefault(int(match["parts"]), []).append(name)
    return next((tuple(listed) for count, listed in sorted(parts.items()) if len(listed) == count), ())


def commit_of(files: Files, log: Log, version: int) -> Commit:
    listed = log.commits.get(version)
    if listed is None:
        raise LogError(f"the commit of version {version} is no longer in its log")
    return Commit(version, tuple(_json_lines(files, f"{log.folder}/{listed.path}")))


def state_at(files: Files, log: Log, version: int, known: Iterable[State] = ()) -> State:
    """A version. LogError: its log does not reach back that far."""
    nearest = max((state for state in known if state.version <= version), key=lambda each: each.version, default=None)
    checkpoint = max((number for number in log.checkpoints if number <= version), default=None)
    state = nearest
    if checkpoint is not None and (nearest is None or nearest.version < checkpoint):
        state = _checkpoint(files, log, checkpoint)
    if state is None:
        if 0 not in log.commits:
            raise LogError(f"its log no longer reaches back to version {version}")
        state = State(-1, {}, {}, {})
    for number in range(state.version + 1, version + 1):
        state = after(state, commit_of(files, log, number))
    if not state.metadata or not state.protocol:
        raise LogError(f"its log says nothing of the columns of version {version}")
    return state


def after(state: State, commit: Commit) -> State:
    """The state after one more commit."""
    adds = state.adds
    if commit.files:
        kept = dict(adds)
        # Of one commit: a file may be removed with one deletion vector and added with another.
        for action in commit.of("remove"):
            kept.pop(_key(action), None)
        kept.update((_key(action), action) for action in commit.of("add"))
        adds = kept
    metadata = next(iter(commit.of("metaData")), state.metadata)
    protocol = next(iter(commit.of("protocol")), state.protocol)
    return replace(state, version=commit.version, adds=adds, metadata=metadata, protocol=protocol)


def same_rows(commit: Commit) -> bool:
    """Whether a commit stores the same rows otherwise, as it says of each of its files."""
    return all(not action.get("dataChange", True) for action in commit.files)


def place_of(place: str, path: str) -> str:
    """Where a file is; the log writes places as addresses."""
    decoded = unquote(path)
    absolute = decoded.startswith("/") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", decoded)
    return plain(decoded) if absolute else f"{place}/{decoded}"


def _key(action: Json) -> Key:
    vector = action.get("deletionVector")
    if not vector:
        return action["path"], ""
    offset = vector.get("offset")
    return action["path"], f"{vector['storageType']}{vector['pathOrInlineDv']}" + (
        "" if offset is None else f"@{offset}"
    )


def _checkpoint(files: Files, log: Log, version: int) -> State:
    metadata: Json = {}
    protocol: Json = {}
    adds: dict[Key, Json] = {}
    pending = [f"{log.folder}/{name}" for name in log.checkpoints[version]]
    while pending:
        for action in _actions(files, pending.pop()):
            metadata = action.get("metaData") or metadata
            protocol = action.get("protocol") or protocol
            if action.get("add"):
                adds[_key(action["add"])] = action["add"]
            if action.get("sidecar"):
                path = unquote(action["sidecar"]["path"])
                pending.append(path if "/" in path else f"{log.folder}/_sidecars/{path}")
    return State(version, metadata, protocol, adds)


def _actions(files: Files, path: str) -> Iterator[Json]:
    if path.endswith(".json"):
        yield from _json_lines(files, path)
        return
    import pyarrow.parquet as pq

    with files.open(path) as opened, _whole_file(path):
        table = pq.ParquetFile(opened)
        columns = [name for name in _STATS_COLUMNS if name in table.schema_arrow.names]
        for batch in table.iter_batches(columns=columns):
            yield from (_plain_maps(row) for row in batch.to_pylist())


def _plain_maps(row: Json) -> Json:
    """Arrow gives maps as lists of pairs."""
    found = {}
    for kind, action in row.items():
        if action is not None:
            found[kind] = {
                key: dict(value) if key in ("partitionValues", "configuration", "tags") and value is not None else value
                for key, value in action.items()
            }
    return found


def _json_lines(files: Files, path: str) -> Iterator[Json]:
    with files.open(path) as opened, _whole_file(path):
        lines = opened.read().decode("utf-8").split("\n")
        found = [json.loads(line) for line in lines if line.strip()]
        if not all(isinstance(each, dict) for each in found):
            raise ValueError("a line of it is no action")
    yield from found


@contextmanager
def _whole_file(path: str) -> Iterator[None]:
    """OSError: a file of the log is not what it will be. It may still be on its way."""
    try:
        yield
    except ValueError as err:  # of JSON, of text, of Parquet
        raise OSError(f"{path} is not whole ({err})") from err
