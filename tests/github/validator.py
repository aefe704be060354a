"""Checks calls and webhooks of the simulated GitHub against GitHub's own description.

`rest-api-2026-03-10.json.gz` is the part of GitHub's OpenAPI description (MIT) that the bot uses,
with the changes of API version 2026-03-10 applied; `webhooks.json.gz` its webhook schemas.
"""

from __future__ import annotations

import copy
import functools
import gzip
import json
from pathlib import Path
from typing import Any

import requests
from openapi_core import Config, OpenAPI
from openapi_core.contrib.requests import RequestsOpenAPIRequest
from openapi_core.exceptions import OpenAPIError
from openapi_schema_validator import OAS30Validator, OAS31Validator

from bot.sim.deliveries import Delivery
from bot.sim.server import Seen

HERE = Path(__file__).parent
API = "https://api.github.com"
# Where the description is stricter than what GitHub sends: a deleted fork has no repository, the
# list of events an app may subscribe to is older than the merge queue, and the account of a listed
# installation would have to be a user and an enterprise at once.
KNOWN = ("head.repo", "head.user", "app.events", "0.account")


def load(name: str) -> Any:
    """Read one of the two gzipped descriptions."""
    return json.loads(gzip.decompress((HERE / name).read_bytes()))


def _nullable_enums(node: Any) -> None:
    if isinstance(node, dict):
        if node.get("nullable") and "enum" in node and None not in node["enum"]:
            node["enum"].append(None)
        for child in node.values():
            _nullable_enums(child)
    elif isinstance(node, list):
        for child in node:
            _nullable_enums(child)


@functools.cache
def rest() -> Any:
    """Read the REST description, once."""
    return load("rest-api-2026-03-10.json.gz")


@functools.cache
def lenient() -> Any:
    """Read the REST description with null allowed in nullable enums."""
    data = copy.deepcopy(rest())
    _nullable_enums(data)
    return data


@functools.cache
def hooks() -> Any:
    """Read the webhook schemas, once."""
    return load("webhooks.json.gz")


@functools.cache
def _openapi() -> OpenAPI:
    return OpenAPI.from_dict(copy.deepcopy(rest()), config=Config(spec_validator_cls=None))


@functools.cache
def _answer_check(route: str, method: str, status: int) -> OAS30Validator | None:
    """Build the check of an answer's body; `None` when the description has no schema for it."""
    operation = lenient()["paths"].get(route, {}).get(method, {})
    response = operation.get("responses", {}).get(str(status), {})
    if "$ref" in response:
        response = lenient()["components"]["responses"][response["$ref"].rsplit("/", 1)[-1]]
    schema = response.get("content", {}).get("application/json", {}).get("schema")
    if schema is None:
        return None
    return OAS30Validator({**schema, "components": lenient()["components"]})


@functools.cache
def _hook_check(name: str) -> OAS31Validator:
    return OAS31Validator({**hooks()["webhooks"][name], "components": hooks()["components"]})


def _paths(errors: Any, where: str) -> list[str]:
    found = []
    for error in errors:
        path = ".".join(str(part) for part in error.absolute_path)
        if not any(known in path for known in KNOWN):
            found.append(f"{where}: {path or '(top)'}: {error.message[:200]}")
    return found


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
        kept = [part for part in seen.query.split("&") if not part.startswith("created=")]
        path = _one_segment(seen.path) if seen.route.endswith("/contents/{path}") else seen.path
        url = f"{API}{path}?{'&'.join(kept)}"  # `created` takes ranges, the schema a time
        request = requests.Request(seen.method, url, json=seen.body).prepare()
        try:
            _openapi().validate_request(RequestsOpenAPIRequest(request))
        except OpenAPIError as error:
            cause = getattr(error.__cause__, "schema_errors", None) or error.__cause__ or error
            return [f"{where}: {str(cause)[:300]}"]
        return []

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
