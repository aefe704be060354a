"""REST calls: what a handler gets and answers, and the pipeline from credentials to counting."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

from aiohttp import web

from bot.sim import auth
from bot.sim.errors import GitHubError, not_found
from bot.sim.limits import ApiCall, Fault, error_of
from bot.sim.model import App, Repo, State, Token, User
from bot.sim.simulation import Simulation


@dataclass(slots=True)
class Call:
    """A request and its caller. `params` are the variable parts of the path."""

    sim: Simulation
    params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    path: str
    body: Any
    token: Token | None = None
    app: App | None = None

    @property
    def state(self) -> State:
        """Return the state of the simulation."""
        return self.sim.state

    @property
    def repo(self) -> Repo:
        """Return the repository of the path. An unknown one is a 404."""
        name = f"{self.params['owner']}/{self.params['repo']}".lower()
        for repo in self.sim.state.repos.values():
            if repo.full_name.lower() == name:
                return repo
        raise not_found()

    @property
    def me(self) -> User:
        """Return the bot account that acts."""
        app = self.app or (self.token.installation.app if self.token else None)
        if app is None or app.bot is None:
            raise GitHubError(401, "Requires authentication")
        return app.bot

    def number(self, name: str) -> int:
        """Return a numeric part of the path. A part that is no number is a 404."""
        if not self.params[name].isdigit():
            raise not_found()
        return int(self.params[name])

    def fields(self) -> dict[str, Any]:
        """Return the JSON body as an object. Any other body is a 422."""
        if self.body is None:
            return {}
        if not isinstance(self.body, dict):
            raise GitHubError(422, "Invalid request.")
        return self.body


@dataclass(slots=True)
class Answer:
    """An answer. `data=None` sends no body."""

    data: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Handler = Callable[[Call], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Route:
    """A path, its caller (`app` by JWT, or `token`), and the permission that a token needs."""

    method: str
    template: str
    handler: Handler
    permission: str = "metadata"
    level: str = "read"
    who: str = "token"

    @property
    def name(self) -> str:
        """Return the template as GitHub's description writes it."""
        return self.template.replace(":.+", "")


class Routes(list[Route]):
    """The routes of a module, each declared above its handler."""

    def on(
        self,
        method: str,
        template: str,
        permission: str = "metadata",
        level: str = "read",
        *,
        who: str = "token",
    ) -> Callable[[Handler], Handler]:
        """Let the decorated function answer this path."""

        def add(handler: Handler) -> Handler:
            self.append(Route(method, template, handler, permission, level, who))
            return handler

        return add


def paged(call: Call, items: Sequence[Any], key: str | None = None) -> Answer:
    """Return the page that was asked for, with the `Link` header. `key` wraps it in an object."""
    size = min(max(int(call.query.get("per_page", "30")), 1), 100)
    page = max(int(call.query.get("page", "1")), 1)
    shown = list(items[(page - 1) * size : page * size])
    last = max(1, -(-len(items) // size))
    links = []
    if page < last:
        links += [_link(call, page + 1, "next"), _link(call, last, "last")]
    if page > 1:
        links += [_link(call, page - 1, "prev"), _link(call, 1, "first")]
    headers = {"Link": ", ".join(links)} if links else {}
    data: Any = shown if key is None else {"total_count": len(items), key: shown}
    return Answer(data, headers=headers)


def _link(call: Call, page: int, rel: str) -> str:
    query = urlencode({**call.query, "page": str(page)})
    return f'<{call.state.url}{call.path}?{query}>; rel="{rel}"'


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
            if fault is not None:
                answer = replace(answer, data=fault.change(answer.data))
        except GitHubError as error:
            answer = Answer(error.body(), error.status, dict(error.headers))
        response = self._respond(request, answer, who, version)
        method, name, now = request.method, self._route.name, self._sim.state.clock.now()
        call = ApiCall(method, name, request.path_qs, response.status, _installation(who), now)
        self._sim.calls.append(call)
        # GitHub's description has one segment for each parameter.
        params = {key: quote(text, safe="") for key, text in request.match_info.items()}
        asked = (method, name, name.format(**params), request.query_string, body)
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
            if limit.window(who.installation.id).used >= limit.per_hour:
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
        media = {"Content-Type": "application/json; charset=utf-8"} if body else {}
        return web.Response(status=status, body=body, headers={**headers, **media})


def _installation(who: Token | App | None) -> int | None:
    return who.installation.id if isinstance(who, Token) else None
