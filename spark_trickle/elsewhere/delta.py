"""Delta Lake tables: which version is the newest, what it consists of, and how it follows from an older one.

No JVM is needed for any of it where the log is on a disk of this machine. A version is called by its commit, with what
tells that commit from another one of the same number: a table may have been made again in the same folder.
"""

from __future__ import annotations

import re
import threading
from base64 import b85decode
from collections.abc import Callable, Sequence
from uuid import NAMESPACE_URL, UUID, uuid5

from spark_trickle.elsewhere.delta_columns import (
    is_renumbered,
    mapping_mode,
    narrow_columns,
    physical_names,
    require_readable,
    shape_of,
)
from spark_trickle.elsewhere.delta_log import (
    Commit,
    Json,
    Log,
    LogError,
    State,
    after,
    commit_of,
    place_of,
    read_log,
    same_rows,
    state_at,
)
from spark_trickle.elsewhere.files import Files
from spark_trickle.elsewhere.footers import FooterError, Footers
from spark_trickle.model.borrowed import BorrowedVersion, DataFile, Deletes, Follows, Step, version_id

KEPT = 4
"""Versions of one table that are remembered."""
TABLES = 256

_LOCATION = re.compile(r"delta:(?P<place>.*)/_delta_log/(?P<version>\d{20})\.json#(?P<stamp>[\d.]+)\Z", re.DOTALL)
_GROWING = frozenset(
    {"WRITE", "STREAMING UPDATE", "MERGE", "UPDATE", "DELETE", "OPTIMIZE", "REORG", "CREATE TABLE AS SELECT"}
)
"""Operations that never bring a row back into the file that it was deleted from, as RESTORE does."""
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_B85 = str.maketrans(_Z85, _B85)


class DeltaTables:
    """Reads logs. Any thread may ask."""

    def __init__(self, files_of: Callable[[str], Files]) -> None:
        """Args:
        files_of: who reads the store that a place is in.
        """
        self._files_of = files_of
        self._footers = Footers()
        self._states: dict[str, dict[tuple[int, str], State]] = {}
        self._lock = threading.Lock()

    def pin(self, place: str) -> str:
        """What the newest version is called. FileNotFoundError: there is no Delta table; OSError: nobody can tell."""
        log = read_log(self._files_of(place), place)
        return _location(place, log.newest, log.stamp(log.newest) or "0")

    def read_at(self, location: str) -> BorrowedVersion:
        """A version. LogError: it cannot be read."""
        place, number, stamp = _parts(location)
        files = self._files_of(place)
        log = self._log(files, place)
        return self._version(files, place, self._state(files, place, log, number, stamp), stamp)

    def notices(self, location: str) -> list[str]:
        """What a reader should know of how a version is read."""
        place, number, stamp = _parts(location)
        files = self._files_of(place)
        narrow = narrow_columns(self._state(files, place, self._log(files, place), number, stamp))
        return [f"column {', '.join(narrow)} is read as INT: Iceberg has no smaller whole numbers"] if narrow else []

    def window(self, since: Sequence[str], until: str) -> tuple[list[Step], dict[int, str]]:
        """The versions between which changes are told: older ones, those on the way where something else happened than
        before, the last one. Of those that can no longer be read, by their ids, why.
        """
        place, last, stamp = _parts(until)
        files = self._files_of(place)
        log = self._log(files, place)
        end = self._version(files, place, self._state(files, place, log, last, stamp), stamp)
        found: dict[int, BorrowedVersion] = {}
        gone: dict[int, str] = {}
        for each in since:
            there, number, stamped = _parts(each)
            try:
                if there != place:
                    raise LogError(f"version {number} is of a table that lay at {there}")
                if (number, stamped) != (last, stamp):
                    found[number] = self._older(files, log, each, end)
            except LogError as err:
                gone[version_id(number, stamped)] = str(err)
        steps = [Step(version) for number, version in sorted(found.items()) if number > last]
        before = sorted(number for number in found if number < last)
        try:
            way = self._way(files, place, log, before, end) if before else [Step(end)]
        except LogError as err:
            gone.update(dict.fromkeys((found[number].id for number in before), str(err)))
            way = [Step(end)]
        return steps + way, gone

    def called(self, location: str, number: int) -> str | None:
        """What another version of a table is called; None: there is none of that number."""
        place, _, _ = _parts(location)
        log = read_log(self._files_of(place), place)
        stamp = log.stamp(number)
        return None if stamp is None else _location(place, number, stamp)

    def id_of(self, location: str) -> int:
        """What Iceberg calls a version, which need not be there any more."""
        _, number, stamp = _parts(location)
        return version_id(number, stamp)

    def _older(self, files: Files, log: Log, location: str, end: BorrowedVersion) -> BorrowedVersion:
        """An older version, of which all files are there that the last one does not have."""
        place, number, stamp = _parts(location)
        version = self._version(files, place, self._state(files, place, log, number, stamp), stamp, of=end)
        missing = _missing(files, version, end)
        if missing is not None:
            raise LogError(f"version {number} cannot be read any more: its file {missing} was vacuumed")
        if is_renumbered(version.shape, end.shape):
            raise LogError(f"version {number} cannot be compared any more: column mapping was turned on or off since")
        return version

    def _way(self, files: Files, place: str, log: Log, through: Sequence[int], end: BorrowedVersion) -> list[Step]:
        """From the first of some versions through all of them to the last one."""
        first = through[0]
        state = self._state(files, place, log, first, log.stamp(first) or "")
        steps = [Step(self._version(files, place, state, log.stamp(first) or "", of=end))]
        group: list[Commit] = []
        for number in range(first + 1, end.number + 1):
            commit = commit_of(files, log, number)
            other = commit.files and any(each.files for each in group) and _kind(commit) is not _kind(*group)
            if group and (other or group[-1].version in through):
                steps.append(self._step(files, place, log, state, group, end))
                group = []
            state = after(state, commit)
            group.append(commit)
        between = [step.version for step in steps[1:]]
        if any(_missing(files, each, end) is not None or is_renumbered(each.shape, end.shape) for each in between):
            # What lies between is not needed: the versions at the ends are compared then.
            kept = [step for step in steps if step.version.number in through]
            return [*(Step(step.version) for step in kept), Step(end)]
        return [*steps, self._step(files, place, log, state, group, end)]

    def _step(
        self, files: Files, place: str, log: Log, state: State, group: Sequence[Commit], end: BorrowedVersion
    ) -> Step:
        linear = all(not commit.files or commit.operation in _GROWING for commit in group)
        at = group[-1].version
        version = end if at == end.number else self._version(files, place, state, log.stamp(at) or "", of=end)
        return Step(version, _kind(*group), linear)

    def _log(self, files: Files, place: str) -> Log:
        try:
            return read_log(files, place)
        except FileNotFoundError as err:
            raise LogError(f"there is no Delta table at {place}") from err

    def _state(self, files: Files, place: str, log: Log, number: int, stamp: str) -> State:
        found = log.stamp(number)
        if found != stamp:
            what = "its commit is no longer in the log" if found is None else "the table was made again, or its log was"
            raise LogError(f"version {number} cannot be read any more: {what}")
        with self._lock:
            known = self._states.setdefault(place, {})
            exact = known.get((number, stamp))
            usable = [state for (at, stamped), state in known.items() if log.stamp(at) == stamped]
        if exact is not None:
            return exact
        state = state_at(files, log, number, usable)
        require_readable(state)
        with self._lock:
            known[number, stamp] = state
            while len(known) > KEPT:
                del known[next(iter(known))]
            while len(self._states) > TABLES:
                del self._states[next(iter(self._states))]
        return state

    def _version(
        self, files: Files, place: str, state: State, stamp: str, of: BorrowedVersion | None = None
    ) -> BorrowedVersion:
        """Args:
        of: a later version; files that it does not have may be gone, and are read only if what changed is in them.
        """
        require_readable(state)
        shape = shape_of(state)
        names = physical_names(state, shape.partitioned_by)
        found = [(place_of(place, add["path"]), add) for add in state.adds.values()]
        numbered = mapping_mode(state) in ("name", "id")
        try:
            rows = self._footers.rows(files, (path for path, _ in found), numbered=numbered, may_be_gone=of is not None)
        except FooterError as err:
            raise LogError(str(err)) from err
        listed = tuple(
            DataFile(
                path,
                int(add["size"]),
                rows.get(path, 0),
                tuple((add.get("partitionValues") or {}).get(name) for name in names),
                _deletes(place, add),
            )
            for path, add in found
        )
        return BorrowedVersion(_unique(str(state.metadata["id"])), state.version, stamp, shape, listed)


def _unique(called: str) -> str:
    """What tells a table from others: Iceberg wants a UUID, Delta's protocol any text, which mostly is one."""
    try:
        return str(UUID(called))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"delta:{called}"))


def _location(place: str, number: int, stamp: str) -> str:
    return f"delta:{place}/_delta_log/{number:020d}.json#{stamp}"


def _parts(location: str) -> tuple[str, int, str]:
    match = _LOCATION.match(location)
    if match is None:
        raise LogError(f"'{location}' is no version of a Delta table")
    return match["place"], int(match["version"]), match["stamp"]


def _kind(*commits: Commit) -> Follows:
    """How the rows after some commits of one kind follow from those before."""
    with_files = [commit for commit in commits if commit.files]
    return Follows.SAME_ROWS if with_files and all(same_rows(commit) for commit in with_files) else Follows.CHANGE


def _missing(files: Files, version: BorrowedVersion, end: BorrowedVersion) -> str | None:
    """A file of a version that is gone, among those that the last one does not have: that one's are not vacuumed."""
    kept = {file.path for file in end.files}
    vectors = {file.deletes.path for file in end.files if file.deletes is not None}
    wanted = [file.path for file in version.files if file.path not in kept]
    wanted += [file.deletes.path for file in version.files if file.deletes and file.deletes.path not in vectors]
    return next((path for path in dict.fromkeys(wanted) if not files.exists(path)), None)


def _deletes(place: str, add: Json) -> Deletes | None:
    vector = add.get("deletionVector")
    if not vector:
        return None
    kind, told = vector["storageType"], str(vector["pathOrInlineDv"])
    if kind == "p":
        path = place_of(place, told)
    elif kind == "u":
        prefix, encoded = told[:-20], told[-20:]
        number = UUID(bytes=b85decode(encoded.translate(_TO_B85)))
        path = f"{place}/{prefix}/deletion_vector_{number}.bin" if prefix else f"{place}/deletion_vector_{number}.bin"
    else:
        raise LogError(f"a deletion vector of its file {add['path']} is in the log itself, which cannot be read here")
    # Around its bytes there are their length and their checksum, of four bytes each.
    return Deletes(path, int(vector.get("offset") or 0), int(vector["sizeInBytes"]) + 8, int(vector["cardinality"]))
