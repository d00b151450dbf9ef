"""Stands before an HTTP server, for tests: it lets through what it is asked, or answers otherwise as it is told. It can
want a token, as servers with OAuth do.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

CLIENT, SECRET = "trickler", "5ecr3t-of-ours"
_TOKENS = "/v1/oauth/tokens"


def by_icebergs_client(headers: Mapping[str, str]) -> bool:
    """Whether Iceberg's own client asks."""
    return "X-Client-Version" in headers


@dataclass
class Gate:
    """What stands there, and how it behaves."""

    upstream: str
    token: str | None = None
    """Who has it is let through; None: everybody is."""
    gives_tokens: bool = True
    status: int | None = None
    """What everybody is answered."""
    says: bytes = b'{"error": {"message": "maintenance", "type": "ServiceUnavailableException", "code": 500}}'
    cut_short: bool = False
    delay: float = 0.0
    whom: Callable[[Mapping[str, str]], bool] = lambda headers: True
    """Whom it lets feel that."""
    answered: Counter[tuple[bool, int]] = field(default_factory=Counter)
    """How often Iceberg's client, and others, were answered what."""
    address: str = ""

    def calm(self) -> None:
        """Let everything through again."""
        self.status, self.cut_short, self.delay, self.gives_tokens = None, False, 0.0, True
        self.whom = lambda headers: True

    def answer(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        if path.partition("?")[0] == _TOKENS:
            return self._token(body)
        if self.whom(headers):
            time.sleep(self.delay)
            if self.status is not None:
                return self.status, {"Content-Type": "text/html"}, self.says
        if self.token is not None and self.whom(headers) and headers.get("Authorization") != f"Bearer {self.token}":
            told = f"the token {headers.get('Authorization', '')} has expired"
            error = {"error": {"message": told, "type": "NotAuthorizedException", "code": 401}}
            return 401, {"Content-Type": "application/json"}, json.dumps(error).encode()
        return self._through(method, path, headers, body)

    def _token(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        given = {key: values[0] for key, values in parse_qs(body.decode()).items()}
        if not self.gives_tokens or (given.get("client_id"), given.get("client_secret")) != (CLIENT, SECRET):
            return 401, {"Content-Type": "application/json"}, b'{"error": "invalid_client", "error_description": "no"}'
        issued = "urn:ietf:params:oauth:token-type:access_token"
        told = {"access_token": self.token, "token_type": "bearer", "issued_token_type": issued, "expires_in": 3600}
        return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()

    def _through(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.upstream).netloc, timeout=60)
        try:
            passed = {
                key: value for key, value in headers.items() if key not in ("Host", "Connection", "Content-Length")
            }
            connection.request(method, path, body or None, passed)
            response = connection.getresponse()
            told = {
                key: value
                for key, value in response.getheaders()
                if key in ("ETag", "Content-Type", "Content-Encoding")
            }
            return response.status, told, response.read()
        finally:
            connection.close()


@contextmanager
def guarding(upstream: str) -> Iterator[Gate]:
    """A gate before a server."""
    gate = Gate(upstream)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = dict(self.headers)
            status, headers, payload = gate.answer(self.command, self.path, asked, body)
            gate.answered[by_icebergs_client(asked), status] += 1
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(payload))}.items():
                self.send_header(key, value)
            self.end_headers()
            short = gate.cut_short and gate.whom(asked) and len(payload) > 1
            with suppress(ConnectionError):  # who asked may have given up
                self.wfile.write(payload[: len(payload) // 2] if short else payload)
            self.close_connection = short or self.close_connection

        do_GET = do_POST = do_HEAD = do_DELETE = _do

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        gate.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield gate
        finally:
            server.shutdown()
            thread.join()
