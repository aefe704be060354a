"""Attacks on a service's port, over real sockets: whoever takes most gives way."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import logging
import types
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from bot.door import DOOR, Door, DoorLimits, GuardedRunner, RefusedBody, Sparing

BODY_BYTES = 100_000
QUICK = {"head_s": 0.05, "body_s": 0.05}
PATIENT = {"head_s": 60.0, "body_s": 60.0}
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Service:
    """A service behind a door, its clients, and what the door said."""

    port: int
    door: Door
    said: list[tuple[str, dict[str, Any]]]
    opened: list[Streams] = field(default_factory=list)

    async def connect(self, sent: bytes = b"", host: str = "127.0.0.1") -> Streams:
        streams = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(host, 0))
        self.opened.append(streams)
        streams[1].write(sent)
        return streams

    async def answer(self, streams: Streams) -> bytes:
        return (await streams[0].readuntil(b"\r\n"))[9:12]

    async def get(self) -> bytes:
        """Ask as a probe of another machine does."""
        streams = await self.connect(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", host="127.0.0.9")
        return await self.answer(streams)

    def held(self) -> int:
        return len(self.door._by_transport)


async def _get(_request: web.Request) -> web.Response:
    return web.Response()


async def _post(request: web.Request) -> web.Response:
    door = request.app[DOOR]
    if "Vouched" in request.headers:
        door.vouch(request)
    try:
        return web.Response(text=str(len(await door.read(request, BODY_BYTES))))
    except RefusedBody as error:
        return web.Response(status=error.status, text=error.reason)


@asynccontextmanager
async def opened(**limits: Any) -> AsyncIterator[Service]:
    said: list[tuple[str, dict[str, Any]]] = []
    given = {"connections": 20, "of_a_peer": 20, **PATIENT, **limits}
    door = Door(DoorLimits(**given), lambda message, **more: said.append((message, more)))
    app = web.Application(middlewares=[door.middleware])
    app[DOOR] = door
    app.add_routes([web.get("/", _get), web.post("/", _post)])
    runner = GuardedRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    service = Service(runner.addresses[0][1], door, said)
    try:
        yield service
    finally:
        asyncio.get_running_loop().set_exception_handler(None)
        for _, writer in service.opened:
            writer.close()
        await runner.cleanup()


async def until(test: Callable[[], object]) -> None:
    """Wait for what sockets bring; a minute is a hang."""
    async with asyncio.timeout(60):
        while not test():  # noqa: ASYNC110  nobody tells when bytes have come
            await asyncio.sleep(0.001)


def post(size: int, *headers: str) -> bytes:
    lines = ["POST / HTTP/1.1", "Host: x", f"Content-Length: {size}", *headers, "", ""]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n", post(9) + b"half"],
    ids=["idle", "half a line", "half a head", "half a body"],
)
async def test_connections_without_end_leave_room_for_a_webhook(sent: bytes) -> None:
    async with opened() as service:
        for _ in range(60):
            await service.connect(sent)
        assert await service.get() == b"200"
        assert service.held() <= 20
        assert len(service.said) == 1, "one line, not one for each connection"


async def test_who_has_just_come_does_not_give_way_to_slow_bodies() -> None:
    """GitHub's head comes after its connection; meanwhile a stranger opens one after the other."""
    async with opened() as service:
        for _ in range(20):
            await service.connect(post(9) + b"half")
        streams = await service.connect(host="127.0.0.9")
        for _ in range(10):
            await service.connect(post(9) + b"half")
            await asyncio.sleep(0.01)
        streams[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await service.answer(streams) == b"200"


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
async def test_a_slow_head_is_not_kept_for_ever(sent: bytes) -> None:
    async with opened(**QUICK) as service:
        for _ in range(10):
            reader, _ = await service.connect(sent)
        assert await reader.read() == b""


async def test_a_slow_second_request_is_not_kept_for_ever_either() -> None:
    async with opened(**QUICK) as service:
        streams = await service.connect(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await service.answer(streams) == b"200"
        streams[1].write(b"GET / HT")
        await streams[0].read()
        assert service.held() == 0


@pytest.mark.parametrize("whole", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", post(1) + b"x"])
async def test_half_a_request_in_the_packet_of_a_whole_one_is_not_kept_for_ever(
    whole: bytes,
) -> None:
    async with opened(**QUICK) as service, asyncio.timeout(5):
        streams = await service.connect(whole + b"GET / HT")
        assert await service.answer(streams) == b"200"
        await streams[0].read()
        assert service.held() == 0


async def test_an_idle_connection_is_kept_for_its_next_request() -> None:
    async with opened(**QUICK) as service:
        streams = await service.connect()
        for _ in range(2):
            streams[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await service.answer(streams) == b"200"
            await streams[0].readuntil(b"\r\n\r\n")
            await asyncio.sleep(0.1)


async def test_a_body_that_gave_way_is_not_kept_by_the_error_that_says_so() -> None:
    async with opened(body_bytes=250_000) as service:
        for _ in range(20):
            await service.connect(post(90_000) + b"x" * 80_000)
        await service.get()
        held = [item for item in gc.get_objects() if isinstance(item, types.FrameType)]
        bodies = [frame.f_locals.get("body") for frame in held if "body" in frame.f_locals]
        kept = sum(len(body) for body in bodies if isinstance(body, bytearray))
        assert kept <= 250_000


async def test_no_body_is_unpacked() -> None:
    """Else a few bytes of a stranger become work for minutes, before anybody looks at them."""
    bomb = gzip.compress(b"x" * 50 * BODY_BYTES)
    async with opened() as service:
        streams = await service.connect(post(len(bomb), "Content-Encoding: gzip") + bomb)
        assert await service.answer(streams) == b"200"
        await streams[0].readuntil(b"\r\n\r\n")
        assert await streams[0].read(100) == str(len(bomb)).encode()


async def test_a_slow_body_is_answered_and_let_go() -> None:
    async with opened(**QUICK) as service:
        streams = await service.connect(post(1000) + b"half")
        assert await service.answer(streams) == b"408"


async def test_bodies_share_a_budget_and_the_slowest_gives_way() -> None:
    async with opened(body_bytes=250_000) as service:
        stalled = [await service.connect(post(90_000) + b"x" * 80_000) for _ in range(4)]
        assert await stalled[0][0].read() == b"", "the first one gave way"
        streams = await service.connect(post(90_000) + b"x" * 90_000, host="127.0.0.9")
        assert await service.answer(streams) == b"200"
        assert service.door._held <= 250_000
        stalled[-1][1].write(b"x" * 10_000)
        assert await service.answer(stalled[-1]) == b"200"


async def test_nobody_takes_the_place_of_callers_who_proved_who_they_are() -> None:
    async with opened(connections=3, of_a_peer=3) as service:
        kept = [await service.connect(post(400, "Vouched: yes") + b"x" * 300) for _ in range(3)]
        await until(lambda: service.door._held >= 900)
        reader, _ = await service.connect(host="127.0.0.9")
        assert await reader.read() == b""
        for streams in kept:
            streams[1].write(b"x" * 100)
            assert await service.answer(streams) == b"200"


async def test_one_peer_has_no_more_than_its_share() -> None:
    async with opened(of_a_peer=5) as service:
        other, _ = await service.connect(host="127.0.0.8")
        for _ in range(30):
            await service.connect()
        assert await service.get() == b"200"
        assert service.held() <= 7
        assert not other.at_eof()


async def test_a_lack_of_descriptors_is_said_once_and_idle_connections_go(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    async with opened() as service:
        reader, _ = await service.connect()
        await until(service.held)
        loop = asyncio.get_running_loop()
        for _ in range(1000):
            error = OSError(24, "Too many open files")
            loop.call_exception_handler({"message": "accept", "exception": error})
        assert await reader.read() == b""
        assert [message for message, _ in service.said] == ["no connection can be accepted"]
        assert caplog.records == []
        loop.call_exception_handler({"message": "something else"})
        assert "something else" in caplog.text


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"a" * 9000,
        b"GET /" + b"a" * 9000,
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"\x16\x03\x01\0\0",
    ],
    ids=["many headers", "a long header", "a long path", "a wrong length", "TLS"],
)
async def test_requests_that_cant_be_read_do_not_fill_the_log(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened() as service:
        for _ in range(10):
            reader, _ = await service.connect(sent)
            with contextlib.suppress(ConnectionError):  # the rest of what was sent is not read
                await reader.read()
        assert caplog.text == ""
        assert len(service.said) <= 1
        assert await service.get() == b"200"


def test_what_is_left_unsaid_is_counted() -> None:
    said: list[dict[str, object]] = []
    speak = Sparing(lambda _message, **fields: said.append(fields))
    for _ in range(10):
        speak("refused")
    speak._quiet_until = 0.0
    speak("refused")
    assert said == [{"unsaid_before": 0}, {"unsaid_before": 9}]
