"""What every request passes before anything else: its host, its origin, who sends it, how large it is and how often.

One piece of ASGI around the whole server, so that no route can be reached past it. Answers carry headers that forbid a
browser to run or fetch anything that is not the server's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spark_trickle.serve.access import BrowserSessions, Door, Rate, Visitor
from spark_trickle.serve.iceberg_errors import iceberg_error, is_iceberg

LARGEST_BODY = 64 * 1024
LONGEST_URL = 8 * 1024
VISITOR = "trickle.visitor"
"""Where in the scope of a request it says who sends it."""

OPEN_PATHS = ("/healthz", "/readyz", "/login", "/favicon.ico")
SAFE_METHODS = ("GET", "HEAD")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Guard:
    """The outermost layer."""

    app: ASGIApp
    door: Door
    sessions: BrowserSessions
    requests: Rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        visitor = self._visitor(scope, headers)
        refused = self._refused(scope, headers, visitor)
        sending = _with_headers(send, scope["path"])
        if refused is not None:
            await refused(scope, receive, sending)
            return
        scope[VISITOR] = visitor
        await self.app(scope, _limited(receive), sending)

    def _refused(self, scope: Scope, headers: Headers, visitor: Visitor | None) -> Response | None:
        """What is answered instead, if it may not come in."""
        path, method = scope["path"], scope["method"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.door.answers_to(hosts[0]):
            return refusal(path, 421, "the Host header names another server", "`--allow-host NAME` adds a name")
        excessive = self._excessive(scope, headers)
        if excessive is not None:
            return excessive
        if method not in SAFE_METHODS:
            wrong = self._foreign(headers, hosts[0], visitor)
            if wrong is not None:
                return refusal(path, 403, wrong)
        if path in OPEN_PATHS or path.startswith("/static/") or visitor is not None:
            return None
        # The Iceberg catalog has nothing to be done, and says so itself.
        if self.door.token is None and (method in SAFE_METHODS or is_iceberg(path)):
            return None
        if self.door.token is None:
            return refusal(path, 403, "doing something through the API needs a token", "Start with --token-file")
        if method in SAFE_METHODS and not path.startswith(("/api/", "/metrics", "/iceberg")):
            return RedirectResponse("/login", 303)
        return refusal(path, 401, "the token is missing or wrong", None, {"WWW-Authenticate": "Bearer"})

    def _excessive(self, scope: Scope, headers: Headers) -> Response | None:
        path, address = scope["path"], scope["client"][0] if scope.get("client") else "unknown"
        if path != "/healthz" and not self.requests.take(address):
            return refusal(path, 429, "too many requests", "Ask less often", {"Retry-After": "1"})
        if len(scope.get("raw_path", b"")) + len(scope.get("query_string", b"")) > LONGEST_URL:
            return refusal(path, 414, "the address is too long")
        if _length(headers) > LARGEST_BODY:
            return refusal(path, 413, f"a request has at most {LARGEST_BODY} bytes")
        return None

    def _foreign(self, headers: Headers, host: str, visitor: Visitor | None) -> str | None:
        """Whether a request that changes something comes from another site's page."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site not in (None, "same-origin", "none"):
            return "the request comes from another site"
        if origin is not None:
            parts = urlsplit(origin)
            # Behind a proxy the scheme is not known here, and ports may differ; the whole of both names is compared.
            if parts.scheme not in ("http", "https") or parts.netloc.lower() != host.lower():
                return "the request comes from another origin"
        elif visitor is not None and visitor.via == "page":
            return "a request of a browser without its origin"
        return None

    def _visitor(self, scope: Scope, headers: Headers) -> Visitor | None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.door.knows_token(given.strip()):
            return Visitor(named(headers.get("x-trickle-user", "")) or "token", "api")
        cookie = cookie_of(headers, self.cookie_name)
        return None if cookie is None else self.sessions.visitor(cookie)

    @property
    def cookie_name(self) -> str:
        return cookie_name(self.door)


def cookie_name(door: Door) -> str:
    """Browsers share cookies between the ports of a host: each server has its own."""
    return f"trickle_session_{door.port}"


def cookie_of(headers: Headers, name: str) -> str | None:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(headers.get("cookie", ""))
    except CookieError:
        return None
    return jar[name].value if name in jar else None


def refusal(
    path: str, status: int, what: str, hint: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """A refusal in the words of the command line; JSON where programs ask."""
    message = what if hint is None else f"{what}. {hint}"
    if is_iceberg(path):
        return iceberg_error(status, message, headers=headers)
    if path.startswith("/api/"):
        body = {"error": "Refused", "message": message, "facts": {}, "retryable": status == 429}
        return JSONResponse(body, status, headers)
    return PlainTextResponse(message + "\n", status, headers)


def named(text: str) -> str:
    """The name that somebody gives of himself: a few printable characters."""
    return "".join(char for char in text if char.isprintable()).strip()[:60]


def _length(headers: Headers) -> int:
    given = headers.get("content-length", "0")
    return int(given) if given.isascii() and given.isdecimal() else LARGEST_BODY + 1


def _limited(receive: Receive) -> Receive:
    """A body without a length is counted while it is read."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST_BODY:
            return {"type": "http.disconnect"}
        return message

    return counted


def _with_headers(send: Send, path: str) -> Send:
    more: Iterable[tuple[str, str]] = HEADERS.items()

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for key, value in more:
                headers[key] = value
            # Assets are asked for again, and are the same mostly: an etag answers that.
            headers.setdefault("Cache-Control", "no-cache" if path.startswith("/static/") else "no-store")
        await send(message)

    return sending
