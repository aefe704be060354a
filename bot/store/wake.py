"""Waking loops: by event in the process, by LISTEN/NOTIFY between processes on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog
from sqlalchemy.engine import make_url

from bot.ports.wake import Topic, Wake

log = structlog.get_logger()

_CHANNEL = "ascend_ci"
_CONNECT_S = 10
# The polls of the loops bridge the time without a connection.
_RECONNECT_S = 5
# How long an ending process tries to send its pokes; the others find the rows by polling.
_FLUSH_S = 2


class LocalWake:
    """Implements ``Wake`` for one process."""

    def __init__(self) -> None:
        self._events = {topic: asyncio.Event() for topic in Topic}

    def poke(self, *topics: Topic) -> None:
        """Wake the loops of these topics."""
        for topic in topics:
            self._events[topic].set()

    async def wait(self, topic: Topic) -> None:
        """Return when poked, also since the last wait."""
        event = self._events[topic]
        await event.wait()
        event.clear()


class PostgresWake(LocalWake):
    """Implements ``Wake`` for the processes on one PostgreSQL; made by ``open_wake``."""

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self._dsn = dsn
        self._outgoing: set[Topic] = set()
        self._is_lost = False  # said in the log
        self._has_outgoing = asyncio.Event()
        self._all_sent = asyncio.Event()
        self._all_sent.set()

    def poke(self, *topics: Topic) -> None:
        """Wake the loops of these topics, here and in the other processes."""
        super().poke(*topics)
        self._outgoing.update(topics)
        self._all_sent.clear()
        self._has_outgoing.set()

    async def flush(self) -> None:
        """Return once the other processes know the pokes, or soon without a connection.

        Call it before ``run`` is cancelled: a command ends at once after its only poke.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_S):
                await self._all_sent.wait()

    async def run(self, listening: asyncio.Event) -> None:
        """Listen and notify until cancelled, connecting again whenever the connection is lost."""
        import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415  an extra, no types

        while True:
            try:
                await self._session(listening)
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                if not self._is_lost:
                    log.warning("wake_connection_lost", reason=str(error), retry_s=_RECONNECT_S)
                self._is_lost = True
            await asyncio.sleep(_RECONNECT_S)

    async def _session(self, listening: asyncio.Event) -> None:
        import asyncpg  # noqa: PLC0415  as above

        conn = await asyncpg.connect(self._dsn, timeout=_CONNECT_S)
        try:
            conn.add_termination_listener(lambda _conn: self._has_outgoing.set())
            await conn.add_listener(_CHANNEL, self._on_notify)
            super().poke(*Topic)  # pokes may have been missed
            self._is_lost = False
            listening.set()
            await self._notify(conn)
        finally:
            conn.terminate()

    async def _notify(self, conn: Any) -> None:
        """Notify the other processes, all pokes of a moment in one statement."""
        while not conn.is_closed():
            await self._has_outgoing.wait()
            self._has_outgoing.clear()
            topics, self._outgoing = sorted(self._outgoing), set()
            if topics:
                await conn.execute(
                    "SELECT pg_notify($1, topic) FROM unnest($2::text[]) AS topic", _CHANNEL, topics
                )
            if not self._outgoing:
                self._all_sent.set()

    def _on_notify(self, conn: Any, sender: int, _channel: str, payload: object) -> None:
        """Wake the loops of a topic; a newer process may send a topic that is unknown here."""
        if sender == conn.get_server_pid():
            return
        if payload in set(Topic):
            super().poke(Topic(str(payload)))


@asynccontextmanager
async def open_wake(url: str) -> AsyncIterator[Wake]:
    """Open the ``Wake`` that fits the database; PostgreSQL's listens before this enters."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        yield LocalWake()
        return
    wake = PostgresWake(parsed.set(drivername="postgresql").render_as_string(hide_password=False))
    listening = asyncio.Event()
    task = asyncio.create_task(wake.run(listening), name="wake")
    try:
        with suppress(TimeoutError):  # an unreachable database is the store's to report
            async with asyncio.timeout(_CONNECT_S):
                await listening.wait()
        yield wake
        await wake.flush()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
