"""Engines and transactions: one writer beside readers on SQLite, a pool on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from bot.ports.wake import Wake
from bot.store.trouble import TroubleLog, is_outside, sqlstate

Answer = TypeVar("Answer")
NewId = Callable[[datetime], str]
Insert = postgresql.Insert | sqlite.Insert

# How long a statement waits for another process that writes to the same SQLite file.
# GitHub gives a webhook up after 10 s.
_BUSY_MS = 5_000
_READERS = 4
# Connections of one process; 100 is PostgreSQL's default limit for all replicas together.
_POOL = 8
# A deadlock's victim is run again: the other one has gone on by then.
_TRIES = 5
_DEADLOCK, _SERIALIZATION = "40P01", "40001"


def refusals() -> tuple[type[Exception], ...]:
    """Return the errors of opening an unreachable database, or one with a wrong password."""
    try:
        import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415  an extra
    except ModuleNotFoundError:
        return (DBAPIError,)
    return (DBAPIError, asyncpg.PostgresError)


def is_sqlite(url: str) -> bool:
    """Return True if the database is an SQLite file."""
    return make_url(url).get_backend_name() == "sqlite"


def sqlite_engine(url: str, *, begin: str, connections: int) -> AsyncEngine:
    """Return an engine whose transactions open with ``begin``.

    The driver opens none by itself (``isolation_level`` None): it would open too late for a
    reader's snapshot, and as a reader before a write.
    """
    engine = create_async_engine(
        url, pool_size=connections, max_overflow=0, pool_reset_on_return=None, pool_timeout=30
    )

    def on_connect(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (f"busy_timeout={_BUSY_MS}", "synchronous=FULL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine.sync_engine, "connect", on_connect)
    event.listen(engine.sync_engine, "begin", on_begin)
    return engine


def insert(conn: AsyncConnection, table: Table) -> Insert:
    """Return an insert that knows ``ON CONFLICT``, in the database's own dialect."""
    return _insert(table, postgres=is_postgres(conn))


@cache
def _insert(table: Table, *, postgres: bool) -> Insert:
    return postgresql.insert(table) if postgres else sqlite.insert(table)


def is_postgres(conn: AsyncConnection) -> bool:
    """Return True if the database can lock single rows."""
    return conn.dialect.name == "postgresql"


class Database:
    """Opens transactions; the one place where database errors become ``DatabaseTrouble``."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.trouble = TroubleLog()
        self._unreachable = refusals()
        self.transactions = 0
        """Write transactions committed so far."""
        if is_sqlite(url):
            self._writer = sqlite_engine(url, begin="BEGIN IMMEDIATE", connections=1)
            self._reader = sqlite_engine(url, begin="BEGIN", connections=_READERS)
            self._turn: asyncio.Semaphore = asyncio.Semaphore(1)
        else:
            self._writer = create_async_engine(url, pool_size=_POOL, max_overflow=0)
            self._reader = self._writer.execution_options(isolation_level="AUTOCOMMIT")
            self._turn = asyncio.Semaphore(_POOL)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise ``DatabaseTrouble`` for a database that can't be reached, or takes no writes."""
        try:
            yield
        except (OperationalError, InterfaceError, PoolTimeoutError, OSError) as error:
            raise self.trouble.failed(error) from error
        except DBAPIError as error:
            if not is_outside(error):
                raise
            raise self.trouble.failed(error) from error
        except self._unreachable as error:  # the driver's own, of a connection that failed
            raise self.trouble.failed(error) from error

    async def close(self) -> None:
        """Close every connection."""
        await self._writer.dispose()
        await self._reader.dispose()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Open a connection for reading; on SQLite one snapshot."""
        with self._translated():
            async with self._reader.connect() as conn:
                yield conn
        self.trouble.worked()

    async def write(self, work: Callable[[AsyncConnection], Awaitable[Answer]]) -> Answer:
        """Run ``work`` in one transaction and commit; a deadlock's victim is run again."""
        for tries_after in reversed(range(_TRIES)):
            try:
                with self._translated():
                    return await self._once(work)
            except DBAPIError as error:
                if tries_after == 0 or sqlstate(error.orig) not in {_DEADLOCK, _SERIALIZATION}:
                    raise
        raise AssertionError

    async def _once(self, work: Callable[[AsyncConnection], Awaitable[Answer]]) -> Answer:
        async with self._turn, self._writer.begin() as conn:
            answer = await work(conn)
        self.transactions += 1
        self.trouble.wrote()
        return answer


class Part:
    """A part of the store: the methods on one table and the rows that belong to it."""

    def __init__(self, db: Database, wake: Wake, new_id: NewId) -> None:
        self._db = db
        self._wake = wake
        self._new_id = new_id
