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

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
        """Send a request, to a path below the server's address or to an address of its own."""
        if "://" in path:
            return self._once(self._connection(path), method, urlsplit(path).path or "/", headers, body)
        whole = f"{urlsplit(self._uri).path.rstrip('/')}{path}"
        with self._lock:
            used = self._idle.pop() if self._idle else None
        if used is not None:
            try:
                return self._keep(used, method, whole, headers, body)
            except NotReachedError:
                pass  # the server may have closed it since: that is no answer
        return self._keep(self._connection(self._uri), method, whole, headers, body)

    def close(self) -> None:
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _keep(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> Answer:
        answer = self._send(connection, method, path, headers, body)
        with self._lock:
            self._idle.append(connection)
        return answer

    def _once(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> Answer:
        try:
            return self._send(connection, method, path, headers, body)
        finally:
            connection.close()

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> Answer:
        try:
            connection.request(method, path, body, {"Accept": "application/json", **headers})
            response = connection.getresponse()
            return Answer(response.status, response.getheader("ETag"), response.read())
        except (OSError, http.client.HTTPException) as err:
            connection.close()
            raise NotReachedError(str(err) or type(err).__name__) from err

    def _connection(self, uri: str) -> http.client.HTTPConnection:
        parts = urlsplit(uri)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        return kind(parts.hostname or "", parts.port, timeout=self._timeout)
