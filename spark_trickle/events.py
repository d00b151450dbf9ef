"""What happened, as values, and who is told. Whoever did it builds an event and calls `notify`; nobody logs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Protocol

from spark_trickle.model.refresh import RefreshOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTableChanged:
    """A definition was made, altered, dropped, suspended or resumed."""

    name: str
    change: str
    """created, altered, dropped, suspended, resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeGiven:
    """Something the user should know about a stream table, though nothing failed."""

    name: str
    notice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshFinished:
    """A refresh ended well: it published, or found nothing to do."""

    outcome: RefreshOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshFailed:
    """A refresh ended badly; nothing was published."""

    name: str
    error: str
    message: str
    retryable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRetried:
    """A refresh is tried again."""

    name: str
    attempt: int
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Tables became visible, together."""

    tables: tuple[str, ...]
    cut: str | None
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkStarted:
    """A JVM was started, which takes seconds."""

    duration_ms: float


Event = StreamTableChanged | NoticeGiven | RefreshFinished | RefreshFailed | RefreshRetried | Published | SparkStarted


class Observer(Protocol):
    """Is told what happened. Must be quick and must not raise."""

    def notify(self, event: Event) -> None: ...


class Observers:
    """Tells several."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def notify(self, event: Event) -> None:
        for observer in self._observers:
            observer.notify(event)


class LogObserver:
    """Writes events as structured log lines."""

    def __init__(self) -> None:
        # Imported where it is used: commands that only look things up should start at once.
        import structlog

        self._log = structlog.get_logger("spark_trickle")

    def notify(self, event: Event) -> None:
        write = self._log.warning if isinstance(event, RefreshFailed | RefreshRetried | NoticeGiven) else self._log.info
        write(event_name(event), **event_facts(event))


def event_name(event: Event) -> str:
    """The event's name as logs and metrics write it.

    >>> event_name(Published(tables=("a",), cut=None, duration_ms=1.0))
    'published'
    """
    letters = type(event).__name__
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in letters).lstrip("_")


def event_facts(event: Event) -> dict[str, object]:
    """The event's fields; a refresh's outcome is laid out flat."""
    value: Event | RefreshOutcome = event.outcome if isinstance(event, RefreshFinished) else event
    facts: dict[str, object] = {}
    for field in fields(value):
        fact = getattr(value, field.name)
        facts[field.name] = str(fact) if field.name == "frontier" else fact
    return facts
