"""The API as an OpenAPI document, made of the table of addresses and of the types of their answers."""

from __future__ import annotations

from typing import Any

from spark_trickle import __version__
from spark_trickle.serve.api import ENDPOINTS, MOST_ROWS, Endpoint, Parameter
from spark_trickle.serve.jobs import Job
from spark_trickle.serve.next_steps import ActionKind
from spark_trickle.serve.schema import Schema, schema_of

PREFIX = "/api/v1"

_ERROR: Schema = {
    "type": "object",
    "description": "What happened, to which thing, and what to do.",
    "properties": {
        "error": {"type": "string", "description": "the class of the error"},
        "message": {"type": "string"},
        "facts": {"type": "object"},
        "retryable": {"type": "boolean"},
    },
    "required": ["error", "message", "facts", "retryable"],
}


def document(read_only: bool) -> dict[str, Any]:
    named: dict[str, Schema] = {"Error": _ERROR}
    paths: dict[str, Any] = {f"{PREFIX}{each.path}": {"get": _get(each, named)} for each in ENDPOINTS}
    paths[f"{PREFIX}/actions/{{id}}"] = {"get": _one_action(named)}
    if not read_only:
        paths[f"{PREFIX}/actions"]["post"] = _post(named)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "spark-trickle",
            "version": __version__,
            "description": "What `trickle` shows, as JSON. Times are ISO 8601 in UTC, durations are seconds.",
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(named.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _get(endpoint: Endpoint, named: dict[str, Schema]) -> dict[str, Any]:
    return {
        "summary": endpoint.summary,
        "operationId": endpoint.path.strip("/").replace("-", "_"),
        "parameters": [_parameter(each) for each in endpoint.parameters],
        "responses": _answers(schema_of(endpoint.answer, named), "200"),
    }


def _parameter(each: Parameter) -> dict[str, Any]:
    one: Schema = {"type": "integer", "minimum": 1, "maximum": MOST_ROWS} if each.kind is int else {"type": "string"}
    return {
        "name": each.name,
        "in": "query",
        "required": each.required,
        "description": each.description,
        "schema": {"type": "array", "items": one} if each.repeated else one,
    }


def _one_action(named: dict[str, Schema]) -> dict[str, Any]:
    return {
        "summary": "How far one of them is.",
        "operationId": "action",
        "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
        "responses": _answers(schema_of(Job, named), "200"),
    }


def _post(named: dict[str, Schema]) -> dict[str, Any]:
    body = {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": [each.value for each in ActionKind]},
            "subject": {"type": "string", "description": "the table"},
            "how": {"type": "string", "description": "the mode of a refresh, or what is done with a blown fuse"},
        },
        "required": ["action", "subject"],
        "additionalProperties": False,
    }
    return {
        "summary": "Do something: at once, or in the background where Spark is needed. Needs the token.",
        "operationId": "act",
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": _answers(schema_of(Job, named), "202"),
    }


def _answers(schema: Schema, status: str) -> dict[str, Any]:
    failed = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    return {
        status: {"description": "the answer", "content": {"application/json": {"schema": schema}}},
        "default": {"description": "an error", **failed},
    }
