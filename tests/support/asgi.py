"""Asking an ASGI application without a network, by httpx and one request at a time."""

from __future__ import annotations

import asyncio

import httpx
from starlette.types import ASGIApp, Message, Scope


class Within(httpx.BaseTransport):
    """Hands requests to an application in this process."""

    def __init__(self, app: ASGIApp, address: str = "127.0.0.1") -> None:
        self._app = app
        self._address = address

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = request.read()
        path, _, query = request.url.raw_path.partition(b"?")
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": [(key.lower(), value) for key, value in request.headers.raw],
            "client": (self._address, 50000),
            "server": ("127.0.0.1", 8080),
        }
        pieces = [body[i : i + 10_000] for i in range(0, len(body), 10_000)] or [b""]
        sent: list[Message] = []

        async def receive() -> Message:
            if not pieces:
                await asyncio.Event().wait()
            piece = pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

        async def send(message: Message) -> None:
            sent.append(message)

        asyncio.run(self._app(scope, receive, send))  # type: ignore[arg-type]
        start = next(message for message in sent if message["type"] == "http.response.start")
        content = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
        return httpx.Response(start["status"], headers=start["headers"], content=content, request=request)


def client_of(app: ASGIApp, base_url: str) -> httpx.Client:
    return httpx.Client(transport=Within(app), base_url=base_url, follow_redirects=True)
