"""SQLite's transactions: each is one visit to a thread, and has an end."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from bot.store import Store
from bot.store.database import Database, DbConnection
from tests.databases import SqliteTemplate
from tests.store.building import NOW, delivery, put, run

COUNT = text("SELECT count(*) FROM deliveries")
MAKE = text("INSERT INTO logins VALUES (1)")


class Counting(ThreadPoolExecutor):
    """Counts the visits to its one thread."""

    def __init__(self) -> None:
        super().__init__(1)
        self.visits = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.visits += 1
        return super().submit(fn, *args, **kwargs)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """Open a database with a table of its own."""
    opened = Database(database_url)
    await opened.write(lambda conn: conn.run_sync(_make_table))
    yield opened
    await opened.close()


def _make_table(connection: Any) -> None:
    connection.execute(text("CREATE TABLE logins (id INTEGER)"))


async def rows(database: Database) -> int:
    return int(await database.read(lambda conn: conn.scalar(text("SELECT count(*) FROM logins"))))


async def test_a_transaction_of_many_statements_visits_its_thread_once(
    sqlite_template: SqliteTemplate, tmp_path: Any
) -> None:
    counting = Counting()
    store = await Store.open(sqlite_template.fresh(tmp_path), executor=counting)
    try:
        for step in (
            lambda: store.deliveries.put(delivery("g")),
            lambda: store.deliveries.claim("me", NOW, lease_s=30, limit=1),
            lambda: put(store, run("a"), run("b")),
            lambda: store.runs.claim("me", NOW, lease_s=30, limit=9),
            lambda: store.checks.claim("me", NOW, lease_s=30, limit=9),
            lambda: store.due(NOW),
        ):
            before = counting.visits
            await step()
            assert counting.visits == before + 1
    finally:
        await store.close()


async def test_work_that_waits_for_something_else_writes_nothing(database: Database) -> None:
    async def work(conn: DbConnection) -> None:
        await conn.execute(MAKE)
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="waits for something else"):
        await database.write(work)
    assert await rows(database) == 0


async def test_rows_that_are_read_after_the_end_are_refused(database: Database) -> None:
    with pytest.raises(RuntimeError, match="read after its end"):
        await database.read(lambda conn: conn.execute(COUNT))


async def test_an_error_writes_nothing_and_the_next_transaction_goes_on(database: Database) -> None:
    async def work(conn: DbConnection) -> None:
        await conn.execute(MAKE)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await database.write(work)
    await database.write(lambda conn: conn.execute(MAKE))
    assert await rows(database) == 1


async def test_what_has_begun_ends_though_its_caller_is_cancelled(database: Database) -> None:
    begun, go_on = threading.Event(), threading.Event()

    async def work(conn: DbConnection) -> None:
        begun.set()
        go_on.wait()
        await conn.execute(MAKE)

    writing = asyncio.create_task(database.write(work))
    await asyncio.to_thread(begun.wait)
    writing.cancel()
    await asyncio.wait([writing])
    assert writing.cancelled()
    go_on.set()
    await database.write(lambda conn: conn.execute(MAKE))
    assert await rows(database) == 2


async def test_a_reader_sees_one_snapshot_beside_the_writer(database: Database) -> None:
    begun, go_on = threading.Event(), threading.Event()
    count = text("SELECT count(*) FROM logins")

    async def work(conn: DbConnection) -> tuple[int, int]:
        first = await conn.scalar(count)
        begun.set()
        go_on.wait()
        return first, await conn.scalar(count)

    reading = asyncio.create_task(database.read(work))
    await asyncio.to_thread(begun.wait)
    await database.write(lambda conn: conn.execute(MAKE))
    go_on.set()
    assert await reading == (0, 0)
    assert await rows(database) == 1
