"""Checks calls and webhooks of the simulated GitHub against GitHub's own description.

`rest-api-2026-03-10.json.gz` is the part of GitHub's OpenAPI description (MIT) that the bot uses,
with the changes of API version 2026-03-10 applied; `webhooks.json.gz` its webhook schemas.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from jsonschema_rs import Draft4Validator, Draft202012Validator, ValidationError

from bot.sim.deliveries import Delivery
from bot.sim.server import Seen

HERE = Path(__file__).parent
# Where the description is stricter than what GitHub sends: a deleted fork has no repository, the
# list of events an app may subscribe to is older than the merge queue, and the account of a listed
# installation would have to be a user and an enterprise at once.
KNOWN = ("head.repo", "head.user", "app.events", "0.account")


def load(name: str) -> Any:
    """Read one of the two gzipped descriptions."""
    return json.loads(gzip.decompress((HERE / name).read_bytes()))


@functools.cache
def rest() -> Any:
    """Read the REST description, once."""
    return load("rest-api-2026-03-10.json.gz")


def _plain(node: Any, *, enums: bool) -> Any:
    """Say OpenAPI 3.0's `nullable` in JSON Schema; `enums`: also where an enum lacks null."""
    if isinstance(node, list):
        return [_plain(child, enums=enums) for child in node]
    if not isinstance(node, dict):
        return node
    made = {key: _plain(child, enums=enums) for key, child in node.items()}
    if made.get("nullable") is not True or "$ref" in made:  # beside a $ref nothing counts
        return made
    if enums and "enum" in made and None not in made["enum"]:
        made["enum"] = [*made["enum"], None]
    if "type" not in made:
        return {"anyOf": [{"type": "null"}, made]}
    return made | {"type": [made["type"], "null"]}


@functools.cache
def strict() -> Any:
    """Read the REST description as requests are held to it."""
    return _plain(rest(), enums=False)


@functools.cache
def lenient() -> Any:
    """Read the REST description with null allowed in nullable enums."""
    return _plain(rest(), enums=True)


@functools.cache
def hooks() -> Any:
    """Read the webhook schemas, once."""
    return load("webhooks.json.gz")


def _follow(node: Any, root: Any) -> Any:
    """Answer what a `$ref` to a component stands for, else the node itself."""
    if "$ref" not in node:
        return node
    kind, name = node["$ref"].rsplit("/", 2)[1:]
    return root["components"][kind][name]


def _with_components(schema: Any, root: Any) -> Any:
    """Add the components that a schema leads to: to compile all of them takes six times as long."""
    found: dict[str, dict[str, Any]] = {}
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            if isinstance(reference := node.get("$ref"), str):
                kind, name = reference.rsplit("/", 2)[1:]
                if name not in found.setdefault(kind, {}):
                    found[kind][name] = root["components"][kind][name]
                    waiting.append(found[kind][name])
    return {**schema, "components": found}


@functools.cache
def _parameters(route: str, method: str) -> list[Any]:
    root = strict()
    described = root["paths"][route][method].get("parameters", [])
    return [_follow(one, root) for one in described]


@functools.cache
def _request_check(route: str, method: str) -> Draft4Validator:
    """Build the check of `{"path": {…}, "query": {…}, "body": …}`, the body if there is one."""
    root = strict()
    body = root["paths"][route][method].get("requestBody", {})
    parts: dict[str, Any] = {}
    for place in ("path", "query"):
        found = [one for one in _parameters(route, method) if one["in"] == place]
        schemas = {one["name"]: one["schema"] for one in found}
        needed = [one["name"] for one in found if one.get("required")]
        parts[place] = {"properties": schemas, **({"required": needed} if needed else {})}
    if body:
        parts["body"] = body["content"]["application/json"]["schema"]
    needed = ["body"] if body.get("required") else []
    schema = {"properties": parts, **({"required": needed} if needed else {})}
    return Draft4Validator(_with_components(schema, root), validate_formats=True)


@functools.cache
def _answer_check(route: str, method: str, status: int) -> Draft4Validator | None:
    """Build the check of an answer's body; `None` when the description has no schema for it."""
    root = lenient()
    operation = root["paths"].get(route, {}).get(method, {})
    response = _follow(operation.get("responses", {}).get(str(status), {}), root)
    schema = response.get("content", {}).get("application/json", {}).get("schema")
    if schema is None:
        return None
    return Draft4Validator(_with_components(schema, root), validate_formats=False)


@functools.cache
def _hook_check(name: str) -> Draft202012Validator:
    schema = _with_components(hooks()["webhooks"][name], hooks())
    return Draft202012Validator(schema, validate_formats=False)


def _paths(errors: Iterable[ValidationError], where: str) -> list[str]:
    found = []
    for error in errors:
        path = ".".join(str(part) for part in error.instance_path)
        if not any(known in path for known in KNOWN):
            found.append(f"{where}: {path or '(top)'}: {error.message[:200]}")
    return found


def _as_described(text: str, schema: Any) -> Any:
    """Read a parameter as the type that its schema names; as it is when it isn't one."""
    kind = _follow(schema, strict()).get("type")
    if kind == "integer" and re.fullmatch(r"-?\d+", text):
        return int(text)
    if kind == "boolean" and text in {"true", "false"}:
        return text == "true"
    return text


def _in_path(route: str, path: str) -> dict[str, str]:
    """Answer a path's parameters by name; raises `ValueError` when it isn't of the route."""
    pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(route))
    found = re.fullmatch(pattern, path)
    if found is None:
        reason = f"{path} is not {route}"
        raise ValueError(reason)
    return {name: unquote(text) for name, text in found.groupdict().items()}


class Validator:
    """Answers the problems of each call and webhook; `answers=False` looks at requests only."""

    def __init__(self, *, answers: bool = True) -> None:
        self._answers = answers

    def call(self, seen: Seen) -> list[str]:
        """Check an accepted request that the description holds, and the body of its answer."""
        where = f"{seen.method} {seen.route} {seen.status}"
        described = rest()["paths"].get(seen.route, {})
        if seen.status >= 400 or seen.method.lower() not in described:
            return []
        return [*self._request(seen, where), *self._response(seen, where)]

    def _request(self, seen: Seen, where: str) -> list[str]:
        method = seen.method.lower()
        path = _one_segment(seen.path) if seen.route.endswith("/contents/{path}") else seen.path
        query = dict(parse_qsl(seen.query, keep_blank_values=True))
        query.pop("created", None)  # it takes ranges, the schema a time
        sent: dict[str, Any] = {"path": _in_path(seen.route, path), "query": query}
        for one in _parameters(seen.route, method):
            place = sent.get(one["in"], {})
            if one["name"] in place:
                place[one["name"]] = _as_described(place[one["name"]], one["schema"])
        if seen.body is not None:
            sent["body"] = seen.body
        return _paths(_request_check(seen.route, method).iter_errors(sent), where)

    def _response(self, seen: Seen, where: str) -> list[str]:
        folder = seen.route.endswith("/contents/{path}") and isinstance(seen.data, list)
        if not self._answers or seen.data is None or folder:  # a folder has no discriminator
            return []
        check = _answer_check(seen.route, seen.method.lower(), seen.status)
        return _paths(check.iter_errors(seen.data), where) if check else []

    def webhook(self, delivery: Delivery) -> list[str]:
        """Check a webhook's body; an event the description lacks is a problem too."""
        parts = [delivery.event, *([delivery.action] if delivery.action else [])]
        name = "-".join(parts).replace("_", "-")
        if name not in hooks()["webhooks"]:
            return [f"webhook {name}: no such webhook"]
        return _paths(_hook_check(name).iter_errors(delivery.payload()), f"webhook {name}")


def _one_segment(path: str) -> str:
    """Return a contents path with the file's slashes escaped: the schema's {path} has none."""
    head, _, file = path.partition("/contents/")
    return f"{head}/contents/{file.replace('/', '%2F')}"
