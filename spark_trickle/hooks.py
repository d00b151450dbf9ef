"""Hooks: somebody outside is told that a refresh failed, a fuse blew, or a stream table is late; by a webhook or a
command.

Telling happens in a thread of its own and never holds a refresh back. It is tried again for a while; what cannot be
told is logged. OpenLineage events go the same way (`lineage`).
"""

from __future__ import annotations

import json
import logging
import queue
import shlex
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spark_trickle.config import mask_webhook
from spark_trickle.errors import ConfigError
from spark_trickle.events import Event, FuseBlown, Late, RefreshFailed

_LOG = logging.getLogger("spark_trickle")

MOST_WAITING = 1000
"""Messages that wait to be told; what comes when so many do is logged and left out."""
PATIENCE_SECONDS = 10.0
"""How long closing waits for what is still to be told."""


class NotToldError(Exception):
    """It did not get there. Says nothing of the address, which may be a secret."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often it is tried, and for how long."""

    waits: tuple[float, ...] = (1.0, 5.0, 20.0, 60.0)
    """Seconds before each further try."""
    timeout: float = 10.0


@dataclass(frozen=True, slots=True)
class Message:
    """Something to be told, to one place."""

    hook: str
    """The setting that names the place."""
    send: Callable[[bytes, float], None]
    body: Callable[[], bytes]
    """Made when it is sent: it may have to be looked up."""


class Mailbox:
    """Tells one message after the other, in the background. For several threads."""

    def __init__(self, pace: Pace = Pace()) -> None:  # noqa: B008 - frozen
        self._pace = pace
        self._waiting: queue.Queue[Message | None] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._hurry = threading.Event()
        self._over = threading.Event()

    def put(self, message: Message) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="trickle-hooks", daemon=True)
                self._thread.start()
        try:
            self._waiting.put_nowait(message)
        except queue.Full:
            _LOG.error("hook %s: %d messages wait already, one was left out", message.hook, MOST_WAITING)

    @property
    def empty(self) -> bool:
        """Whether all is told, or given up."""
        return self._waiting.unfinished_tasks == 0

    def close(self, patience: float = PATIENCE_SECONDS) -> None:
        """What waits is tried once more each, for as long as there is patience."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is None:
            return
        self._hurry.set()
        end = time.monotonic() + patience
        try:
            self._waiting.put(None, timeout=patience)
            thread.join(max(0.0, end - time.monotonic()))
        except queue.Full:
            pass
        left = self._waiting.unfinished_tasks
        if thread.is_alive() and left:
            self._over.set()
            _LOG.error("hooks: the program ends, and %d messages are not told", left)

    def _work(self) -> None:
        while (message := self._waiting.get()) is not None and not self._over.is_set():
            self._tell(message)
            self._waiting.task_done()

    def _tell(self, message: Message) -> None:
        tries = 1 + len(self._pace.waits)
        for number in range(1, tries + 1):
            try:
                message.send(message.body(), self._pace.timeout)
                return
            except NotToldError as err:
                if self._over.is_set():
                    return
                if number == tries or self._hurry.is_set():
                    _LOG.error("hook %s: not told after %d tries: %s", message.hook, number, err)
                    return
                _LOG.info("hook %s: try %d came to nothing: %s", message.hook, number, err)
                self._hurry.wait(self._pace.waits[number - 1])
            except Exception:  # noqa: BLE001 - a thread's boundary
                # A bug here, or the catalog that is away, is no reason to tell nobody anything any more.
                _LOG.exception("hook %s: it was not told", message.hook)
                return


class Hooks:
    """An observer that tells whom the settings name."""

    def __init__(self, mailbox: Mailbox, targets: Mapping[str, str], lake: str) -> None:
        """Args:
        targets: by hook (`on_failure`, …): an address, a command, or nothing.
        lake: the warehouse, so that who is told by several lakes knows which one.
        """
        self._mailbox = mailbox
        self._lake = lake
        self._send = {hook: sender(hook, target) for hook, target in targets.items() if target.strip()}

    def wants(self, hook: str) -> bool:
        return hook in self._send

    def __call__(self, event: Event) -> None:
        match event:
            case RefreshFailed(table, error):
                self._tell("on_failure", table, f"refresh of '{table}' failed: {error}", error=error)
            case FuseBlown(table, because):
                self._tell("on_fuse", table, because, because=because)
            case Late(table, because, since):
                text = f"'{table}' is late: {because}"
                self._tell("on_late", table, text, because=because, since=since.isoformat())
            case _:
                pass

    def _tell(self, hook: str, table: str, text: str, **facts: object) -> None:
        if hook not in self._send:
            return
        said: dict[str, object] = {"event": hook, "table": table, "text": text, "lake": self._lake}
        said |= {"at": datetime.now(UTC).isoformat(), **facts}
        self._mailbox.put(Message(hook, self._send[hook], lambda: json.dumps(said, ensure_ascii=False).encode()))


def sender(hook: str, target: str) -> Callable[[bytes, float], None]:
    """How a place is told. ConfigError: it is none."""
    if target.startswith(("http://", "https://")):
        return lambda body, timeout: _post(target, body, timeout)
    try:
        command = shlex.split(target)
    except ValueError as err:
        raise ConfigError(
            f"the setting '{hook}' ({mask_webhook(target)}) is not a command: {err}",
            hint="Write it as in a shell; it is started without one",
        ) from err
    if "://" in command[0]:
        raise ConfigError(
            f"the setting '{hook}' ({mask_webhook(target)}) is neither an http(s) address nor a command",
            hint="Write https://host/path, or a program with its arguments",
        )
    return lambda body, timeout: _run(command, body, timeout)


def to_file(path: Path) -> Callable[[bytes, float], None]:
    """A line of a file each."""

    def append(body: bytes, _timeout: float) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(body + b"\n")
        except OSError as err:
            raise NotToldError(f"'{path}' cannot be written: {err.strerror}") from err

    return append


class _NoDetours(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any) -> None:
        """What is told is meant for that address, and for no other."""
        return


_OPENER = urllib.request.build_opener(_NoDetours)


def _post(address: str, body: bytes, timeout: float) -> None:
    headers = {"Content-Type": "application/json", "User-Agent": "spark-trickle"}
    try:
        request = urllib.request.Request(address, data=body, headers=headers, method="POST")
        with _OPENER.open(request, timeout=timeout) as answer:
            answer.read(1024)
    except urllib.error.HTTPError as err:
        err.close()
        raise NotToldError(f"{mask_webhook(address)} answered {err.code}") from None
    except (OSError, ValueError) as err:
        why = getattr(err, "reason", None) or type(err).__name__
        raise NotToldError(f"{mask_webhook(address)} cannot be reached: {why}") from None


def _run(command: list[str], body: bytes, timeout: float) -> None:
    try:
        done = subprocess.run(command, input=body, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise NotToldError(f"'{command[0]}' took longer than {timeout:g} s and was ended") from None
    except OSError as err:
        raise NotToldError(f"'{command[0]}' cannot be started: {err.strerror}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise NotToldError(f"'{command[0]}' ended with {done.returncode}{f': {said[-1][:200]}' if said else ''}")
