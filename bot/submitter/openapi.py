"""The OpenAPI document of the service, built from the patterns and types of its decoder.

A test compares the running service with it.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from bot.submitter.backend import OF_RUN
from bot.submitter.patches import MEMBERS, POINTER
from bot.submitter.request import ENV_NAME, KEY, MAX_REPLICAS, PATTERNS, TOKEN, JobRequest

Json = dict[str, Any]

JSON, NDJSON = "application/json", "application/x-ndjson"
TEXT: Json = {"type": "string", "pattern": "^[^\\u0000]*$"}
STRING: Json = {"type": "string"}
_REFUSALS = ("401 a valid bearer token is needed", "403 a web page calls, or another run's token")
TIME: Json = {"type": "string", "format": "date-time"}


def document() -> Json:
    """Return the document of the service."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "RayJob submitter", "version": "1"},
        "paths": _paths(),
        "components": {
            "schemas": {
                "JobRequest": _job_request(),
                "Job": _job(),
                "Unknown": _object("job_id", "error", status={"const": "NOT_FOUND"}),
                "Error": _object("error"),
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _paths() -> Json:
    job, run = _parameter("job_id", "path", STRING), _parameter("run_id", "path", _like(TOKEN))
    found = {200: _ref("Job"), 404: _ref("Unknown")}
    return {
        "/healthz": {"get": _health()},
        "/api/v1/rayjobs": {"post": _submit()},
        "/api/v1/rayjobs/{job_id}": {"get": _call("One job", found, "", [job])},
        "/api/v1/rayjobs/{job_id}/watch": {"get": _watch(job)},
        "/api/v1/workflows/{run_id}": {"get": _list(run), "delete": _stop(run)},
    }


def _health() -> Json:
    healthy = _object("backend", status={"const": "ok"})
    return {
        **_call("Usable or not", {200: healthy}, "503 no room, or no cluster", ()),
        "security": [],
    }


def _submit() -> Json:
    accepted = _object("job_id", created={"type": "boolean"})
    call = _call(
        "Submit a job; an Idempotency-Key makes it safe to repeat",
        {201: accepted, 200: accepted},
        "400 flawed; 413 too large; 415 no JSON; 422 the key started another body; 429 full; "
        "503 it can't be written down",
        [_parameter("Idempotency-Key", "header", _like(KEY), required=False)],
    )
    return {**call, "requestBody": {"required": True, "content": _content(_ref("JobRequest"))}}


def _list(run: Json) -> Json:
    return _call(
        "The jobs of an Actions run",
        {200: _object(jobs={"type": "array", "items": _ref("Job")})},
        "400 no such id",
        [run, _parameter("attempt", "query", _like(TOKEN), required=False)],
    )


def _stop(run: Json) -> Json:
    return _call(
        "Stop every job of a run attempt",
        {200: _object(stopped={"type": "array", "items": STRING})},
        "400 no such id; 404 nothing was alive; 503 some still live, repeat",
        [run, _parameter("attempt", "query", _like(TOKEN))],
    )


def _watch(job: Json) -> Json:
    after = {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}
    parameters = [
        job,
        _parameter("after", "query", after, required=False),
        _parameter("format", "query", {"type": "string", "enum": ["ndjson"]}, required=False),
    ]
    errors = "400 no such number or format; 429 too many watch"
    call = _call("Events as NDJSON until `final`", {}, errors, parameters)
    # No schema: a stream of lines is not one JSON value.
    stream: Json = {"content": {NDJSON: {}}}
    call["responses"]["200"] = {"description": "the stream", **stream}
    call["responses"]["404"] = {"description": "unknown: one NOT_FOUND event", **stream}
    return call


def _call(summary: str, answers: dict[int, Json], errors: str, parameters: Sequence[Json]) -> Json:
    """Describe a call; an error is its code and its meaning, errors are apart by semicolons."""
    responses: Json = {
        str(code): {"description": "unknown" if code == 404 else "done", "content": _content(one)}
        for code, one in answers.items()
    }
    for error in filter(None, [*errors.split("; "), *_REFUSALS]):
        code, _, text = error.partition(" ")
        responses[code] = {"description": text, "content": _content(_ref("Error"))}
    return {"summary": summary, "parameters": list(parameters), "responses": responses}


def _job_request() -> Json:
    """Return the body's schema from its type, with the patterns of its checks."""
    _, components = msgspec.json.schema_components([JobRequest], ref_template="{name}")
    schema = components["JobRequest"]
    properties: Json = schema["properties"]
    for name, pattern in PATTERNS.items():
        properties[name] |= _like(pattern)
    for name in ("branch", "image"):
        properties[name] |= TEXT
    properties["script"] |= {"pattern": "^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$"}
    properties["args"]["items"] = TEXT
    properties["env"] |= {"propertyNames": _like(ENV_NAME), "additionalProperties": TEXT}
    replicas = {"type": "integer", "minimum": 0, "maximum": MAX_REPLICAS}
    properties["worker_replicas"] = {**replicas, "default": 1}
    properties["template_patches"]["items"] = {"anyOf": [_operation(op) for op in MEMBERS]}
    return dict(schema)


def _operation(op: str) -> Json:
    pointers = ["path", *sorted(MEMBERS[op] - {"value"})]
    properties: Json = {name: _like(POINTER) for name in pointers}
    return {
        "type": "object",
        "properties": {"op": {"const": op}, **properties},
        "required": ["op", *pointers, *sorted(MEMBERS[op] & {"value"})],
    }


def _job() -> Json:
    words = ("job_id", "status", "message", "rayjob_status", "job_deployment_status")
    ended: Json = {"anyOf": [TIME, {"type": "null"}]}
    number: Json = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    return _object(*words, *OF_RUN, repository_id=number, created_at=TIME, ended_at=ended)


def _object(*strings: str, **more: Json) -> Json:
    """Describe an object with these members, all required."""
    properties = {**dict.fromkeys(strings, STRING), **more}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _like(pattern: re.Pattern[str]) -> Json:
    return {"type": "string", "pattern": f"^(?:{pattern.pattern})$"}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _content(schema: Json) -> Json:
    return {JSON: {"schema": schema}}


def _parameter(name: str, where: str, schema: Json, *, required: bool = True) -> Json:
    return {"name": name, "in": where, "required": required, "schema": schema}
