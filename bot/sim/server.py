"""The pipeline of every REST call, from credentials to counting."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from aiohttp import web

from bot.sim import auth
from bot.sim.errors import GitHubError, not_found
from bot.sim.faults import Fault, error_of
from bot.sim.limits import ApiCall
from bot.sim.model import App, Token
from bot.sim.route import Answer, Call, Route
from bot.sim.simulation import Simulation

VERSIONS = ("2026-03-10", "2022-11-28")
DEFAULT_VERSION = "2022-11-28"
HANG_S = 3600


@dataclass(frozen=True, slots=True)
class Seen:
    """A call and its answer, for the validator."""

    method: str
    route: str
    path: str
    query: str
    body: Any
    status: int
    data: Any
    version: str


class Pipeline:
    """Runs one route for one request."""

    def __init__(self, sim: Simulation, route: Route, check: Callable[[Seen], None]) -> None:
        self._sim = sim
        self._route = route
        self._check_seen = check

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        """Answer a request as GitHub would, with its faults."""
        version = request.headers.get("X-GitHub-Api-Version", DEFAULT_VERSION)
        fault = self._sim.faults.take(request.method, request.path)
        if fault is not None and fault.kind in {"drop", "hang"}:
            await self._fail_to_answer(request, fault)
        who: Token | App | None = None
        body: Any = None
        try:
            who = self._caller(request)
            body = await self._body(request)
            self._check(version, fault, who)
            answer = await self._route.handler(self._call(request, who, body))
        except GitHubError as error:
            answer = Answer(error.body(), error.status, dict(error.headers))
        response = self._respond(request, answer, who, version)
        method, name, now = request.method, self._route.name, self._sim.state.clock.now()
        call = ApiCall(method, name, request.path_qs, response.status, _installation(who), now)
        self._sim.calls.append(call)
        asked = (method, name, self._described_path(request), request.query_string, body)
        self._check_seen(Seen(*asked, answer.status, answer.data, version))
        if fault is not None and fault.kind == "lost":
            await self._fail_to_answer(request, fault)
        return response

    async def _fail_to_answer(self, request: web.Request, fault: Fault) -> None:
        if fault.kind == "hang":
            await asyncio.sleep(HANG_S)
        if request.transport is not None:
            request.transport.abort()
        raise asyncio.CancelledError

    def _caller(self, request: web.Request) -> Token | App | None:
        credential = auth.bearer(request.headers.get("Authorization"))
        if self._route.who == "any":
            return None
        if credential is None:
            raise GitHubError(401, "Requires authentication")
        if self._route.who == "app":
            return auth.app_of(self._sim.state, credential)
        if credential.count(".") == 2 and not credential.startswith("ghs_"):
            raise GitHubError(403, "Resource not accessible by integration")
        return auth.token_of(self._sim.state, credential)

    async def _body(self, request: web.Request) -> Any:
        raw = await request.read()
        if not raw:
            return None
        try:
            return json.loads(raw)
        except ValueError as error:
            raise GitHubError(400, "Problems parsing JSON") from error

    def _check(self, version: str, fault: Fault | None, who: Token | App | None) -> None:
        if version not in VERSIONS:
            raise GitHubError(400, f"API version {version!r} is not supported")
        limit = self._sim.limit
        if fault is not None:
            error = error_of(fault, limit.window(_installation(who)).reset_at)
            if error is not None:
                raise error
        if isinstance(who, Token):
            if limit.exhausted(who.installation.id):
                raise GitHubError(403, "API rate limit exceeded for installation.")
            auth.demand(who, self._route.permission, self._route.level)

    def _call(self, request: web.Request, who: Token | App | None, body: Any) -> Call:
        call = Call(
            sim=self._sim,
            params=dict(request.match_info),
            query=dict(request.query),
            headers=request.headers,
            path=request.path,
            body=body,
            token=who if isinstance(who, Token) else None,
            app=who if isinstance(who, App) else None,
        )
        reached = call.token is None or "repo" not in call.params
        if not reached and call.token and not auth.covers(self._sim.state, call.token, call.repo):
            raise not_found()
        return call

    def _respond(
        self, request: web.Request, answer: Answer, who: Token | App | None, version: str
    ) -> web.Response:
        body = answer.raw
        if body is None:
            body = b"" if answer.data is None else json.dumps(answer.data).encode()
        headers = {"X-GitHub-Media-Type": "github.v3; format=json", **answer.headers}
        headers["X-GitHub-Api-Version-Selected"] = version
        status = answer.status
        if request.method == "GET" and status == 200:
            tag = 'W/"' + hashlib.sha256(body).hexdigest()[:40] + '"'
            headers["ETag"] = tag
            if request.headers.get("If-None-Match", "").removeprefix("W/") == tag[2:]:
                status, body = 304, b""
        installation = _installation(who)
        if status != 304:
            self._sim.limit.spend(installation)
        headers = {**self._sim.limit.headers(installation), **headers}
        media = {"Content-Type": answer.media} if body else {}
        return web.Response(status=status, body=body, headers={**headers, **media})

    def _described_path(self, request: web.Request) -> str:
        """Return the path with each parameter as one segment, as in GitHub's description."""
        params = request.match_info.items()
        return self._route.name.format(**{key: quote(text, safe="") for key, text in params})


def _installation(who: Token | App | None) -> int | None:
    return who.installation.id if isinstance(who, Token) else None
