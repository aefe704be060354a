"""SQLite on the loop's own thread: handing a world's many short statements over costs more."""

import asyncio
import collections
import sqlite3
from collections.abc import Callable, Generator
from typing import Any

import aiosqlite
from sqlalchemy.dialects.sqlite.aiosqlite import (
    AsyncAdapt_aiosqlite_connection,
    AsyncAdapt_aiosqlite_cursor,
)
from sqlalchemy.util import EMPTY_DICT

_AGAIN_S = 0.001
_TRIES = 10_000  # ten seconds: how long the bot waits for another writer of the file
_NO_WAIT = "PRAGMA busy_timeout=0"  # SQLite's own wait would stop the writer it waits for


class _NoThread:
    """Stands for the queue to the driver's thread, and does the work at once."""

    def put_nowait(self, job: tuple[asyncio.Future[Any] | None, Callable[[], Any]]) -> None:
        """Connect or stop."""
        future, work = job
        result = work()
        if future is not None:  # None: nobody closed the connection, and the loop may be gone
            future.set_result(result)


class _Driver(aiosqlite.Connection):
    """The driver's connection without its thread."""

    def __init__(self, *where: Any, **how: Any) -> None:
        super().__init__(lambda: sqlite3.connect(*where, **how), iter_chunk_size=64)
        self._tx: Any = _NoThread()

    def __await__(self) -> Generator[Any, None, aiosqlite.Connection]:
        return self._connect().__await__()

    async def _execute(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(0)  # as the thread would: others may go on before a commit
        return await _until_free(fn, *args, **kwargs)


class _Cursor(AsyncAdapt_aiosqlite_cursor):
    """Executes and fetches in one step instead of four."""

    __slots__ = ()
    _awaitable_cursor_close = False

    def __init__(self, connection: AsyncAdapt_aiosqlite_connection) -> None:
        self._adapt_connection = connection
        self._connection = connection._connection
        self._cursor: Any = connection._connection._conn.cursor()
        self._rows = collections.deque()
        self._soft_closed_memoized = EMPTY_DICT

    async def _execute_async(self, operation: str, parameters: Any) -> Any:
        if operation.startswith("BEGIN"):
            await asyncio.sleep(0)  # as the thread would: others may begin first
        elif operation.startswith("PRAGMA busy_timeout"):
            operation = _NO_WAIT
        result = await _until_free(self._cursor.execute, operation, parameters or ())
        if self._cursor.description:
            self._rows = collections.deque(self._cursor.fetchall())
        return result

    async def _executemany_async(self, operation: str, seq_of_parameters: Any) -> Any:
        return await _until_free(self._cursor.executemany, operation, seq_of_parameters)


class AtOnce(AsyncAdapt_aiosqlite_connection):
    """A connection, as SQLAlchemy wants one, that needs no thread."""

    __slots__ = ()
    _cursor_cls: Any = _Cursor

    @classmethod
    async def open(cls, dbapi: Any, *where: Any, **how: Any) -> "AtOnce":
        """Connect to a file."""
        return cls(dbapi, await _Driver(*where, **how))  # type: ignore[arg-type]


async def _until_free(work: Any, *args: Any, **more: Any) -> Any:
    """Do it as soon as nobody else writes to the file."""
    for _ in range(_TRIES):
        try:
            return work(*args, **more)
        except sqlite3.OperationalError as error:
            if "database is locked" not in str(error):
                raise
        await asyncio.sleep(_AGAIN_S)
    return work(*args, **more)
