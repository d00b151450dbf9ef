"""The server as an ASGI application: routes to what answers, errors to statuses, and the guard around it all."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from spark_trickle.errors import ConflictError, NotFoundError, StreamTableError, TransientError, UserError
from spark_trickle.gating import who
from spark_trickle.serve.access import BrowserSessions, Door, Rate, Visitor
from spark_trickle.serve.actions import deed_of
from spark_trickle.serve.api import ENDPOINTS, Api, Endpoint, query_of
from spark_trickle.serve.guard import VISITOR, Guard, cookie_name, cookie_of, named, refusal
from spark_trickle.serve.iceberg import IcebergCatalog
from spark_trickle.serve.iceberg_errors import PREFIX as ICEBERG
from spark_trickle.serve.metrics import CONTENT_TYPE, Metrics
from spark_trickle.serve.openapi import PREFIX, document
from spark_trickle.serve.published import Published
from spark_trickle.store_files import StoreFiles
from spark_trickle.views import as_json

STATIC = Path(str(resources.files("spark_trickle.serve").joinpath("static")))
REQUESTS_PER_SECOND, REQUESTS_AT_ONCE = 40.0, 200.0
LOGINS_PER_SECOND, LOGINS_AT_ONCE = 0.2, 10.0
ALL_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_log = logging.getLogger(__name__)


def make_app(api: Api, door: Door, clock: Callable[[], float] = time.monotonic) -> ASGIApp:
    """The whole server. `clock`: seconds from any beginning, for rates and the ends of sessions."""
    sessions = BrowserSessions(clock)
    pages = Pages(api, door, sessions, Rate(clock, LOGINS_PER_SECOND, LOGINS_AT_ONCE))
    routes = [
        Route("/", pages.index),
        Route("/login", pages.login_form, methods=["GET"]),
        Route("/login", pages.login, methods=["POST"]),
        Route("/logout", pages.logout, methods=["POST"]),
        Route("/healthz", pages.healthz),
        Route("/readyz", pages.readyz),
        Route("/metrics", pages.metrics),
        Route(f"{PREFIX}/openapi.json", pages.openapi),
        Route(f"{PREFIX}/actions", pages.act, methods=["POST"]),
        Route(f"{PREFIX}/actions/{{number:int}}", pages.action),
        *(Route(f"{PREFIX}{endpoint.path}", _reading(api, endpoint)) for endpoint in ENDPOINTS),
        Route(f"{ICEBERG}/{{rest:path}}", _iceberg(api), methods=ALL_METHODS),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={StreamTableError: _known_error, 404: _no_such_place, 405: _no_such_place, 500: _bug},
    )
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=4)
    return Guard(app, door, sessions, Rate(clock, REQUESTS_PER_SECOND, REQUESTS_AT_ONCE))


def _iceberg(api: Api) -> Callable[[Request], Response]:
    settings = api.engine.settings
    catalog = IcebergCatalog(Published(api.watch.catalog, StoreFiles(settings.spark_conf)), settings)

    def answer(request: Request) -> Response:
        return catalog(request)

    return answer


def _reading(api: Api, endpoint: Endpoint) -> Callable[[Request], Response]:
    """Reading waits for the database, so Starlette runs it in a thread."""

    def answer(request: Request) -> Response:
        return as_response(endpoint.read(api, query_of(endpoint, request.query_params.multi_items())))

    return answer


def as_response(value: object, status: int = 200) -> Response:
    return JSONResponse(as_json(value), status)


class Pages:
    """What is not a reading of the API."""

    def __init__(self, api: Api, door: Door, sessions: BrowserSessions, logins: Rate) -> None:
        self._api = api
        self._door = door
        self._sessions = sessions
        self._logins = logins
        self._metrics = Metrics(api)
        self._index = (STATIC / "index.html").read_text(encoding="utf-8")
        self._login = (STATIC / "login.html").read_text(encoding="utf-8")

    def index(self, request: Request) -> Response:
        """The page. Whoever sees it without a token gets a session here: without one, nobody can act."""
        mode = "read-only" if self._door.read_only else "acting"
        page = HTMLResponse(self._index.replace('data-mode=""', f'data-mode="{mode}"'))
        if self._door.token is None and not self._door.read_only and request.scope[VISITOR] is None:
            self._give_cookie(request, page, who())
        return page

    def login_form(self, _request: Request) -> Response:
        return RedirectResponse("/", 303) if self._door.token is None else HTMLResponse(self._login)

    async def login(self, request: Request) -> Response:
        address = request.client.host if request.client else "unknown"
        if not self._logins.take(address):
            return refusal("/api/", 429, "too many attempts", "Wait a few seconds", {"Retry-After": "5"})
        given = await _body(request)
        token = given.get("token") if isinstance(given, dict) else None
        if not isinstance(token, str) or not self._door.knows_token(token.strip()):
            return refusal("/api/", 401, "that is not the token")
        name = given.get("name") if isinstance(given, dict) else None
        answer = JSONResponse({"ok": True})
        self._give_cookie(request, answer, named(name if isinstance(name, str) else "") or "page")
        return answer

    def logout(self, request: Request) -> Response:
        cookie = cookie_of(request.headers, cookie_name(self._door))
        if cookie is not None:
            self._sessions.end(cookie)
        answer = JSONResponse({"ok": True})
        answer.delete_cookie(cookie_name(self._door), httponly=True, samesite="strict")
        return answer

    def healthz(self, _request: Request) -> Response:
        return PlainTextResponse("ok\n")

    def readyz(self, _request: Request) -> Response:
        """Whether the catalog can be read."""
        try:
            self._api.watch.catalog.generation()
        except StreamTableError as err:
            _log.warning("not ready: %s", err)
            return PlainTextResponse("the catalog cannot be read; the server's log says why\n", 503)
        return PlainTextResponse("ok\n")

    def metrics(self, _request: Request) -> Response:
        return Response(self._metrics.text(), media_type=CONTENT_TYPE)

    def openapi(self, _request: Request) -> Response:
        return JSONResponse(document(self._door.read_only))

    def action(self, request: Request) -> Response:
        found = self._api.jobs.get(request.path_params["number"])
        if found is None:
            raise NotFoundError("action", request.path_params["number"])
        return as_response(found)

    async def act(self, request: Request) -> Response:
        if self._door.read_only:
            return refusal(PREFIX, 403, "this server is read-only", "Start it without --read-only")
        visitor = request.scope[VISITOR]
        assert isinstance(visitor, Visitor), "the guard lets nobody else come here"
        given = await _body(request)

        def ask() -> Response:
            deed = deed_of(given, self._api.watch.moment().tables)
            return as_response(self._api.jobs.ask(deed, visitor), 202)

        return await run_in_threadpool(ask)

    def _give_cookie(self, request: Request, answer: Response, name: str) -> None:
        secure = request.headers.get("origin", "").startswith("https://")
        answer.set_cookie(
            cookie_name(self._door),
            self._sessions.begin(name),
            httponly=True,
            samesite="strict",
            secure=secure,
            path="/",
        )


async def _body(request: Request) -> object:
    """JSON, said to be so: what a form of another site can send never is."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise UserError("the body is JSON, and the content type says so: application/json")
    try:
        return json.loads(await request.body())
    except ClientDisconnect as err:
        raise UserError("the request is too large") from err
    except ValueError as err:
        raise UserError(f"the body is not JSON: {err}") from err


def _known_error(_request: Request, err: Exception) -> Response:
    assert isinstance(err, StreamTableError)
    match err:
        case NotFoundError():
            status = 404
        case UserError():
            status = 400
        case ConflictError():
            status = 409
        case TransientError():
            status = 503
        case _:
            status = 500
    return as_response(err.as_dict(), status)


def _no_such_place(request: Request, err: Exception) -> Response:
    status = getattr(err, "status_code", 404)
    what = "there is nothing here" if status == 404 else "that cannot be done here"
    return refusal(request.url.path, status, what, f"{PREFIX}/openapi.json lists what there is")


def _bug(request: Request, _err: Exception) -> Response:
    return refusal(request.url.path, 500, "an error that nobody expected", "Its trace is in the server's log")
