"""A bot that serves the web while its loops do not run: posts are stored and answered."""

import hashlib
import hmac
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from sqlalchemy import select

from bot.app import Parts, make_runner, open_loops, open_parts
from bot.services.workers import WorkerPool
from bot.settings import Settings
from bot.sim import ManualClock
from bot.sim.auth import key_pair
from bot.store.database import all_rows
from bot.store.tables import deliveries

SECRETS = ("first-secret", "second-secret")
APP_ID = 1234


@dataclass(frozen=True)
class Answer:
    """A status with the JSON that came along."""

    status: int
    data: Any


@dataclass
class WebServer:
    """The web server, a client that posts to it, and what it stored."""

    port: int
    http: aiohttp.ClientSession
    parts: Parts
    loops: WorkerPool
    clock: ManualClock

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/webhook"

    async def get(self, path: str, **headers: str) -> Answer:
        url = f"http://127.0.0.1:{self.port}{path}"
        async with self.http.get(url, headers=headers) as response:
            return Answer(response.status, await response.json())

    async def post(self, body: Any, headers: dict[str, str] | None = None, **how: Any) -> Answer:
        """Post exactly this body with exactly these headers."""
        data = io.BytesIO(body) if isinstance(body, bytes) else body
        async with self.http.post(self.url, data=data, headers=headers or {}, **how) as response:
            return Answer(response.status, await response.json())

    async def deliver(
        self, event: str, payload: Any, guid: str = "guid-1", **headers: str
    ) -> Answer:
        """Post a signed delivery as GitHub does; ``headers`` replace what GitHub would send."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        return await self.post(body, {**signed(body), **named(event, guid), **headers})

    async def rows(self) -> list[dict[str, Any]]:
        """Return what is stored, oldest first."""
        query = select(deliveries).order_by(deliveries.c.seq)
        found = await self.parts.store._db.read(lambda conn: all_rows(conn, query))
        return [dict(row._mapping) for row in found]


def signed(body: bytes, secret: str = SECRETS[0]) -> dict[str, str]:
    """Return the signature of a body as a header."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={digest}"}


def named(event: str, guid: str = "guid-1") -> dict[str, str]:
    """Return the headers that name a delivery."""
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": guid,
    }


@asynccontextmanager
async def open_server(folder: Path, database_url: str, **more: Any) -> AsyncIterator[WebServer]:
    """Open a server that anybody may read at; nothing listens where GitHub would be."""
    private, _ = key_pair()
    settings = Settings(
        github_app_id=APP_ID,
        github_private_key=private,
        github_webhook_secret=",".join(SECRETS),
        github_api_url="http://127.0.0.1:9",
        database_url=database_url,
        data_dir=folder / "data",
        **{"dashboard": "public", **more},
    )
    clock = ManualClock()
    async with (
        open_parts(settings, clock=clock, strict=True) as parts,
        open_loops(parts) as loops,
        _serve(make_runner(parts, loops)) as port,
        aiohttp.ClientSession() as http,
    ):
        yield WebServer(port, http, parts, loops, clock)


@asynccontextmanager
async def _serve(runner: web.AppRunner) -> AsyncIterator[int]:
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield int(runner.addresses[0][1])
    await runner.cleanup()
