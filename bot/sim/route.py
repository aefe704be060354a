"""The argument, the result and the path of a REST handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from bot.sim.errors import GitHubError, not_found
from bot.sim.model import App, Repo, Token, User
from bot.sim.simulation import Simulation
from bot.sim.state import State


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
    """An answer. `data=None` sends no body, `raw` is sent as it is."""

    data: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    media: str = "application/json; charset=utf-8"


Handler = Callable[[Call], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Route:
    """A path, its callers (`app` JWT, `token`, `any`), and the permission that a token needs."""

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
