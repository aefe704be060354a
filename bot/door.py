"""The door of a service: which connections it keeps, how long, and what memory strangers get.

It works below HTTP, between the sockets and aiohttp. Whoever takes most gives way: at a limit the
oldest connection goes that nobody vouches for, of the peer that has most of them. So a webhook gets
in while somebody holds a thousand connections open.
"""

import asyncio
import ctypes
import errno
import logging
import resource
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from bot.deadlines import Deadlines

HEAD_S = 10.0  # GitHub gives a webhook up after 10 s
BODY_S = 10.0
KEEP_S = 75.0  # an idle connection; longer than proxies keep theirs
LINGER_S = 2.0  # for the rest of a body that was refused, so that its sender reads why
REPORT_S = 60.0
UNREAD_MS = 120_000  # a client that reads nothing for so long is gone
PROBES = ((socket.TCP_KEEPIDLE, 60), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 4))
MOST_DESCRIPTORS = 65536
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
LARGE_BYTES = 1024 * 1024  # above what is read from a socket at once
SPARE_BYTES = 4 * 1024 * 1024  # by itself 128 KiB: each read from a socket would ask for more
READ_BYTES = 64 * 1024  # from a socket at once; asyncio's 256 KiB wait unread for each stranger
EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

Say = Callable[..., object]


@dataclass(frozen=True, slots=True)
class DoorLimits:
    """Connections at once, in all and of one peer; bytes of all bodies that are being read."""

    connections: int
    of_a_peer: int
    body_bytes: int = 64 * 1024 * 1024
    head_s: float = HEAD_S
    body_s: float = BODY_S


class RefusedBody(Exception):  # noqa: N818  a refusal is an answer
    """A body is not taken; the status and the reason for the caller."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Sparing:
    """Says a thing at most once a minute, with the number of times that it was not said."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._quiet_until = float("-inf")
        self._unsaid = 0

    def __call__(self, message: str, **fields: object) -> None:
        """Say it, or count it."""
        now = time.monotonic()
        if now < self._quiet_until:
            self._unsaid += 1
            return
        self._say(message, **fields, unsaid_before=self._unsaid)
        self._quiet_until, self._unsaid = now + REPORT_S, 0


class Connection(asyncio.Protocol):
    """One connection: hands everything on to aiohttp, unless its time is up."""

    def __init__(self, door: "Door", inner: asyncio.Protocol) -> None:
        self._door = door
        self._inner = inner
        self._is_timed = False
        self.transport: asyncio.Transport | None = None
        self.peer = ""
        self.is_serving = False  # a handler runs
        self.is_vouched = False  # its caller proved who they are
        self.held = 0  # bytes of its body
        self.last = b""  # of the bytes that came
        self.reading_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let it in, and perhaps another one out."""
        self.transport = cast("asyncio.Transport", transport)
        self.peer = _peer(transport)
        cast("Any", transport).max_size = READ_BYTES
        self.expect_head()
        if self._door.came(self):
            self._inner.connection_made(transport)
        else:
            self._inner = asyncio.Protocol()
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self.stop_timer()
        self._door.left(self)
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand bytes on; the first ones of a request start its time."""
        if not self.is_serving and not self._is_timed:
            self.expect_head()
        self.last = (self.last + data[-4:])[-4:]
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Hand the end on."""
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        """Hand it on."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Hand it on."""
        self._inner.resume_writing()

    def expect_head(self) -> None:
        """Close the connection unless a whole head comes in time."""
        self._is_timed = True
        self._door.heads.start(self.close)

    def stop_timer(self) -> None:
        """Let the connection take its time."""
        self._is_timed = False
        self._door.heads.stop(self.close)

    def close(self) -> None:
        """Close it at once, whatever it does."""
        if self.transport is not None:
            self.transport.abort()

    @property
    def rank(self) -> int:
        """Return 0 for a stranger's idle connection, 3 for one that never gives way."""
        return 2 * self.is_vouched + self.is_serving


class Door:
    """The connections of one service."""

    def __init__(self, limits: DoorLimits, say: Say) -> None:
        self.limits = limits
        self.heads = Deadlines(limits.head_s)
        self._say = Sparing(say)
        self._say_exhausted = Sparing(say)
        self._say_malformed = Sparing(say)
        self._peers: dict[str, dict[Connection, None]] = {}  # in the order of their coming
        self._by_transport: dict[Any, Connection] = {}
        self._held = 0

    def guarding(self, factory: Callable[[], asyncio.Protocol]) -> Callable[[], Connection]:
        """Return a factory of guarded protocols."""
        return lambda: Connection(self, factory())

    def came(self, one: Connection) -> bool:
        """Take a connection in; return False if all others have a better right to be here."""
        self._peers.setdefault(one.peer, {})[one] = None
        self._by_transport[one.transport] = one
        while self._is_crowded(one):
            victim = self._victim(one)
            self._say("a connection gives way: there are too many", peer=victim.peer)
            self.left(victim)
            victim.close()
            if victim is one:
                return False
        return True

    def left(self, one: Connection) -> None:
        """Forget a connection."""
        self._by_transport.pop(one.transport, None)
        self._held -= one.held
        one.held = 0
        of_peer = self._peers.get(one.peer, {})
        of_peer.pop(one, None)
        if not of_peer:
            self._peers.pop(one.peer, None)

    def _is_crowded(self, one: Connection) -> bool:
        return (
            len(self._by_transport) > self.limits.connections
            or len(self._peers.get(one.peer, ())) > self.limits.of_a_peer
        )

    def _victim(self, newcomer: Connection) -> Connection:
        """Return who gives way: of a peer that has too many, else of the largest one."""
        own = self._peers[newcomer.peer]
        if len(own) > self.limits.of_a_peer:
            return self._first(list(own), newcomer)
        by_size = sorted(self._peers.values(), key=len, reverse=True)
        return self._first([one for peer in by_size for one in peer], newcomer)

    def _first(self, found: list[Connection], newcomer: Connection) -> Connection:
        """Return the first that nobody vouches for; a newcomer only if nobody else may go.

        Whether it is busy does not count: a slow body would outlive who has not sent a head yet.
        """
        others = [one for one in found if one is not newcomer and one.rank < 3]
        return min(others, key=lambda one: one.is_vouched, default=newcomer)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Note that a handler runs: the head is whole."""
        one = self._of(request)
        if one is None:
            return cast("web.StreamResponse", await handler(request))
        one.stop_timer()
        one.is_serving = True
        try:
            return cast("web.StreamResponse", await handler(request))
        finally:
            one.is_serving = False
            self._held -= one.held
            one.held = 0
            # The rest of a packet may be half of another request, for which nothing more comes.
            is_rest = request.body_exists or one.last != b"\r\n\r\n"
            if is_rest and not one.is_vouched and one in self._peers.get(one.peer, {}):
                one.expect_head()

    def vouch(self, request: web.Request) -> None:
        """Note that a caller proved who they are: their connection stays."""
        one = self._of(request)
        if one is not None:
            one.is_vouched = True

    async def read(
        self, request: web.Request, most: int, each: Callable[[bytes], object] = len
    ) -> bytes:
        """Read a body of at most so many bytes, and call `each` with its pieces.

        Raise `RefusedBody`: 413 too large, 408 too slow, 503 too many at once, 400 broken.
        """
        if (request.content_length or 0) > most:
            raise RefusedBody(413, f"the body is larger than {most} bytes")
        content = request.content
        if not content.is_eof():
            return await self._read_slowly(request, most, each)
        if content.total_bytes > most:
            raise RefusedBody(413, f"the body is larger than {most} bytes")
        self._hold(request, content.total_bytes)
        body = content.read_nowait()  # it came with its head, as most do
        each(body)
        return body

    async def _read_slowly(
        self, request: web.Request, most: int, each: Callable[[bytes], object]
    ) -> bytes:
        body = bytearray()
        is_whole = False
        try:
            async with asyncio.timeout(self.limits.body_s):
                async for chunk in request.content.iter_any():
                    if len(body) + len(chunk) > most:
                        raise RefusedBody(413, f"the body is larger than {most} bytes")
                    body += chunk
                    self._hold(request, sys.getsizeof(body))
                    each(chunk)
            is_whole = True
        except TimeoutError as error:
            raise RefusedBody(408, "the body came too slowly") from error
        except (web.RequestPayloadError, ConnectionError) as error:  # broken chunks, or a hang-up
            raise RefusedBody(400, "the body did not come whole") from error
        finally:
            if not is_whole:
                body.clear()  # the error's traceback keeps this frame until the next collection
        return bytes(body)

    def _hold(self, request: web.Request, size: int) -> None:
        """Account for a body that takes so much memory; the one that takes longest gives way."""
        one = self._of(request)
        if one is None:
            return
        if not one.held:
            one.reading_since = time.monotonic()
        self._held += size - one.held
        one.held = size
        while self._held > self.limits.body_bytes:
            holding = [other for other in self._by_transport.values() if other.held]
            others = [other for other in holding if other.rank < 3 and other is not one]
            if not others:
                raise RefusedBody(503, "too much is being received: send it again")
            victim = min(others, key=lambda other: other.reading_since)
            self._say("a body gives way: there are too many", peer=victim.peer)
            self.left(victim)
            victim.close()

    def _of(self, request: web.Request) -> Connection | None:
        return self._by_transport.get(request.transport)

    def on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Answer the lack of file descriptors: let idle connections go, and say so sparingly."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in EXHAUSTED):
            loop.default_exception_handler(context)
            return
        self._say_exhausted("no connection can be accepted", why=error.strerror)
        idle = [one for one in self._by_transport.values() if one.rank == 0]
        for one in idle[:8]:
            self.left(one)
            one.close()

    def is_news(self, record: logging.LogRecord) -> bool:
        """Return False for a line of aiohttp about a request that it can't read: it says so here.

        Anybody can send a million of them, each of which would be a traceback.
        """
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, HttpProcessingError):
            return True
        self._say_malformed("a request can't be read", why=type(error).__name__)
        return False


DOOR: web.AppKey[Door] = web.AppKey("door", Door)


class GuardedRunner(web.AppRunner):
    """Serves an application behind its door, the application's `DOOR`.

    No body is decompressed: nobody sends one compressed, a signature covers the sent bytes, and a
    small body could become a huge one before anybody proved who they are.
    """

    def __init__(self, app: web.Application, **more: Any) -> None:
        more |= {"keepalive_timeout": KEEP_S, "lingering_time": LINGER_S}
        self._door = app[DOOR]
        logger = logging.Logger("bot.door")  # of this service alone: it has a filter
        logger.parent = logging.getLogger()
        logger.addFilter(self._door.is_news)
        more |= {"auto_decompress": False, "logger": logger}
        super().__init__(app, access_log=None, **more)

    async def setup(self) -> None:
        """Make it ready; the loop tells the door when descriptors are used up."""
        await super().setup()
        _give_memory_back()
        asyncio.get_running_loop().set_exception_handler(self._door.on_loop_error)

    @property
    def server(self) -> Any:
        """Return what makes the protocols of sockets."""
        made = super().server
        return None if made is None else self._door.guarding(made)


def _give_memory_back() -> None:
    """Let the C library return each large buffer to the system once it is freed (glibc).

    By itself it learns from freed bodies to keep the next ones, which then never go.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        library.mallopt(M_TRIM_THRESHOLD, SPARE_BYTES)


def room_for_connections() -> int:
    """Raise the limit of file descriptors as far as it goes; return how many connections may be.

    The other half is for the database, logs, and calls to others.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    return min(1000, most if soft == resource.RLIM_INFINITY else soft // 2)


def _peer(transport: asyncio.BaseTransport) -> str:
    """Return whom a connection is of: an address, of IPv6 the network; make dead peers known."""
    found = transport.get_extra_info("socket")
    if found is not None and found.family in {socket.AF_INET, socket.AF_INET6}:
        for name, value in (*PROBES, (socket.TCP_USER_TIMEOUT, UNREAD_MS)):
            found.setsockopt(socket.IPPROTO_TCP, name, value)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    name = transport.get_extra_info("peername")
    if not isinstance(name, tuple):
        return "local"
    address = ip_address(str(name[0]).partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(IPv6Address(int(address) >> 64 << 64))
    return str(address)
