"""Access control for the API and every page, and the form of refusals."""

import hmac
from collections.abc import Awaitable, Callable
from typing import Literal

from aiohttp import web

from bot.ports.errors import Transient
from bot.telemetry import get_log

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Mode = Literal["public", "token", "off"]

_RETRY_AFTER_S = 5  # about the time that a database or an issuer needs to recover


class Guard:
    """Checks ``DASHBOARD`` and ``DASHBOARD_TOKEN``; wrap a handler with it."""

    def __init__(self, mode: Mode, token: str | None) -> None:
        self._mode = mode
        self._token = token

    def __call__(self, handler: Handler) -> Handler:
        """Return a handler that only authorized callers reach."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            refusal = self._refusal(request)
            return await handler(request) if refusal is None else refusal

        return guarded

    def _refusal(self, request: web.Request) -> web.Response | None:
        match self._mode:
            case "public":
                return None
            case "off":
                return refuse(404, "there is nothing here")
        if not self._token:
            return refuse(403, "closed: the server has no DASHBOARD_TOKEN")
        given = bearer(request).encode("utf-8", "surrogateescape")
        if hmac.compare_digest(given, self._token.encode()):
            return None
        header = {"WWW-Authenticate": 'Bearer realm="ascend-ci"'}
        return refuse(401, "the token is missing or wrong", header)


def bearer(request: web.Request) -> str:
    """Return the token of an ``Authorization: Bearer`` header, "" if there is none."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def refuse(status: int, reason: str, headers: dict[str, str] | None = None) -> web.Response:
    """Return an error as JSON."""
    return web.json_response({"error": reason}, status=status, headers=headers)


@web.middleware
async def errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer aiohttp's own refusals as JSON, and 503 if the database is unreachable."""
    try:
        return await handler(request)
    except Transient as error:  # its text may quote a query
        if not error.is_told:
            get_log("web").warning("a request has to wait", path=request.path, why=str(error))
        return refuse(503, "not now: try again", {"Retry-After": str(_RETRY_AFTER_S)})
    except web.HTTPException as error:
        if error.status < 400:
            raise
        kept = {name: error.headers[name] for name in ("Allow",) if name in error.headers}
        return refuse(error.status, error.reason.lower(), kept)
