"""SQLite: each transaction is one visit to a thread, whatever it executes there.

The loop never waits for the disk, and hands a transaction over once instead of each statement.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import (
    Connection,
    CursorResult,
    Engine,
    Executable,
    ScalarResult,
    create_engine,
)
from sqlalchemy.engine import Dialect, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool
from sqlalchemy.sql import Insert

from bot.store.direct import Direct, DirectRows, directly, known_statement, shape_of

Answer = TypeVar("Answer")
Found = TypeVar("Found")
Rows = CursorResult[*tuple[Any, ...]] | DirectRows

# How long a transaction waits for another process that writes to the same file.
# GitHub gives a webhook up after 10 s.
_BUSY_S = 5
_READERS = 4
_PRAGMAS = ("synchronous=FULL", "foreign_keys=ON")


def _engine(url: str) -> Engine:
    """Return an engine whose connections stay open until they are closed, and begin nothing.

    The driver opens no transaction by itself (``isolation_level`` None): it would open too late
    for a reader's snapshot, and as a reader before a write.
    """
    how = {"isolation_level": None, "check_same_thread": False, "timeout": _BUSY_S}
    named = make_url(url).set(drivername="sqlite+pysqlite")
    return create_engine(named, poolclass=NullPool, pool_reset_on_return=None, connect_args=how)


def _connect(engine: Engine) -> Connection:
    connection = engine.connect()
    driver: Any = connection.connection.dbapi_connection
    for pragma in _PRAGMAS:
        driver.execute(f"PRAGMA {pragma}")
    return connection


class SqliteConnection:
    """A connection to its transaction's work: what it is asked is answered at once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def dialect(self) -> Dialect:
        """Return the database's dialect."""
        return self._connection.dialect

    @property
    def sync_engine(self) -> Engine:
        """Return the engine that the connection is of."""
        return self._connection.engine

    async def execute(self, statement: Executable, parameters: Any = None) -> Rows:
        """Execute a statement; its rows must be read inside the transaction."""
        found = self._found(statement, parameters or {})
        return self._connection.execute(statement, parameters) if found is None else found

    async def scalar(self, statement: Executable, parameters: Any = None) -> Any:
        """Return the first column of the first row, None without a row."""
        return (await self.execute(statement, parameters)).scalar()

    async def scalars(self, statement: Executable, parameters: Any = None) -> ScalarResult[Any]:
        """Return the first column of each row."""
        return (await self.execute(statement, parameters)).scalars()

    def execute_each(self, statement: Insert, rows: Sequence[dict[str, Any]]) -> list[int]:
        """Execute a statement for each row; return how many rows it changed each time."""
        known = directly(statement, shape_of(rows[0]), self.dialect)
        assert known is not None  # it is a plain one
        with self._driver(known) as driver:
            return [driver.execute(known.sql, known.parameters(row)).rowcount for row in rows]

    def _found(self, statement: Executable, given: Any) -> DirectRows | None:
        """Execute a statement that is kept; None: SQLAlchemy has to."""
        known = known_statement(statement, given, self.dialect)
        if known is None or (known.columns and not isinstance(given, Mapping)):
            return None
        with self._driver(known) as driver:
            return known.execute(driver, given)

    @contextmanager
    def _driver(self, known: Direct) -> Iterator[Any]:
        driver: Any = self._connection.connection.dbapi_connection
        try:
            yield driver.cursor()
        except sqlite3.Error as error:
            raise DBAPIError.instance(known.sql, None, error, sqlite3.Error) from error

    async def run_sync(self, work: Callable[[Connection], Found]) -> Found:
        """Give the connection to work that does not await."""
        return work(self._connection)


class _Lane:
    """Threads that transactions of one kind take turns on, each with a connection to itself."""

    def __init__(self, engine: Engine, begin: str, threads: Executor) -> None:
        self._engine = engine
        self._begin = begin
        self._threads = threads
        self._free: list[Connection] = []  # never more than there are threads

    async def run(self, work: Callable[[SqliteConnection], Coroutine[Any, Any, Answer]]) -> Answer:
        """Run ``work`` in a transaction; one that has begun goes on if its caller is cancelled."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._transaction, work)

    def _transaction(
        self, work: Callable[[SqliteConnection], Coroutine[Any, Any, Answer]]
    ) -> Answer:
        connection = self._free.pop() if self._free else _connect(self._engine)
        driver: Any = connection.connection.dbapi_connection
        try:
            driver.execute(self._begin)
            with connection.begin():
                return _finish(work(SqliteConnection(connection)))
        finally:
            if driver.in_transaction or connection.invalidated:  # not even the rollback worked
                connection.close()
            else:
                self._free.append(connection)

    async def close(self) -> None:
        """Let the transactions that have begun end, then close the connections."""
        await asyncio.to_thread(self._threads.shutdown)
        while self._free:
            self._free.pop().close()


def _finish(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run work to its end at once: it awaits nothing but its connection."""
    try:
        work.send(None)
    except StopIteration as end:
        answer: Answer = end.value
    else:
        work.close()
        raise RuntimeError("a transaction waits for something else than its database")
    if isinstance(answer, CursorResult | DirectRows) and answer.returns_rows:
        raise RuntimeError("a transaction's rows are read after its end")
    return answer


class SqliteFile:
    """A file with one writer beside readers."""

    def __init__(self, url: str, executor: Executor | None = None) -> None:
        """Without an ``executor`` it has threads of its own."""
        engine = _engine(url)
        writer = executor or ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        readers = executor or ThreadPoolExecutor(_READERS, thread_name_prefix="sqlite-reader")
        self._writer = _Lane(engine, "BEGIN IMMEDIATE", writer)
        self._reader = _Lane(engine, "BEGIN", readers)
        self.read = self._reader.run
        self.write = self._writer.run

    async def close(self) -> None:
        """Close every connection."""
        await self._writer.close()
        await self._reader.close()
