"""`make bench PEERS=1`: TPC-H's Q1, Q3, Q5 and Q6 kept by our engine, Pathway and Flink SQL, one after the other."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import spark_trickle as trickle
from bench.peers.answers import Answer
from bench.peers.needs import QUERIES
from bench.peers.process import Measured
from bench.peers.report import Story, show
from bench.peers.story import Side, say, tell
from bench.peers.stream import Stream, write_first
from bench.tpch import queries

PEERS = ("pathway", "flink")


@dataclass(frozen=True, slots=True)
class Place:
    """Where things are, and how large."""

    files: Path
    environments: Path
    scale: float
    memory: str
    """The heap of a JVM, ours and Flink's."""
    cycles: int

    @property
    def lake(self) -> Path:
        return self.files / "lake"

    def log(self, engine: str) -> Path:
        """What the process of an engine says besides."""
        return self.files / f"{engine}.log"

    def python(self, engine: str) -> str:
        """The Python that has the peer."""
        found = self.environments / engine / "bin" / "python"
        if not found.exists():
            raise SystemExit(f"{found} is not there: scripts/setup_peers.sh makes it")
        return str(found)


def main() -> int:
    options = _parser().parse_args()
    folder = Path(options.warehouse or tempfile.mkdtemp(prefix="trickle-peers-")).resolve()
    files = folder / f"scale-{options.scale:g}"
    files.mkdir(parents=True, exist_ok=True)
    for old in [*files.glob("batch-*"), *files.glob("watched-*")]:
        shutil.rmtree(old)
    place = Place(files, Path(options.environments).absolute(), options.scale, options.driver_memory, options.cycles)
    stories: list[Story] = []
    failed: list[str] = []
    try:
        for story in _stories(place, tuple(options.queries), tuple(options.peers), options.changes, failed):
            stories.append(story)
            if options.json:  # so that what was measured is there, whatever comes
                written = json.dumps([asdict(each) for each in stories], indent=1)
                Path(options.json).write_text(written, encoding="utf-8")
    finally:
        if options.warehouse is None:
            shutil.rmtree(folder, ignore_errors=True)
    print("\n".join([show(stories), *(f"FAILED: {said}" for said in failed)]))  # noqa: T201
    return 1 if failed or any(story.wrong for story in stories) else 0


def _stories(
    place: Place, wanted: tuple[int, ...], peers: tuple[str, ...], fraction: float, failed: list[str]
) -> Iterator[Story]:
    """Query by query, ours first: in its lake the changes are made."""
    with trickle.connect(str(place.lake), spark_driver_memory=place.memory, row_cache_bytes=0) as engine:
        stream = Stream(engine, place.files, place.scale, fraction)
        say(f"scale {place.scale:g}, {stream.rows:,} rows changed in a cycle")
        for number in wanted:
            right: list[Answer] = []
            yield _ours(place, stream, number, right)
            write_first(place.files, number)
            for name in peers:
                side = _flink(place, number) if name == "flink" else _pathway(place, number)
                try:
                    yield tell(side, place.cycles, right.__getitem__)
                except (RuntimeError, TimeoutError) as err:  # the others are measured all the same
                    say(f"FAILED: {name} q{number:02}: {err}")
                    failed.append(f"{name} q{number:02}: {err}")


def _ours(place: Place, stream: Stream, number: int, right: list[Answer]) -> Story:
    """The stream is written as the story goes on, and what Spark answers is kept for the others."""
    stream.restart()
    shutil.rmtree(place.lake / ".rows", ignore_errors=True)
    right.append(stream.expected(number))

    def change(batch: int) -> None:
        stream.cycle(batch)
        right.append(stream.expected(number))

    def start() -> Measured:
        command = [sys.executable, "-m", "bench.peers.with_ours", str(place.lake), str(number), f"{place.scale:g}"]
        return Measured([*command, place.memory], place.log("ours"))

    again = (place.cycles + 1,)
    side = Side("ours", number, start, True, again, change, lambda: stream.published(number))
    story = tell(side, place.cycles, right.__getitem__)
    if not stream.verified(number):
        raise SystemExit(f"q{number:02} is not what verify computes")
    return story


def _pathway(place: Place, number: int) -> Side:
    command = [place.python("pathway"), "-m", "bench.peers.with_pathway", str(place.files), str(number)]
    return Side("pathway", number, lambda: Measured(command, place.log("pathway")), True, _all(place))


def _flink(place: Place, number: int) -> Side:
    text = for_flink(queries.text(number, place.scale))
    environment = {"FLINK_ENV_JAVA_OPTS": f"-Xmx{place.memory}", "FLINK_LOG_DIR": str(place.files / "flink-log")}

    def start() -> Measured:
        watched = tempfile.mkdtemp(prefix="watched-", dir=place.files)
        command = [place.python("flink"), "-m", "bench.peers.with_flink", str(place.files), watched]
        return Measured([*command, str(number), text], place.log("flink"), environment)

    return Side("flink", number, start, False, _all(place))


def _all(place: Place) -> tuple[int, ...]:
    return tuple(range(1, place.cycles + 2))


def for_flink(text: str) -> str:
    """The query without an order that nothing depends on: Flink has none for what never ends."""
    return text if "\nLIMIT" in text else text.partition("\nORDER BY")[0]


def _numbers(text: str) -> tuple[int, ...]:
    found = tuple(int(part) for part in text.split(","))
    if unknown := set(found) - set(QUERIES):
        raise ValueError(f"no query {sorted(unknown)}")
    return found


def _peers(text: str) -> tuple[str, ...]:
    found = tuple(text.split(","))
    if unknown := set(found) - set(PEERS):
        raise ValueError(f"no peer {sorted(unknown)}")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--queries", type=_numbers, default=QUERIES, help="for example 1,6")
    parser.add_argument("--peers", type=_peers, default=PEERS, help="for example flink")
    parser.add_argument("--changes", type=float, default=0.001, help="fraction of all rows that a cycle changes")
    parser.add_argument("--cycles", type=int, default=4, help="changes of each; the first warms up")
    parser.add_argument("--warehouse", help="keep the data there and use what is there; default: a temporary folder")
    parser.add_argument("--environments", default=".venv-peers", help="where scripts/setup_peers.sh made them")
    parser.add_argument(
        "--driver-memory", default="4g", help="the heap of a JVM: ours, Flink's, and the one that writes the changes"
    )
    parser.add_argument("--json", help="write what was measured to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
