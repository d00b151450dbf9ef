"""An object store on this machine for tests: `python -m tests.support.s3_server bucket` prints its address and serves
until its standard input ends, which it does when whoever started it is gone.

`weather(address, busy=0.3)` makes it answer a third of what it is asked with 503, `slow=0.1` makes a tenth wait.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

_WEATHER, _READERS = "/--weather--", "/--readers--"
_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
_Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclass
class Weather:
    """Stands before a store, and makes it as bad as it is told to."""

    store: _Wsgi
    busy: float = 0.0
    """The part of all requests that is answered with 503."""
    slow: float = 0.0
    """The part that waits first."""
    seconds: float = 0.5
    chance: Random = field(default_factory=lambda: Random(7))
    refused: int = 0
    delayed: int = 0
    readers: dict[str, list[str]] = field(default_factory=dict)
    """Of each object, the keys by which it was read."""

    def __call__(self, request: dict[str, Any], answer: Callable[..., Any]) -> Iterable[bytes]:
        if request["PATH_INFO"] == _WEATHER:
            counts = json.dumps({"refused": self.refused, "delayed": self.delayed}).encode()
            told = json.loads(request["wsgi.input"].read(int(request["CONTENT_LENGTH"])))
            self.busy, self.slow, self.seconds = told["busy"], told["slow"], told["seconds"]
            answer("200 OK", [("Content-Length", str(len(counts)))])
            return [counts]
        if request["PATH_INFO"] == _READERS:
            told_readers = json.dumps(self.readers).encode()
            answer("200 OK", [("Content-Length", str(len(told_readers)))])
            return [told_readers]
        if request["REQUEST_METHOD"] == "GET":
            signed = request.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].partition("/")[0]
            self.readers.setdefault(request["PATH_INFO"], []).append(signed)
        if self.chance.random() < self.slow:
            self.delayed += 1
            time.sleep(self.seconds)
        if self.chance.random() < self.busy:
            self.refused += 1
            # The whole request is taken: a connection that is kept begins its next one where this one ends.
            request["wsgi.input"].read(int(request.get("CONTENT_LENGTH") or 0))
            answer("503 Slow Down", [("Content-Type", "application/xml"), ("Content-Length", str(len(_SLOW_DOWN)))])
            return [_SLOW_DOWN]
        return self.store(request, answer)


def weather(address: str, *, busy: float = 0.0, slow: float = 0.0, seconds: float = 0.5) -> dict[str, int]:
    """Set it; gives how many requests were refused and delayed so far."""
    told = json.dumps({"busy": busy, "slow": slow, "seconds": seconds}).encode()
    with urlopen(Request(f"{address}{_WEATHER}", data=told, method="PUT"), timeout=30) as answer:
        counts: dict[str, int] = json.load(answer)
        return counts


def readers(address: str) -> dict[str, list[str]]:
    """Of each object, the keys by which it was read."""
    with urlopen(f"{address}{_READERS}", timeout=30) as answer:
        told: dict[str, list[str]] = json.load(answer)
        return told


def main() -> None:
    # moto brings all that the store needs; only this process imports it.
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    store = Weather(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, store, threaded=True, request_handler=MotoRequestHandler)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    urlopen(Request(f"{address}/{sys.argv[1]}", method="PUT"), timeout=30).close()
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
