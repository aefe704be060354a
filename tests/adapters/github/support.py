"""A server that answers as told and remembers what it was asked; a clock that tests move."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo
from tests.accounts import account

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
REPO = Repo(RepoId(7), "acme", "verl", "main", installation_id=42)
R = "/repos/acme/verl"
TOKEN_PATH = "/app/installations/42/access_tokens"


class HandClock:
    """Stands still; sleeping moves it at once, so that nothing in a test waits."""

    def __init__(self) -> None:
        self.time = NOW
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@dataclass
class Reply:
    """An answer; ``drop`` closes the connection instead, ``hold`` waits for an event first."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    drop: bool = False
    hold: asyncio.Event | None = None


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


Script = Reply | Callable[[Seen], Reply]


class Scripted:
    """Answers each (method, path) from its list; the last answer is given again and again."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.url = ""
        self._scripts: dict[tuple[str, str], list[Script]] = {}
        self.on("POST", TOKEN_PATH, self.token)
        self.tokens = 0

    def token(self, seen: Seen) -> Reply:
        self.tokens += 1
        expires = (self.clock.now() + timedelta(hours=1)).isoformat()
        return Reply(201, {"token": f"ghs_{self.tokens}", "expires_at": expires})

    clock: HandClock

    def on(self, method: str, path: str, *scripts: Script) -> None:
        self._scripts[(method, path)] = list(scripts)

    def requests(self, method: str = "", path: str = "") -> list[Seen]:
        """Return what was asked besides tokens."""
        return [
            seen
            for seen in self.seen
            if seen.path != TOKEN_PATH and method in ("", seen.method) and path in ("", seen.path)
        ]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        seen = Seen(
            request.method,
            request.raw_path.partition("?")[0],
            dict(request.query),
            {key.lower(): value for key, value in request.headers.items()},
            json.loads(data) if data else None,
        )
        self.seen.append(seen)
        scripts = self._scripts.get((seen.method, seen.path))
        if not scripts:
            return web.json_response({"message": "Not Found"}, status=404)
        script = scripts.pop(0) if len(scripts) > 1 else scripts[0]
        return await self._answer(request, script(seen) if callable(script) else script)

    async def _answer(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        if reply.hold is not None:
            await reply.hold.wait()
        if reply.drop:
            assert request.transport is not None
            request.transport.close()
        if reply.raw is not None:
            return web.Response(status=reply.status, body=reply.raw, headers=reply.headers)
        if reply.body is None:
            return web.Response(status=reply.status, headers=reply.headers)
        return web.json_response(reply.body, status=reply.status, headers=reply.headers)


def quota(remaining: int, *, limit: int = 5000, reset_in: int = 600) -> dict[str, str]:
    """Return the headers of a primary limit."""
    return {
        "x-ratelimit-limit": str(limit),
        "x-ratelimit-remaining": str(remaining),
        "x-ratelimit-reset": str(int(NOW.timestamp()) + reset_in),
        "x-ratelimit-resource": "core",
    }


def user_json(login: str) -> dict[str, Any]:
    """Return an account as GitHub shows it."""
    return {"login": login, "id": account(login).id}


def pull_json(**changes: Any) -> dict[str, Any]:
    """Return a pull request as GitHub shows it."""
    return {
        "number": 5,
        "state": "open",
        "draft": False,
        "user": user_json("ann"),
        "head": {"sha": "a" * 40, "ref": "topic", "repo": {"id": 7}},
        "base": {"ref": "main", "repo": {"id": 7}},
        "changed_files": 2,
        "updated_at": "2026-11-30T11:59:00Z",
    } | changes


def run_json(**changes: Any) -> dict[str, Any]:
    """Return a workflow run as GitHub shows it."""
    return {
        "id": 900,
        "run_attempt": 1,
        "status": "completed",
        "conclusion": "success",
        "display_title": "suite 01ABC",
        "event": "workflow_dispatch",
        "path": ".github/workflows/e2e.yml",
        "head_sha": "b" * 40,
        "html_url": "https://github.com/acme/verl/actions/runs/900",
        "created_at": "2026-11-30T11:00:00Z",
        "updated_at": "2026-11-30T11:30:00Z",
        "actor": user_json("bot"),
        "triggering_actor": user_json("ann"),
        "head_repository": {"id": 9},
        "pull_requests": [{"number": 7}],
    } | changes
