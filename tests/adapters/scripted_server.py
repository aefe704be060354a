"""A loopback HTTP server that answers as a test scripts it and remembers what was asked."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer

Act = Callable[["Asked", web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Asked:
    """What the server was asked, and the answers it has left; the last one repeats."""

    acts: list[Act]
    url: str = ""
    calls: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.calls.append(f"{request.method} {request.raw_path}")
        self.headers.append(dict(request.headers))
        act = self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]
        return await act(self, request)


def reply(status: int = 200, text: str = "", **headers: str) -> Act:
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def act(_: Asked, __: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=text.encode(), headers=named)

    return act


def stream(*chunks: bytes, then: str = "end") -> Act:
    """Send chunks, then `end` well, `drop` the connection, or stay `silent`."""

    async def act(asked: Asked, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if then == "silent":
            await _until_left(asked, request)
        if then == "drop":
            assert request.transport is not None
            request.transport.abort()
        return response

    return act


def silent() -> Act:
    async def act(asked: Asked, request: web.Request) -> web.StreamResponse:
        await _until_left(asked, request)
        return web.Response()

    return act


async def _until_left(asked: Asked, request: web.Request) -> None:
    """Wait until the client has gone or the test is over."""
    try:
        await asked.over.wait()
    except asyncio.CancelledError:
        asked.left.set()
        raise


@asynccontextmanager
async def serve(*acts: Act) -> AsyncIterator[Asked]:
    asked = Asked(list(acts))
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", asked.handle)
    server = TestServer(app)
    await server.start_server()  # which cancels a handler whose client has gone
    asked.url = str(server.make_url("/base"))
    try:
        yield asked
    finally:
        asked.over.set()
        await server.close()
