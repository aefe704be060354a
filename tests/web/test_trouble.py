"""A database that is away, full, or locked by another: said once, and nothing is lost after it."""

import asyncio
import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import asyncpg  # type: ignore[import-untyped]
import pytest
from sqlalchemy import make_url, text
from structlog.testing import capture_logs

from bot.store.database import Database, DbConnection
from bot.store.trouble import TroubleLog
from tests.web.server import WebServer
from tests.web.test_hooks import PUSH

Trouble = Callable[[WebServer], AbstractAsyncContextManager[None]]


def database(server: WebServer) -> Database:
    return server.parts.store._db


async def statement(server: WebServer, words: str) -> None:
    async def work(conn: DbConnection) -> None:
        await conn.execute(text(words))

    await database(server).write(work)


@asynccontextmanager
async def full(server: WebServer) -> AsyncIterator[None]:
    """Let the file grow no more, and use up its free pages."""
    await statement(server, "PRAGMA max_page_count = 1")  # SQLite takes the present size
    count = text("PRAGMA freelist_count")
    assert await database(server).read(lambda conn: conn.scalar(count)) == 0
    yield
    await statement(server, "PRAGMA max_page_count = 100000")


@asynccontextmanager
async def locked(server: WebServer) -> AsyncIterator[None]:
    """Let another process hold the file."""
    await statement(server, "PRAGMA busy_timeout = 50")
    path = server.parts.settings.database_url.partition("///")[2]
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    yield
    other.execute("COMMIT")
    other.close()


@asynccontextmanager
async def away(server: WebServer) -> AsyncIterator[None]:
    """Let nobody in any more."""
    url = make_url(server.parts.settings.database_url).set(drivername="postgresql")
    name = url.database
    other = await asyncpg.connect(
        url.set(database="postgres").render_as_string(hide_password=False)
    )
    await other.execute(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS false')
    await other.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
    )
    try:
        yield
        await other.execute(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS true')
    finally:
        await other.close()


SQLITE = [(full, "is full"), (locked, "is locked by another process")]
POSTGRES = [(away, "can't be reached")]


@pytest.mark.both_databases
async def test_a_database_in_trouble_is_told_once_and_every_webhook_may_come_again(
    server: WebServer,
) -> None:
    is_sqlite = "sqlite" in server.parts.settings.database_url
    for trouble, words in SQLITE if is_sqlite else POSTGRES:
        await in_trouble(server, trouble, words)


async def in_trouble(server: WebServer, trouble: Trouble, words: str) -> None:
    stop, guids = asyncio.Event(), [f"{trouble.__name__}-{n}" for n in range(4)]
    large = {"filler": secrets.token_hex(50_000), **PUSH}
    database(server).trouble.calm_s = 60
    with capture_logs() as said:
        running = asyncio.create_task(server.loops.run(stop))
        async with trouble(server):
            answers = [await server.deliver("push", large, guid=guid) for guid in guids]
            assert {answer.status for answer in answers} == {503}
            assert answers[0].data == {"error": f"the database {words}: send it again"}
            await server.clock.advance(3)
            answer = await server.get("/readyz")
            assert (answer.status, answer.data) == (503, {"error": f"the database {words}"})
            answer = await server.get("/api/v1/health")
            problem = {"ok": False, "problem": f"it {words}"}
            assert (answer.status, answer.data["database"]) == (503, problem)
            assert (await server.get("/api/v1/runs")).status in {200, 503}
        database(server).trouble.calm_s = 0  # in a test, no time passes in which nothing fails
        await server.clock.advance(3)
        assert (await server.get("/api/v1/health")).data["database"]["ok"]
        stop.set()
        await running
        for guid in guids:
            assert (await server.deliver("push", large, guid=guid)).data["result"] == "stored"
    told = [line for line in said if "database" in str(line) or "exc_info" in line]
    assert [line["event"] for line in told] == [
        "the database can't be used",
        "the database can be used again",
    ]
    assert told[0]["problem"] == words


def test_a_write_between_two_failures_is_not_the_end() -> None:
    trouble = TroubleLog()
    trouble.wrote()
    with capture_logs() as said:
        for _ in range(3):
            assert trouble.failed(OSError("database or disk is full")).problem == "is full"
            trouble.wrote()
    assert len(said) == 1
