"""Takes webhooks: verifies the signature, stores the delivery, answers 202."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from bot.core.commands.parser import command_lines
from bot.core.github.events import (
    Event,
    Ignored,
    IssueCommentEvent,
    Malformed,
    repo_id_of,
    subject,
)
from bot.core.github.payloads import parse
from bot.core.model.deliveries import Delivery
from bot.door import DOOR, RefusedBody, Sparing
from bot.ports.clock import Clock
from bot.ports.errors import DatabaseTrouble, is_told
from bot.store import Store
from bot.telemetry import Metrics, get_log

MAX_BODY = 25 * 1024 * 1024  # GitHub's own cap for a payload
_GUID = re.compile(r"[0-9A-Za-z-]{1,64}")
_EVENT = re.compile(r"[a-z0-9_]{1,64}")  # an action is written alike
_SIGNATURE = re.compile(rb"sha256=[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a request is refused; nothing is stored."""

    status: int
    reason: str
    is_told: bool = False  # the log says it already


_TOO_LARGE = Refused(413, "the body is larger than 25 MB")
_UNSIGNED = Refused(401, "the SHA-256 signature is missing or wrong")


class Hooks:
    """Stores webhooks that GitHub has signed with one of the secrets."""

    def __init__(
        self, store: Store, secrets: tuple[bytes, ...], app_id: int, clock: Clock, metrics: Metrics
    ) -> None:
        if not secrets or not all(secrets):
            raise ValueError("a webhook secret is required")
        self._store = store
        self._secrets = secrets
        self._app_id = app_id
        self._clock = clock
        self._metrics = metrics
        self._warn = Sparing(get_log("hooks").warning)  # anybody can be refused, a million times

    async def post(self, request: web.Request) -> web.Response:
        """Answer 202 once the webhook is stored, or 4xx with the reason."""
        body = await self._signed_body(request)
        read = body if isinstance(body, Refused) else self._read(request, body)
        if isinstance(read, Refused):
            return self._refuse(read)
        delivery, ignored = read
        try:
            new = await self._store.deliveries.put(delivery, ignored=ignored)
        except (DatabaseTrouble, TimeoutError) as error:
            return self._refuse(Refused(503, f"{error}: send it again", is_told(error)))
        result = "repeated" if not new else "ignored" if ignored else "stored"
        self._metrics.deliveries.labels(delivery.event, result).inc()
        return web.json_response({"result": result, "reason": ignored or ""}, status=202)

    async def _signed_body(self, request: web.Request) -> bytes | Refused:
        """Return the body if its signature is right; without the form of one nothing is read."""
        given = request.headers.get("X-Hub-Signature-256", "").encode("latin-1", "replace")
        if (request.content_length or 0) > MAX_BODY:
            return _TOO_LARGE
        if not _SIGNATURE.fullmatch(given):
            return _UNSIGNED
        macs = [hmac.new(secret, digestmod=hashlib.sha256) for secret in self._secrets]
        door = request.app[DOOR]

        def take(piece: bytes) -> None:
            for mac in macs:
                mac.update(piece)

        try:
            body = await door.read(request, MAX_BODY, take)
        except RefusedBody as error:
            return _TOO_LARGE if error.status == 413 else Refused(error.status, error.reason)
        right = [hmac.compare_digest(b"sha256=" + m.hexdigest().encode(), given) for m in macs]
        if not any(right):
            return _UNSIGNED
        door.vouch(request)
        return body

    def _refuse(self, refused: Refused) -> web.Response:
        self._metrics.deliveries.labels("refused", str(refused.status)).inc()
        if not refused.is_told:
            self._warn("a webhook was refused", status=refused.status, why=refused.reason)
        wait = {"Retry-After": "5"} if refused.status == 503 else None
        return web.json_response({"error": refused.reason}, status=refused.status, headers=wait)

    def _read(self, request: web.Request, body: bytes) -> tuple[Delivery, str | None] | Refused:
        """Return the delivery as a row, and the reason if it is ignored."""
        guid = request.headers.get("X-GitHub-Delivery", "")
        name = request.headers.get("X-GitHub-Event", "")
        if not _GUID.fullmatch(guid):
            return Refused(400, "the header X-GitHub-Delivery is missing or malformed")
        if not _EVENT.fullmatch(name):
            return Refused(400, "the header X-GitHub-Event is missing or malformed")
        if request.content_type != "application/json":
            return Refused(415, "set the webhook's content type to application/json")
        payload = _decode(body)
        if payload is None:
            return Refused(400, "the body is no JSON object")
        return self._delivery(guid, name, payload, body)

    def _delivery(
        self, guid: str, name: str, payload: dict[str, Any], body: bytes
    ) -> tuple[Delivery, str | None] | Refused:
        event: Event | Ignored | Malformed = parse(name, payload, self._app_id)
        if isinstance(event, IssueCommentEvent):
            event, body = _commands_alone(event, payload)
        if isinstance(event, Malformed):
            return Refused(422, f"this {name} event can't be read: {event.reason}")
        action = payload.get("action")
        ignored = event.reason if isinstance(event, Ignored) else None
        delivery = Delivery(
            guid=guid,
            event=name,
            action=action if isinstance(action, str) and _EVENT.fullmatch(action) else "",
            repo_id=None if isinstance(event, Ignored) else repo_id_of(event),
            subject="" if isinstance(event, Ignored) else subject(event),
            received_at=self._clock.now(),
            body=None if ignored else body,
        )
        return delivery, ignored


def _commands_alone(
    event: IssueCommentEvent, payload: dict[str, Any]
) -> tuple[IssueCommentEvent | Ignored, bytes]:
    """Return a comment's body with its commands, and nothing else that people wrote."""
    commands = command_lines(event.body)
    if not commands:
        return Ignored("a comment without a command"), b""
    comment = payload["comment"] | {"body": "\n\n".join(commands)}
    issue = {key: payload["issue"][key] for key in ("number", "pull_request")}
    return event, msgspec.json.encode(payload | {"comment": comment, "issue": issue})


def _decode(body: bytes) -> dict[str, Any] | None:
    try:
        payload = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None
