"""Connections to one HTTP server that stay open from one question to the next."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 10.0


class NotReachedError(Exception):
    """The server did not answer. Says nothing of what was asked."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request. What is in it is not shown: a token may be."""

    method: str
    path: str = field(repr=False)
    """Below the server's address, or an address of its own."""
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    tag: str | None
    """The ETag, if there is one."""
    body: bytes = field(repr=False)


class Connections:
    """Asks one server. Any thread may."""

    def __init__(self, uri: str, timeout: float = TIMEOUT_SECONDS) -> None:
        self._uri = uri
        self._timeout = timeout
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def ask(self, question: Question) -> Answer:
        if "://" in question.path:
            connection = self._connection(question.path)
            try:
                return _send(connection, question, urlsplit(question.path).path or "/")
            finally:
                connection.close()
        path = f"{urlsplit(self._uri).path.rstrip('/')}{question.path}"
        with self._lock:
            used = self._idle.pop() if self._idle else None
        if used is not None:
            try:
                return self._kept(used, question, path)
            except NotReachedError as err:
                if isinstance(err.__cause__, TimeoutError):
                    raise  # who waits once need not wait twice
                # The server may have closed it since: that is no answer.
        return self._kept(self._connection(self._uri), question, path)

    def close(self) -> None:
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _kept(self, connection: http.client.HTTPConnection, question: Question, path: str) -> Answer:
        answer = _send(connection, question, path)
        with self._lock:
            self._idle.append(connection)
        return answer

    def _connection(self, uri: str) -> http.client.HTTPConnection:
        parts = urlsplit(uri)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        return kind(parts.hostname or "", parts.port, timeout=self._timeout)


def _send(connection: http.client.HTTPConnection, question: Question, path: str) -> Answer:
    headers = {"Accept": "application/json", **question.headers}
    try:
        connection.request(question.method, path, question.body, headers)
    except ValueError:
        # It names the header with all that is in it, which may be a token.
        connection.close()
        raise NotReachedError("what its settings say of tokens or headers cannot be sent over HTTP") from None
    except (OSError, http.client.HTTPException) as err:
        connection.close()
        raise _unreached(err) from err
    try:
        response = connection.getresponse()
        return Answer(response.status, response.getheader("ETag"), response.read())
    except (OSError, http.client.HTTPException) as err:
        connection.close()
        raise _unreached(err) from err


def _unreached(err: Exception) -> NotReachedError:
    return NotReachedError("timed out" if isinstance(err, TimeoutError) else str(err) or type(err).__name__)
