"""The HTTP API: `create_app(backend)` serves it over any backend."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bot.door import DOOR, Door, DoorLimits, RefusedBody, room_for_connections
from bot.submitter.backend import JobView
from bot.submitter.callers import Caller, Callers
from bot.submitter.jobs import Backend
from bot.submitter.openapi import document
from bot.submitter.request import KEY, TOKEN, RefusedError, decode_request

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 2 * 1024 * 1024  # more than the 1 MiB of strings that a job may have
NDJSON = "application/x-ndjson"
CONNECTIONS_OF_A_PEER = 400  # a bot follows 200 RayJobs, and may come through a proxy


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the service: who may call it, and under which names (`None`: any)."""

    callers: Callers
    hosts: frozenset[str] | None = None
    max_body_bytes: int = MAX_BODY_BYTES
    stop_jobs_on_exit: bool = False


class Health:
    """Asks a backend once for all who ask at the same time: anybody may, as often as they like."""

    def __init__(self, backend: Backend[Any]) -> None:
        self._backend = backend
        self._asking: asyncio.Task[str | None] | None = None

    async def problem(self) -> str | None:
        """Return why no job can start, `None` if one can."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._backend.problem())
        return await asyncio.shield(self._asking)


BACKEND: web.AppKey[Backend[Any]] = web.AppKey("backend")
HEALTH: web.AppKey[Health] = web.AppKey("health")
OPTIONS: web.AppKey[Options] = web.AppKey("options")
CALLER: web.RequestKey[Caller] = web.RequestKey("caller", Caller)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def create_app(backend: Backend[Any], options: Options) -> web.Application:
    """Return the application; it starts and closes the backend with itself."""
    limits = DoorLimits(room_for_connections(), of_a_peer=CONNECTIONS_OF_A_PEER)
    door = Door(limits, lambda message, **fields: log.warning("%s %s", message, fields))
    app = web.Application(middlewares=[door.middleware, _errors, _no_pages, _authorized])
    app[DOOR] = door
    app[BACKEND] = backend
    app[HEALTH] = Health(backend)
    app[OPTIONS] = options
    app.add_routes(
        [
            web.get("/healthz", _healthz),
            web.get("/openapi.json", _openapi),
            web.post("/api/v1/rayjobs", _submit),
            web.get("/api/v1/rayjobs/{job_id}", _job),
            web.get("/api/v1/rayjobs/{job_id}/watch", _watch),
            web.get("/api/v1/workflows/{run_id}", _workflow),
            web.delete("/api/v1/workflows/{run_id}", _stop),
        ]
    )
    app.on_startup.append(_start)
    # At shutdown watches must end first, because aiohttp waits for open handlers.
    app.on_shutdown.append(_close)
    return app


async def _start(app: web.Application) -> None:
    await app[BACKEND].start()


async def _close(app: web.Application) -> None:
    await app[BACKEND].close(stop_jobs=app[OPTIONS].stop_jobs_on_exit)


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every refusal as JSON with its reason."""
    try:
        return await handler(request)
    except RefusedError as error:
        headers = {"Retry-After": "10"} if error.status in (429, 503) else {}
        headers |= {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
        return _json({"error": error.reason}, error.status, headers)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        allow = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else None
        return _json({"error": error.text or error.reason}, error.status, allow)


@web.middleware
async def _no_pages(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse calls of web pages: a browser sends their `Origin`, and the name that they dialled.

    The name matters because a page's own name may lead here (DNS rebinding).
    """
    if "Origin" in request.headers:
        raise RefusedError(403, "web pages may not call this service")
    hosts = request.app[OPTIONS].hosts
    if hosts is not None and _hostname(request) not in hosts:
        raise RefusedError(403, "the Host header names another service")
    return await handler(request)


def _hostname(request: web.Request) -> str:
    """Return the host that a caller dialled, without its port."""
    name = request.headers.get("Host", "").rpartition("@")[2]
    end = name.rfind(":")
    return name[:end] if end > name.rfind("]") else name


@web.middleware
async def _authorized(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Require a token, except for `/healthz`, which probes call."""
    if request.path != "/healthz":
        given = request.headers.get("Authorization", "")
        request[CALLER] = await request.app[OPTIONS].callers.of(given)
        request.app[DOOR].vouch(request)
    return await handler(request)


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response(
        body, status=status, headers=headers, dumps=lambda o: json.dumps(o, ensure_ascii=False)
    )


async def _healthz(request: web.Request) -> web.Response:
    problem = await request.app[HEALTH].problem()
    if problem is not None:
        raise RefusedError(503, problem)
    return _json({"status": "ok", "backend": request.app[BACKEND].name})


async def _openapi(_request: web.Request) -> web.Response:
    return _json(document())


async def _submit(request: web.Request) -> web.Response:
    key = request.headers.get("Idempotency-Key")
    if key is not None and KEY.fullmatch(key) is None:
        raise RefusedError(400, "Idempotency-Key: 1 to 255 printable ASCII characters")
    if request.content_type != "application/json":
        raise RefusedError(415, "the Content-Type must be application/json")
    try:
        body = await request.app[DOOR].read(request, request.app[OPTIONS].max_body_bytes)
    except RefusedBody as error:
        raise RefusedError(error.status, error.reason) from error
    job = decode_request(body)
    caller = request[CALLER]
    if not caller.may_submit(job):
        raise RefusedError(403, "the body names another repository, run or attempt than the token")
    job_id, is_new = await request.app[BACKEND].submit(job, key, caller.repository_id)
    return _json({"job_id": job_id, "created": is_new}, 201 if is_new else 200)


async def _job(request: web.Request) -> web.Response:
    job_id = request.match_info["job_id"]
    view = await request.app[BACKEND].state(job_id)
    if view is None or not request[CALLER].owns(view):
        reason = f"no job {job_id[:200]}"
        return _json({"job_id": job_id, "status": "NOT_FOUND", "error": reason}, 404)
    return _json(view.as_json())


async def _watch(request: web.Request) -> web.StreamResponse:
    after = _whole_number(request.query.get("after", "0"), "after")
    if request.query.get("format", "ndjson") != "ndjson":
        raise RefusedError(400, "`format`: only ndjson is offered")
    job_id = request.match_info["job_id"]
    backend = request.app[BACKEND]
    view = await backend.state(job_id)
    if view is None or not request[CALLER].owns(view):
        return _unknown_job(job_id)
    response = web.StreamResponse(
        headers={"Content-Type": NDJSON, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )
    async with aclosing(backend.events(job_id, after, request.remote or "")) as pieces:  # type: ignore[type-var]
        async for piece in pieces:
            if not response.prepared:
                await response.prepare(request)
            if request.transport is None:  # the client has left
                break
            if piece:
                await response.write(piece)
    if not response.prepared:
        await response.prepare(request)
    return response


def _unknown_job(job_id: str) -> web.Response:
    """Answer with the code, and with the `final` event that readers of the stream expect."""
    final = {"type": "final", "status": "NOT_FOUND", "message": f"no job {job_id[:200]}"}
    return web.Response(status=404, text=json.dumps(final) + "\n", content_type=NDJSON)


async def _workflow(request: web.Request) -> web.Response:
    views = await _jobs_of(request, request.query.get("attempt"))
    return _json({"jobs": [view.as_json() for view in views]})


async def _stop(request: web.Request) -> web.Response:
    attempt = request.query.get("attempt")
    if attempt is None:
        raise RefusedError(400, "`attempt` is missing")
    live = [v.job_id for v in await _jobs_of(request, attempt) if v.state.ended_at is None]
    if not live:
        raise RefusedError(404, "no job of this run attempt is alive")
    left = await request.app[BACKEND].stop(live)
    if left:
        raise RefusedError(503, f"still alive: {', '.join(left)}")
    return _json({"stopped": live})


async def _jobs_of(request: web.Request, attempt: str | None) -> list[JobView]:
    run_id = request.match_info["run_id"]
    for name, text in (("run id", run_id), ("attempt", attempt)):
        if text is not None and not TOKEN.fullmatch(text):
            raise RefusedError(400, f"{name}: letters, digits, dots, dashes, at most 64")
    caller = request[CALLER]
    found = await request.app[BACKEND].jobs_of(run_id, attempt)
    return [view for view in found if caller.owns(view)]


def _whole_number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise RefusedError(400, f"`{name}` must be a whole number")
    return int(text)
