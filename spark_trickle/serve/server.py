"""Starting and stopping the server: a socket that is bound before anything else, and a quiet uvicorn on it."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import uvicorn
from starlette.types import ASGIApp

from spark_trickle.engine import Engine
from spark_trickle.errors import ConfigError, UserError
from spark_trickle.serve.access import Door
from spark_trickle.serve.api import Api
from spark_trickle.serve.app import make_app
from spark_trickle.serve.jobs import Jobs

CONNECTIONS = 256


def serve(engine: Engine, jobs: Jobs, door: Door, told: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. `told` hears the address once it can be opened."""
    with _listening(door) as (sock, bound):
        server = _server(make_app(Api(engine, jobs), bound), lambda: told(address_of(bound)))
        try:
            server.run(sockets=[sock])
        finally:
            jobs.close()


@contextmanager
def serving(engine: Engine, jobs: Jobs, door: Door) -> Iterator[str]:
    """Serve beside something else, in a thread of its own; gives the address."""
    with _listening(door) as (sock, bound):
        ready = threading.Event()
        server = _server(make_app(Api(engine, jobs), bound), ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, name="trickle-serve", daemon=True)
        thread.start()
        if not ready.wait(10):
            raise UserError("the page did not start")
        try:
            yield address_of(bound)
        finally:
            server.should_exit = True
            thread.join(10)
            jobs.close()


def address_of(door: Door) -> str:
    """What to open in a browser."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(door.host, door.host)
    return f"http://{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{door.port}"


@contextmanager
def _listening(door: Door) -> Iterator[tuple[socket.socket, Door]]:
    """The socket, and the door with the port that it has: 0 takes any that is free."""
    host = door.host.strip("[]")
    try:
        family, _, _, _, where = socket.getaddrinfo(host, door.port, type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
    except OSError as err:
        raise ConfigError(
            f"cannot listen at {door.host}, port {door.port}: {err.strerror or err}",
            hint="--port takes another one; 0 takes any that is free",
        ) from err
    try:
        yield sock, replace(door, port=sock.getsockname()[1])
    finally:
        sock.close()


class _Server(uvicorn.Server):
    """Says when it can be reached."""

    ready: Callable[[], None]

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM end it in order; uvicorn would send them once more, after all is done."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, former in before.items():
                signal.signal(each, former)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()


def _server(app: ASGIApp, ready: Callable[[], None]) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        log_level="warning",
        # An access log would hold names of tables, and is a proxy's business.
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=32 * 1024,
    )
    server = _Server(config)
    server.ready = ready
    return server
