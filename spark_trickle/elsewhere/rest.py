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
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from spark_trickle.elsewhere.connections import TIMEOUT_SECONDS, Answer, Connections, NotReachedError, Question
from spark_trickle.elsewhere.heads import Found, missing, refused, unreachable
from spark_trickle.elsewhere.settings import CatalogSettings
from spark_trickle.model.publication import Away
from spark_trickle.names import TableName

AT_ONCE = 8
"""Requests under way to one server."""

PATIENCE = 5

_AUTHS = ("none", "basic", "oauth2")
_BEYOND_US = ("rest.client.proxy.", "rest.auth.sigv4", "rest.sigv4-enabled", "rest.client.tls.", "oauth2.token-refresh")
"""Settings of clients that only Iceberg's own one understands."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a server keeps tables, as it told."""

    path: str
    separator: str
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
        self._properties = properties
        self._server = Connections(properties["uri"].rstrip("/"), timeout)
        self._stopwatch = stopwatch
        self._silent: tuple[float, Away] | None = None
        """Until when it is not asked again, because it kept everybody waiting, and what is told meanwhile."""
        self._place: _Place | None = None
        self._token: str | None = properties.get("token")
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
            except NotReachedError as err:
                # Whoever waits for an answer that does not come keeps everybody waiting: one is enough.
                down.append(self._unanswered(err, started))
                return down[0]

        if len(wanted) == 1:
            return {wanted[0]: ask(wanted[0])}
        with ThreadPoolExecutor(min(AT_ONCE, len(wanted) or 1), thread_name_prefix="trickle-rest") as pool:
            return dict(zip(wanted, pool.map(ask, wanted), strict=True))

    def close(self) -> None:
        self._server.close()

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
        answer = self._get(path, {} if before is None else {"If-None-Match": before[0]})
        if answer.status == 304 and before is not None:
            return before[1]
        if answer.status == 200:
            location = json.loads(answer.body).get("metadata-location")
            if not location:
                return refused(self._catalog, f"its answer for '{table}' names no metadata file")
            if answer.tag is not None:
                self._known[table] = (answer.tag, location)
            return str(location)
        self._known.pop(table, None)
        # Anything between us and the catalog may say 404; the catalog says of what.
        gone = answer.status == 404 and _error(answer.body).get("type", "").startswith("NoSuch")
        return missing(table) if gone else self._failed(answer)

    def _introduce(self) -> _Place | Away:
        """What the server wants of its clients."""
        warehouse = self._properties.get("warehouse")
        asked = f"?{urlencode({'warehouse': warehouse})}" if warehouse else ""
        answer = self._get(f"/v1/config{asked}", {})
        if answer.status != 200:
            return self._failed(answer)
        told = json.loads(answer.body)
        merged = {**told.get("defaults", {}), **self._properties, **told.get("overrides", {})}
        prefix = merged.get("prefix")
        path = "/v1" if not prefix else "/v1/" + "/".join(quote(part, safe="") for part in prefix.split("/"))
        return _Place(path, str(merged.get("namespace-separator", "%1F")))

    def _get(self, path: str, headers: Mapping[str, str]) -> Answer:
        answer = self._server.ask(Question("GET", path, {**self._identity(), **headers}))
        if answer.status in (401, 419) and "credential" in self._properties:
            self._token = None  # it has expired
            answer = self._server.ask(Question("GET", path, {**self._identity(), **headers}))
        return answer

    def _identity(self) -> dict[str, str]:
        """Who we are, as the settings of the catalog say."""
        told = {
            key.removeprefix("header."): value
            for key, value in self._properties.items()
            if key.startswith("header.") and key.lower() != "header.x-iceberg-access-delegation"
        }
        if self._properties.get("rest.auth.type", "").lower() == "basic":
            name, password = (self._properties.get(f"rest.auth.basic.{each}", "") for each in ("username", "password"))
            told["Authorization"] = "Basic " + b64encode(f"{name}:{password}".encode()).decode()
        elif self._token or "credential" in self._properties:
            self._token = self._token or self._new_token()
            told["Authorization"] = f"Bearer {self._token}"
        return told

    def _new_token(self) -> str:
        client, _, secret = self._properties["credential"].rpartition(":")
        asked = {
            "grant_type": "client_credentials",
            **({"client_id": client} if client else {}),
            "client_secret": secret,
            "scope": self._properties.get("scope", "catalog"),
        }
        asked |= {key: self._properties[key] for key in ("audience", "resource") if key in self._properties}
        server = self._properties.get("oauth2-server-uri", "/v1/oauth/tokens")
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = self._server.ask(Question("POST", server, headers, urlencode(asked).encode()))
        if answer.status != 200:
            raise NotReachedError(f"it gives no token ({answer.status})")
        return str(json.loads(answer.body)["access_token"])

    def _failed(self, answer: Answer) -> Away:
        """What the server says is wrong; never what was asked, in which a token may be."""
        told = _error(answer.body).get("message", "").partition("\n")[0][:200]
        said = f"{answer.status} {told}".strip()
        if answer.status in (401, 403, 419):
            return refused(self._catalog, said)
        return unreachable(self._catalog, said)


def _error(body: bytes) -> dict[str, str]:
    """What a catalog says is wrong; nothing, where it was not a catalog that answered."""
    try:
        told = json.loads(body)["error"]
        return {key: str(value) for key, value in told.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
