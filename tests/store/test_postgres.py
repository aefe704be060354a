"""PostgreSQL's transactions: statements that come again go to the driver, and answer as before."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import (
    BindParameter,
    Boolean,
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError

from bot.ports.errors import DatabaseTrouble
from bot.store.columns import Counter, Time
from bot.store.database import Database, DbConnection
from bot.store.direct import DirectRows
from bot.store.postgres import PostgresPool
from tests.databases import PostgresServer

NOON = datetime(2026, 9, 1, 12, tzinfo=UTC)
things = Table(
    "things",
    MetaData(),
    Column("id", Counter, primary_key=True, autoincrement=True),
    Column("data", Text, key="what", unique=True),
    Column("at", Time()),
    Column("open", Boolean),
    Column("seen", Integer, server_default="7"),
)
OF_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
PUT = insert(things)
ROWS = select(things).order_by(things.c.id)
CHOSEN = select(things.c.what).where(things.c.id.in_(OF_IDS)).order_by(things.c.id)
SINCE = select(func.count(), func.max(things.c.at)).where(things.c.at >= bindparam("since"))
SEEN = update(things).where(things.c.id >= bindparam("least")).values(seen=things.c.seen + 1)
END = select(func.pg_terminate_backend(bindparam("pid", type_=Integer())))
RETURNING = PUT.returning(things.c.id, things.c.open)


@pytest.fixture
async def database(postgres_server: PostgresServer) -> AsyncIterator[Database]:
    """Open a database with a table of its own."""
    opened = Database(postgres_server.fresh())
    await opened.write(lambda conn: conn.run_sync(_make_table))
    yield opened
    await opened.close()


def _make_table(connection: Connection) -> None:
    things.metadata.drop_all(connection)  # of a test before this one
    things.metadata.create_all(connection)


async def test_statements_that_come_again_go_to_the_driver_and_answer_as_sqlalchemy(
    database: Database,
) -> None:
    async def work(conn: DbConnection) -> None:
        for what in "abcd":
            made = await conn.execute(PUT, {"what": what, "at": NOON, "open": what == "a"})
            assert made.rowcount == 1
        assert isinstance(made, DirectRows)
        first, again = await conn.execute(ROWS), await conn.execute(ROWS)
        rows = again.mappings().all()
        assert isinstance(again, DirectRows)
        assert [tuple(row.values()) for row in rows] == first.all()
        assert [rows[0][name] for name in ("what", "data", "at", "open")] == ["a", "a", NOON, True]
        for ids in ([1], [1, 2], [1, 2, 3], [2, 3, 4], []):
            assert (await conn.scalars(CHOSEN, {"ids": ids})).all() == ["abcd"[n - 1] for n in ids]
        for _ in range(2):
            assert (await conn.execute(SINCE, {"since": NOON})).one() == (4, NOON)
            assert (await conn.execute(SEEN, {"least": 3})).rowcount == 2
        for n in range(2):
            many = [{"what": f"{n}{m}", "at": None, "open": m == 1} for m in range(2)]
            made = await conn.execute(RETURNING, many)
            assert [tuple(row) for row in made] == [(5 + 4 * n, False), (6 + 4 * n, True)]
            await conn.execute(PUT, [{"what": f"{n}x", "at": NOON}, {"what": f"{n}y", "at": NOON}])
        assert await conn.scalar(select(func.count()).select_from(things)) == 12

    async with asyncio.timeout(30):
        await database.write(work)


async def test_an_error_names_its_state_but_no_value_and_writes_nothing(database: Database) -> None:
    async def work(conn: DbConnection) -> None:
        for what in ("a", "b", "hidden", "hidden"):
            await conn.execute(PUT, {"what": what})

    for _ in range(2):
        with pytest.raises(DBAPIError) as caught:
            await database.write(work)
        assert getattr(caught.value.orig, "sqlstate", "") == "23505"
        assert "hidden" not in str(caught.value)
    assert (await database.read(_all)) == []
    assert len(_pool(database)._open) == 1


@pytest.mark.parametrize("how", ["write", "read"])
async def test_a_cancelled_transaction_writes_nothing_and_its_connection_is_closed(
    database: Database, how: str
) -> None:
    begun = asyncio.Event()

    async def work(conn: DbConnection) -> None:
        await conn.execute(ROWS if how == "read" else PUT)
        begun.set()
        await conn.execute(text("SELECT pg_sleep(60)"))

    [before] = _pool(database)._open
    running = asyncio.create_task(getattr(database, how)(work))
    async with asyncio.timeout(30):
        await begun.wait()
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert before not in _pool(database)._open
        assert (await database.read(_all)) == []


async def test_a_connection_that_the_server_closed_is_not_used_again(database: Database) -> None:
    [idle] = _pool(database)._idle
    idle._driver.terminate()
    assert (await database.read(_all)) == []
    assert idle not in _pool(database)._open


async def test_a_connection_that_the_server_ends_within_a_statement_is_not_used_again(
    database: Database,
) -> None:
    async def work(conn: DbConnection) -> None:
        own = await conn.scalar(text("SELECT pg_backend_pid()"))
        for pid in (0, own):
            await conn.execute(END, {"pid": pid})

    for run in (database.read, database.write):
        with pytest.raises(DatabaseTrouble):
            await run(work)
        assert (await database.read(_all)) == []


async def test_a_read_waits_behind_no_more_writes_than_there_are_connections(
    database: Database,
) -> None:
    order: list[str] = []

    async def write(conn: DbConnection) -> None:
        await conn.execute(ROWS)
        order.append("write")

    async def read(conn: DbConnection) -> None:
        await conn.execute(ROWS)
        order.append("read")

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for _ in range(40):
            group.create_task(database.write(write))
        await asyncio.sleep(0)
        group.create_task(database.read(read))
    assert order.index("read") < 24


async def _all(conn: DbConnection) -> list[Any]:
    return list((await conn.execute(ROWS)).all())


def _pool(database: Database) -> PostgresPool:
    assert isinstance(database._opened, PostgresPool)
    return database._opened
