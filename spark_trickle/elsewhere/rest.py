"""Iceberg's REST catalog, asked over plain HTTP where tables are, and nothing else.

Each table is asked for with the tag of its last answer: where nothing happened the server says so in a few bytes. No
credentials for files are asked for; those are the business of the FileIO that reads them.
"""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from spark_trickle.elsewhere.connections import TIMEOUT_SECONDS, Answer, Connections, NotReachedError, Question
from spark_trickle.elsewhere.heads import Found, missing, refused, unreachable
from spark_trickle.elsewhere.settings import CatalogSettings, without_secrets
from spark_trickle.model.publication import Away
from spark_trickle.names import TableName

AT_ONCE = 8
"""Requests under way to one server."""

PATIENCE = 5

_OF_ADDRESSES = "/%:@!$&'()*+,;=~"
_AUTHS = ("none", "basic", "oauth2")
_BEYOND_US = ("rest.client.proxy.", "rest.auth.sigv4", "rest.sigv4-enabled", "rest.client.tls.", "oauth2.token-refresh")
"""Settings of clients that only Iceberg's own one understands."""


class NonsenseError(Exception):
    """What answers is not what was asked, or not well."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a server keeps tables, as it told."""

    server: Connections
    properties: Mapping[str, str] = field(repr=False)
    """What is set here, with what the server wants otherwise."""
    path: str = "/v1"
    separator: str = "%1F"
    """Between the levels of a namespace, as it stands in an address."""


class RestHeads:
    """Tables of one REST catalog."""

    def __init__(
        self,
        catalog: str,
        properties: Mapping[str, str],
        timeout: float = TIMEOUT_SECONDS,
        stopwatch: Callable[[], float] = time.monotonic,
    ) -> None:
        self._catalog = catalog
        self._timeout = timeout
        self._servers: dict[str, Connections] = {}
        self._door = _Place(self._server(properties["uri"]), properties)
        """Where it is asked first."""
        self._stopwatch = stopwatch
        self._silent: tuple[float, Away] | None = None
        """Until when it is not asked again, because it kept everybody waiting, and what is told meanwhile."""
        self._place: _Place | None = None
        """Where it is asked from then on."""
        self._token = properties.get("token")
        self._known: dict[TableName, tuple[str, str]] = {}
        """Tag and metadata file of the last answer."""

    @classmethod
    def made_of(cls, settings: CatalogSettings) -> RestHeads | None:
        """None: its client has settings that only the JVM's understands."""
        properties = settings.properties
        beyond = any(key.startswith(_BEYOND_US) for key in properties)
        if beyond or properties.get("rest.auth.type", "none").lower() not in _AUTHS:
            return None
        if not properties.get("uri", "").startswith(("http://", "https://")):
            return None
        return cls(settings.name, properties)

    def of(self, tables: Iterable[TableName]) -> Found:
        wanted, started = list(tables), self._stopwatch()
        if self._silent is not None and started < self._silent[0]:
            return dict.fromkeys(wanted, self._silent[1])
        try:
            place = self._place or self._introduce()
        except NonsenseError as err:
            return dict.fromkeys(wanted, unreachable(self._catalog, err))
        except NotReachedError as err:
            return dict.fromkeys(wanted, self._unanswered(err, started))
        if isinstance(place, Away):
            return dict.fromkeys(wanted, place)
        self._place = place
        return self._heads(place, wanted, started)

    def _heads(self, place: _Place, wanted: list[TableName], started: float) -> Found:
        down: list[Away] = []

        def ask(table: TableName) -> str | Away:
            if down:
                return down[0]
            try:
                return self._head(place, table)
            except NonsenseError as err:
                return unreachable(self._catalog, err)
            except NotReachedError as err:
                # Whoever waits for an answer that does not come keeps everybody waiting: one is enough.
                down.append(self._unanswered(err, started))
                return down[0]

        if len(wanted) == 1:
            return {wanted[0]: ask(wanted[0])}
        with ThreadPoolExecutor(min(AT_ONCE, len(wanted) or 1), thread_name_prefix="trickle-rest") as pool:
            return dict(zip(wanted, pool.map(ask, wanted), strict=True))

    def close(self) -> None:
        for server in list(self._servers.values()):
            server.close()

    def _server(self, uri: str) -> Connections:
        return self._servers.setdefault(uri.rstrip("/"), Connections(uri.rstrip("/"), self._timeout))

    def _unanswered(self, err: NotReachedError, started: float) -> Away:
        """A server that refuses is asked again at once; one that lets us wait is left alone for five times as long."""
        away, now = unreachable(self._catalog, err), self._stopwatch()
        self._silent = (now + PATIENCE * (now - started), away)
        return away

    def _head(self, place: _Place, table: TableName) -> str | Away:
        if not table.levels:
            return missing(table)  # without a namespace nothing can be asked for
        namespace = place.separator.join(quote(level, safe="") for level in table.levels)
        path = f"{place.path}/namespaces/{namespace}/tables/{quote(table.name, safe='')}?snapshots=refs"
        before = self._known.get(table)
        answer = self._get(place, path, {} if before is None else {"If-None-Match": before[0]})
        if answer.status == 304 and before is not None:
            return before[1]
        if answer.status == 200:
            location = _told(answer).get("metadata-location")
            if not isinstance(location, str) or not location:
                return unreachable(self._catalog, f"its answer for '{table}' names no metadata file")
            if answer.tag is not None:
                self._known[table] = (answer.tag, location)
            return location
        self._known.pop(table, None)
        failed = self._failed(answer)
        self._place = None  # it may keep its tables elsewhere by now
        # Anything between us and the catalog may say 404; the catalog says of what.
        gone = answer.status == 404 and _error(answer.body).get("type", "").startswith("NoSuch")
        return missing(table) if gone else failed

    def _introduce(self) -> _Place | Away:
        """What the server wants of its clients: which settings, and where it is to be asked."""
        settings = self._door.properties
        warehouse = settings.get("warehouse")
        asked = f"?{urlencode({'warehouse': warehouse})}" if warehouse else ""
        answer = self._get(self._door, f"/v1/config{asked}", {})
        if answer.status != 200:
            return self._failed(answer)
        told = _told(answer)
        given = [told.get(each) or {} for each in ("defaults", "overrides") if each in told]
        if not given or not all(isinstance(each, dict) for each in given):
            return unreachable(self._catalog, "what answers there is no REST catalog")
        defaults, overrides = (told.get(each) or {} for each in ("defaults", "overrides"))
        merged = {**defaults, **settings, **overrides}
        merged = {key: str(value) for key, value in merged.items() if value is not None}
        prefix = merged.get("prefix")
        # As it is: what has to be written otherwise in an address, servers write so themselves.
        path = "/v1" if not prefix else f"/v1/{quote(prefix.strip('/'), safe=_OF_ADDRESSES)}"
        return _Place(self._server(merged["uri"]), merged, path, merged.get("namespace-separator", "%1F"))

    def _get(self, place: _Place, path: str, headers: Mapping[str, str]) -> Answer:
        answer = place.server.ask(Question("GET", path, {**self._identity(place), **headers}))
        if answer.status in (401, 419) and "credential" in place.properties:
            self._token = None  # it has expired
            answer = place.server.ask(Question("GET", path, {**self._identity(place), **headers}))
        return answer

    def _identity(self, place: _Place) -> dict[str, str]:
        """Who we are, as the settings of the catalog say."""
        properties = place.properties
        told = {
            key.removeprefix("header."): value
            for key, value in properties.items()
            if key.startswith("header.") and key.lower() != "header.x-iceberg-access-delegation"
        }
        if properties.get("rest.auth.type", "").lower() == "basic":
            name, password = (properties.get(f"rest.auth.basic.{each}", "") for each in ("username", "password"))
            told["Authorization"] = "Basic " + b64encode(f"{name}:{password}".encode()).decode()
        elif "credential" in properties:
            self._token = self._token or self._new_token(place)
            told["Authorization"] = f"Bearer {self._token}"
        elif "token" in properties:
            told["Authorization"] = f"Bearer {properties['token']}"
        return told

    def _new_token(self, place: _Place) -> str:
        properties = place.properties
        client, _, secret = properties["credential"].rpartition(":")
        asked = {
            "grant_type": "client_credentials",
            **({"client_id": client} if client else {}),
            "client_secret": secret,
            "scope": properties.get("scope", "catalog"),
        }
        asked |= {key: properties[key] for key in ("audience", "resource") if key in properties}
        server = properties.get("oauth2-server-uri", "/v1/oauth/tokens")
        if "://" not in server:
            server = f"/{server.lstrip('/')}"
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = place.server.ask(Question("POST", server, headers, urlencode(asked).encode()))
        token = _told(answer).get("access_token") if answer.status == 200 else None
        if not isinstance(token, str):
            raise NotReachedError(f"it gives no token ({answer.status})")
        return token

    def _failed(self, answer: Answer) -> Away:
        """What the server says is wrong; never what was asked, in which a token may be."""
        told = _error(answer.body).get("message", "").partition("\n")[0][:200]
        known = {**(self._place or self._door).properties, "token of ours": self._token or ""}
        said = without_secrets(f"{answer.status} {told}".strip(), known)
        if answer.status in (401, 403, 419):
            return refused(self._catalog, said)
        return unreachable(self._catalog, said)


def _told(answer: Answer) -> dict[str, Any]:
    """What a catalog says. NonsenseError: it was not a catalog that answered."""
    try:
        told = json.loads(answer.body)
    except ValueError:  # also what is no text
        told = None
    if not isinstance(told, dict):
        raise NonsenseError("its answer is not that of a REST catalog")
    return told


def _error(body: bytes) -> dict[str, str]:
    """What a catalog says is wrong; nothing, where it was not a catalog that answered."""
    try:
        told = json.loads(body)["error"]
        return {key: str(value) for key, value in told.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
