"""Iceberg's REST catalog at /iceberg, for reading: other tools see what is published, and can change nothing.

Follows Iceberg's REST OpenAPI document: config, namespaces, tables, views. What would write is refused with its
ErrorModel. Addresses are taken apart here, because names may hold anything, slashes included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from spark_trickle.catalog.pointers import TABLE, VIEW
from spark_trickle.config import Settings, is_secret
from spark_trickle.errors import StreamTableError, TransientError
from spark_trickle.model.frontier import Pointer
from spark_trickle.names import LAKE
from spark_trickle.serve.iceberg_errors import PREFIX, iceberg_error
from spark_trickle.serve.published import Levels, Published

SEPARATOR = "\x1f"
"""Between the levels of a namespace in an address."""
ENDPOINTS = tuple(
    f"{method} /v1/{{prefix}}/{place}"
    for place, methods in (
        ("namespaces", ("GET",)),
        ("namespaces/{namespace}", ("GET", "HEAD")),
        ("namespaces/{namespace}/tables", ("GET",)),
        ("namespaces/{namespace}/tables/{table}", ("GET", "HEAD")),
        ("namespaces/{namespace}/views", ("GET",)),
        ("namespaces/{namespace}/views/{view}", ("GET", "HEAD")),
    )
    for method in methods
)
"""What there is, as clients are told: they do not even try the rest."""
READ_ONLY = (
    "this catalog is read-only: it shows what stream tables and their sources hold. Write to the sources with Spark "
    "(`trickle sql`, engine.sql, or a session with the catalog `lake`); stream tables follow by themselves"
)
_LAKE_SETTING = f"spark.sql.catalog.{LAKE}."
_TOLD = ("s3.", "client.", "gcs.", "adls.")
"""Settings of files that clients are told, where they are no secrets."""
_KINDS = {"tables": TABLE, "views": VIEW}
_EXCEPTION = {TABLE: "NoSuchTableException", VIEW: "NoSuchViewException"}


@dataclass(frozen=True, slots=True)
class IcebergCatalog:
    """What answers below /iceberg."""

    published: Published
    settings: Settings

    def __call__(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return iceberg_error(406, READ_ONLY)
        try:
            answer = self._read(_parts(request), request)
        except TransientError as err:
            return iceberg_error(503, str(err))
        except StreamTableError as err:
            return iceberg_error(500, str(err))
        # What is asked for with HEAD only has to be there.
        return Response(status_code=204) if request.method == "HEAD" and answer.status_code == 200 else answer

    def _read(self, parts: list[str], request: Request) -> Response:
        match parts:
            case ["v1", "config"]:
                return self._config(request.query_params.get("warehouse", ""))
            case ["v1", "namespaces"]:
                return self._namespaces(_levels(request.query_params.get("parent", "")))
            case ["v1", "namespaces", namespace]:
                found = self.published.properties(_levels(namespace))
                if found is None:
                    return _no_namespace(_levels(namespace))
                return JSONResponse({"namespace": _levels(namespace), "properties": found})
            case ["v1", "namespaces", namespace, "tables" | "views" as kind]:
                return self._names(_levels(namespace), _KINDS[kind])
            case ["v1", "namespaces", namespace, "tables" | "views" as kind, name]:
                return self._load(_levels(namespace), name, _KINDS[kind], request)
            case _:
                what = f"there is nothing at '{PREFIX}/{'/'.join(parts)}'"
                return iceberg_error(404, f"{what}; {PREFIX}/v1/config lists what there is")

    def _config(self, warehouse: str) -> Response:
        if warehouse.rstrip("/") not in ("", LAKE, self.settings.warehouse.rstrip("/")):
            message = f"there is no warehouse '{warehouse}' here; leave it out, or name it '{LAKE}'"
            return iceberg_error(404, message, "NoSuchWarehouseException")
        # A token of ours does not expire, and there is nobody to make another of it.
        defaults = {**files_told(self.settings.spark_conf), "token-refresh-enabled": "false"}
        return JSONResponse({"defaults": defaults, "overrides": {}, "endpoints": ENDPOINTS})

    def _namespaces(self, parent: Levels) -> Response:
        found = self.published.namespaces(parent)
        return _no_namespace(parent) if found is None else JSONResponse({"namespaces": found})

    def _names(self, namespace: Levels, kind: str) -> Response:
        names = self.published.names(namespace, kind)
        if names is None:
            return _no_namespace(namespace)
        return JSONResponse({"identifiers": [{"namespace": namespace, "name": name} for name in names]})

    def _load(self, namespace: Levels, name: str, kind: str, request: Request) -> Response:
        found = self.published.pointer(namespace, name, kind)
        if found is None:
            return _missing(namespace, name, kind)
        if request.method == "HEAD":
            return Response(status_code=204)
        snapshots = request.query_params.get("snapshots", "all")
        if snapshots not in ("all", "refs"):
            return iceberg_error(400, f"snapshots cannot be '{snapshots}': it is all or refs")
        if request.headers.get("if-none-match") == _etag(found.location, snapshots):
            return Response(status_code=304, headers={"ETag": _etag(found.location, snapshots)})
        return self._loaded(found, snapshots)

    def _loaded(self, found: Pointer, snapshots: str) -> Response:
        loaded = self.published.load(found)
        if loaded is None:
            return _missing(tuple(found.table.levels), found.table.name, found.kind)
        metadata = loaded.metadata if snapshots == "all" else _only_referenced(loaded.metadata)
        return JSONResponse(
            {"metadata-location": loaded.location, "metadata": metadata, "config": {}},
            headers={"ETag": _etag(loaded.location, snapshots)},
        )


def files_told(spark_conf: Mapping[str, str]) -> dict[str, str]:
    """How the files of the lake are reached, for clients: addresses and regions, never who one is.

    >>> files_told({"spark.sql.catalog.lake.s3.endpoint": "http://s", "spark.sql.catalog.lake.s3.access-key-id": "me"})
    {'s3.endpoint': 'http://s'}
    """
    named = {
        key.removeprefix(_LAKE_SETTING): value for key, value in spark_conf.items() if key.startswith(_LAKE_SETTING)
    }
    return {key: value for key, value in named.items() if key.startswith(_TOLD) and not is_secret(key)}


def _parts(request: Request) -> list[str]:
    """The address below /iceberg, part by part, as the names were before they became an address."""
    raw = request.scope.get("raw_path") or quote_plus(request.url.path, safe="/").encode()
    path = raw.decode("ascii", "replace").partition("?")[0].removeprefix(PREFIX)
    # Iceberg's clients write a space as +, others as %20, and all of them a plus as %2B.
    return [unquote_plus(part) for part in path.strip("/").split("/")]


def _levels(text: str) -> Levels:
    """The levels of a namespace; Iceberg's JDBC catalog joins them with dots, so a dot separates levels, too.

    >>> _levels("sales\x1feu"), _levels("sales.eu"), _levels("")
    (('sales', 'eu'), ('sales', 'eu'), ())
    """
    return tuple(text.replace(SEPARATOR, ".").split(".")) if text else ()


def _only_referenced(metadata: dict[str, Any]) -> dict[str, Any]:
    wanted = {each.get("snapshot-id") for each in (metadata.get("refs") or {}).values()}
    wanted.add(metadata.get("current-snapshot-id"))
    snapshots = [each for each in metadata.get("snapshots") or () if each.get("snapshot-id") in wanted]
    return {**metadata, "snapshots": snapshots}


def _etag(location: str, snapshots: str) -> str:
    return f'"{blake2b(f"{snapshots} {location}".encode(), digest_size=16).hexdigest()}"'


def _no_namespace(namespace: Levels) -> Response:
    return iceberg_error(404, f"namespace '{'.'.join(namespace)}' does not exist", "NoSuchNamespaceException")


def _missing(namespace: Levels, name: str, kind: str) -> Response:
    what = f"{kind.lower()} '{'.'.join((*namespace, name))}' does not exist"
    return iceberg_error(404, what, _EXCEPTION[kind])
