"""Errors as Iceberg's REST specification wants them: its ErrorModel, with the names of exceptions that clients know."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse, Response

PREFIX = "/iceberg"
"""Where the catalog is."""

_KINDS = {
    401: "NotAuthorizedException",
    403: "ForbiddenException",
    404: "NotFoundException",
    406: "UnsupportedOperationException",
    500: "InternalServerError",
    503: "ServiceUnavailableException",
}


def is_iceberg(path: str) -> bool:
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def iceberg_error(
    status: int, message: str, kind: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """An ErrorModel. Without a kind, the one that goes with the status."""
    error = {"message": message, "type": kind or _KINDS.get(status, "BadRequestException"), "code": status}
    return JSONResponse({"error": error}, status, headers)
