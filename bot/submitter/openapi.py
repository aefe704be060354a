"""The OpenAPI document of the service, the body's schema taken from the type that decodes it."""

from __future__ import annotations

from typing import Any

import msgspec

_PATHS: dict[str, dict[str, tuple[str, dict[str, str]]]] = {
    "/healthz": {"get": ("Usable or not", {"200": "usable"})},
    "/api/v1/rayjobs": {
        "post": (
            "Submit a job; an Idempotency-Key makes it safe to repeat",
            {
                "201": "started",
                "200": "this key's job, started before",
                "400": "flawed",
                "422": "the key started another body",
                "429": "full",
            },
        )
    },
    "/api/v1/rayjobs/{job_id}": {"get": ("One job", {"200": "its state", "404": "unknown"})},
    "/api/v1/rayjobs/{job_id}/watch": {
        "get": (
            "Events as NDJSON until `final`",
            {"200": "the stream", "404": "unknown: one NOT_FOUND event", "429": "too many watch"},
        )
    },
    "/api/v1/workflows/{run_id}": {
        "get": ("The jobs of an Actions run", {"200": "the jobs"}),
        "delete": (
            "Stop every job of a run attempt",
            {"200": "stopped", "404": "nothing was alive", "503": "some still live, repeat"},
        ),
    },
}
_QUERY = {
    ("/api/v1/rayjobs/{job_id}/watch", "get"): ("after", "integer", False),
    ("/api/v1/workflows/{run_id}", "get"): ("attempt", "string", False),
    ("/api/v1/workflows/{run_id}", "delete"): ("attempt", "string", True),
}


def document(body_type: type) -> dict[str, Any]:
    """Build the document."""
    (ref,), components = msgspec.json.schema_components(
        [body_type], ref_template="#/components/schemas/{name}"
    )
    paths = {
        path: {method: _operation(path, method, *texts) for method, texts in methods.items()}
        for path, methods in _PATHS.items()
    }
    paths["/api/v1/rayjobs"]["post"]["requestBody"] = {
        "required": True,
        "content": {"application/json": {"schema": ref}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "RayJob submitter", "version": "1"},
        "paths": paths,
        "components": {"schemas": components},
    }


def _operation(path: str, method: str, summary: str, answers: dict[str, str]) -> dict[str, Any]:
    parameters = [
        _parameter(part[1:-1], "path", "string", required=True)
        for part in path.split("/")
        if part.startswith("{")
    ]
    if (path, method) in _QUERY:
        name, kind, required = _QUERY[path, method]
        parameters.append(_parameter(name, "query", kind, required=required))
    return {
        "summary": summary,
        "parameters": parameters,
        "responses": {code: {"description": text} for code, text in answers.items()},
    }


def _parameter(name: str, where: str, kind: str, *, required: bool) -> dict[str, Any]:
    return {"name": name, "in": where, "required": required, "schema": {"type": kind}}
