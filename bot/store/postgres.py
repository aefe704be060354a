"""PostgreSQL: a few connections, on which statements that come again go to the driver directly.

A connection is used again by the next transaction, the one that was used last first: it has most
statements prepared. One that failed at anything but a statement is closed.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, CursorResult, Engine, Executable, ScalarResult
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from bot.store.direct import Direct, DirectRows, known_statement

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

Answer = TypeVar("Answer")
Found = TypeVar("Found")
Rows = CursorResult[*tuple[Any, ...]] | DirectRows

# Connections of one process; 100 is PostgreSQL's default limit for all replicas together.
_POOL = 8
_PATIENCE_S = 30.0  # of a read that waits for a connection
_PREPARED = 500  # of a connection; the server keeps some ten kB for each


class PostgresConnection:
    """A connection to the work of a transaction."""

    def __init__(self, connection: "AsyncConnection", driver: Any) -> None:
        self._connection = connection
        self._driver = driver
        self._prepared: dict[str, Any] = {}

    @property
    def dialect(self) -> Dialect:
        """Return the database's dialect."""
        return self._connection.dialect

    @property
    def sync_engine(self) -> Engine:
        """Return the engine that the connection is of."""
        return self._connection.sync_engine

    @property
    def is_open(self) -> bool:
        """Return True while the server can be asked."""
        return not self._driver.is_closed()

    @property
    def is_usable(self) -> bool:
        """Return True if another transaction can begin on it."""
        return self.is_open and not self._driver.is_in_transaction()

    async def execute(self, statement: Executable, parameters: Any = None) -> Rows:
        """Execute a statement; its rows must be read inside the transaction."""
        given = parameters or {}
        known = known_statement(statement, given, self._connection.dialect)
        if known is None:
            return await self._connection.execute(statement, parameters)
        try:
            return await self._directly(known, given)
        except _errors() as error:
            raise self._translated(error, known.sql) from error

    async def scalar(self, statement: Executable, parameters: Any = None) -> Any:
        """Return the first column of the first row, None without a row."""
        return (await self.execute(statement, parameters)).scalar()

    async def scalars(self, statement: Executable, parameters: Any = None) -> ScalarResult[Any]:
        """Return the first column of each row."""
        return (await self.execute(statement, parameters)).scalars()

    async def run_sync(self, work: Callable[[Connection], Found]) -> Found:
        """Give SQLAlchemy's connection to work that does not await."""
        return await self._connection.run_sync(work)

    async def begin(self) -> None:
        """Begin a transaction."""
        await self._control("BEGIN")

    async def commit(self) -> None:
        """Commit the transaction."""
        await self._control("COMMIT")

    async def roll_back(self) -> None:
        """Roll the transaction back; the server does if the connection is lost."""
        if self.is_open:
            with suppress(DBAPIError, OSError):  # what came before it is the error to tell
                await self._control("ROLLBACK")

    async def forget(self) -> None:
        """End what SQLAlchemy takes for a transaction; it commits nothing by itself."""
        if self._connection.in_transaction():
            await self._connection.rollback()

    async def close(self) -> None:
        """Close the connection; the server rolls back."""
        self._driver.terminate()
        await self._connection.close()

    async def _control(self, sql: str) -> None:
        try:
            await self._driver.execute(sql)
        except _errors() as error:
            raise self._translated(error, sql) from error

    async def _directly(self, known: Direct, given: Any) -> DirectRows:
        statement = self._prepared.get(known.sql)
        if statement is None:
            if len(self._prepared) >= _PREPARED:
                self._prepared.clear()
            statement = self._prepared[known.sql] = await self._driver.prepare(known.sql)
        if isinstance(given, Mapping):
            rows = await statement.fetch(*known.parameters(given))
            return DirectRows(known.columns, rows, _changed(statement.get_statusmsg()))
        many = [known.parameters(row) for row in given]
        if known.columns is None:
            await statement.executemany(many)
            return DirectRows(None, (), -1)
        return DirectRows(known.columns, await statement.fetchmany(many), -1)

    def _translated(self, error: Exception, sql: str) -> DBAPIError:
        """Return SQLAlchemy's error for one of the driver's, without values of rows."""
        self._prepared.clear()  # a statement may be outdated: the tables were changed
        base: Any = self._connection.dialect.dbapi
        kind = base.InterfaceError if not hasattr(error, "sqlstate") else base.Error
        orig = kind(str(error.args[0]) if error.args else type(error).__name__, error)
        closed = self._driver.is_closed()
        made = DBAPIError.instance(sql, None, orig, base.Error, connection_invalidated=closed)
        assert isinstance(made, DBAPIError)
        return made


def _errors() -> tuple[type[Exception], ...]:
    """Return the driver's own errors; those of the network are raised as they are."""
    import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415  an extra

    return asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError


def _changed(status: str) -> int:
    """Return how many rows a statement changed, by the server's words: ``INSERT 0 1``."""
    number = status.rpartition(" ")[2]
    return int(number) if number.isdecimal() else -1


Work = Callable[[PostgresConnection], Coroutine[Any, Any, Answer]]


class PostgresPool:
    """Connections to a server."""

    def __init__(self, url: str) -> None:
        # It brings all of SQLAlchemy's ORM along: a sixth of what a process on SQLite would load.
        from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415

        # Transactions are begun here; SQLAlchemy begins none.
        self._engine = create_async_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        self._free = asyncio.Semaphore(_POOL)
        self._writers = asyncio.Semaphore(_POOL)  # so that a read waits for few writes
        self._open: set[PostgresConnection] = set()
        self._idle: list[PostgresConnection] = []

    async def read(self, work: Work[Answer]) -> Answer:
        """Run ``work`` on a connection; each statement sees what is committed then."""
        await self._turn()
        try:
            return await self._with_connection(work)
        finally:
            self._free.release()

    async def write(self, work: Work[Answer]) -> Answer:
        """Run ``work`` in a transaction and commit it."""
        async with self._writers:
            return await self.read(lambda conn: _in_transaction(conn, work))

    async def close(self) -> None:
        """Close the connections."""
        self._idle.clear()
        while self._open:
            await self._open.pop().close()
        await self._engine.dispose()

    async def _turn(self) -> None:
        if not self._free.locked():  # the usual case, without a timer
            await self._free.acquire()
            return
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._free.acquire()
        except TimeoutError as error:
            raise TimeoutError("no connection became free") from error

    async def _with_connection(self, work: Work[Answer]) -> Answer:
        connection = await self._take()
        try:
            answer = await work(connection)
            await connection.forget()
        except Exception:
            if connection.is_usable:
                await connection.forget()
                self._idle.append(connection)
            else:
                await self._close(connection)
            raise
        except BaseException:  # the caller was cancelled, perhaps within a statement
            await self._close(connection)
            raise
        self._idle.append(connection)
        return answer

    async def _take(self) -> PostgresConnection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            await self._close(connection)
        made = await self._engine.connect()
        driver = (await made.get_raw_connection()).driver_connection
        connection = PostgresConnection(made, driver)
        self._open.add(connection)
        return connection

    async def _close(self, connection: PostgresConnection) -> None:
        self._open.discard(connection)
        await connection.close()


async def _in_transaction(conn: PostgresConnection, work: Work[Answer]) -> Answer:
    await conn.begin()
    try:
        answer = await work(conn)
    except Exception:
        await conn.roll_back()
        raise
    await conn.commit()
    return answer
