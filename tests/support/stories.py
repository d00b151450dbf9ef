"""Small stories about one stream table: tables, a query, windows of statements. Told to DuckDB by the tests that use
`kept` and `then`; what was told can be written down, so that the same stories are told to Spark (see `replay`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import ModuleType

from tests.support.duck import Kept, Lake, Row, Table

Load = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class World:
    """Everything of a story but its query: stories that differ in nothing else can share their tables."""

    tables: tuple[Table, ...]
    load: tuple[tuple[str, tuple[Row, ...]], ...]
    windows: tuple[tuple[str, ...], ...]
    """The statements between one refresh and the next."""


@dataclass(frozen=True)
class Story:
    """What was done to one stream table."""

    query: str
    world: World


@dataclass(frozen=True)
class Teller:
    """A test that tells stories: its name with its parameters, and how to run it."""

    name: str
    tell: Callable[[], None]

    def __str__(self) -> str:
        return self.name


class Enough(Exception):
    """As many windows were told as are wanted."""


@dataclass
class Notes:
    """What is written down while a teller speaks, at most so many windows of each story."""

    limit: int
    begun: dict[int, tuple[Kept, str, Load]] = field(default_factory=dict)
    windows: dict[int, list[tuple[str, ...]]] = field(default_factory=dict)

    def begin(self, stream: Kept, query: str, load: Load) -> None:
        self.begun[id(stream)] = (stream, query, load)
        self.windows[id(stream)] = []

    def go_on(self, stream: Kept, statements: tuple[str, ...]) -> None:
        told = self.windows[id(stream)]
        told.append(statements)
        if len(told) == self.limit:
            raise Enough

    def stories(self) -> tuple[Story, ...]:
        return tuple(
            Story(query, World(tuple(stream.lake.tables), _frozen(load), tuple(self.windows[key])))
            for key, (stream, query, load) in self.begun.items()
        )


_listeners: list[Notes] = []


def kept(query: str, *tables: Table, load: Load | None = None, answer: str | None = None) -> Kept:
    """A stream table over these tables, made and checked; `answer` is the query as DuckDB has to be asked."""
    lake = Lake(tables)
    if answer is not None:
        lake.answers[query] = answer
    for table, rows in (load or {}).items():
        lake.insert(table, rows)
    found = Kept(lake, query)
    found.check()
    for notes in _listeners:
        notes.begin(found, query, load or {})
    return found


def then(stream: Kept, *statements: str, check: bool = True) -> Kept:
    """One window: these statements, a refresh, and a look at whether all is right."""
    for statement in statements:
        stream.lake.run(statement)
    stream.refresh()
    if check:
        stream.check()
    for notes in _listeners:
        notes.go_on(stream, statements)
    return stream


def stories_of(teller: Teller, *, limit: int) -> tuple[Story, ...]:
    """Let a teller speak to DuckDB, and write down what it tells."""
    with _listening(limit) as notes, suppress(Enough):
        teller.tell()
    return notes.stories()


def tellers(module: ModuleType) -> list[Teller]:
    """The tests of a module, each of their parameters apart."""
    found = []
    for name, function in vars(module).items():
        if name.startswith("test_"):
            for number, arguments in enumerate(_arguments(function)):
                called = name.removeprefix("test_") + (f"-{number}" if arguments else "")
                found.append(Teller(called, lambda f=function, a=arguments: f(**a)))  # type: ignore[misc]
    return found


@contextmanager
def _listening(limit: int) -> Iterator[Notes]:
    notes = Notes(limit)
    _listeners.append(notes)
    try:
        yield notes
    finally:
        _listeners.remove(notes)


def _arguments(function: Callable[..., None]) -> list[dict[str, object]]:
    """The arguments of each call that pytest would make: every combination of what its marks give."""
    found: list[dict[str, object]] = [{}]
    for mark in getattr(function, "pytestmark", ()):
        if mark.name != "parametrize":
            continue
        names, choices = mark.args
        listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        given = [dict(zip(listed, (choice,) if len(listed) == 1 else choice, strict=True)) for choice in choices]
        found = [{**one, **other} for one in found for other in given]
    return found


def _frozen(load: Load) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    return tuple((table, tuple(tuple(row) for row in rows)) for table, rows in load.items())
