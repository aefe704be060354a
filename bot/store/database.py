"""Engines and transactions: one writer beside readers on SQLite, a pool on PostgreSQL."""

import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any, Protocol, TypeVar

from sqlalchemy import (
    CompoundSelect,
    Connection,
    Engine,
    Executable,
    Row,
    ScalarResult,
    Select,
    Table,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from bot.ports.wake import Wake
from bot.store.postgres import PostgresPool
from bot.store.sqlite import Rows, SqliteFile
from bot.store.trouble import TroubleLog, is_outside, sqlstate

Answer = TypeVar("Answer")
Found = TypeVar("Found")
NewId = Callable[[datetime], str]
Insert = postgresql.Insert | sqlite.Insert
Query = Select[*tuple[Any, ...]] | CompoundSelect[*tuple[Any, ...]]
AnyRow = Row[*tuple[Any, ...]]

# A deadlock's victim is run again: the other one has gone on by then.
_TRIES = 5
_DEADLOCK, _SERIALIZATION = "40P01", "40001"


def refusals(url: str) -> tuple[type[Exception], ...]:
    """Return the errors of opening an unreachable database, or one with a wrong password."""
    if is_sqlite(url):
        return (DBAPIError, sqlite3.Error)
    try:
        import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415  an extra
    except ModuleNotFoundError:
        return (DBAPIError, sqlite3.Error)
    return (DBAPIError, sqlite3.Error, asyncpg.PostgresError)


def is_sqlite(url: str) -> bool:
    """Return True if the database is an SQLite file."""
    return make_url(url).get_backend_name() == "sqlite"


class DbConnection(Protocol):
    """A connection, as a transaction's work sees it."""

    @property
    def dialect(self) -> Dialect:
        """Return the database's dialect."""

    @property
    def sync_engine(self) -> Engine:
        """Return the engine that the connection is of."""

    async def execute(self, statement: Executable, parameters: Any = None) -> Rows:
        """Execute a statement; its rows must be read inside the transaction."""

    async def scalar(self, statement: Executable, parameters: Any = None) -> Any:
        """Return the first column of the first row, None without a row."""

    async def scalars(self, statement: Executable, parameters: Any = None) -> ScalarResult[Any]:
        """Return the first column of each row."""

    async def run_sync(self, work: Callable[[Connection], Found]) -> Found:
        """Give SQLAlchemy's connection to work that does not await."""


Work = Callable[[DbConnection], Coroutine[Any, Any, Answer]]


def insert(conn: DbConnection, table: Table) -> Insert:
    """Return an insert that knows ``ON CONFLICT``, in the database's own dialect."""
    return _insert(table, postgres=is_postgres(conn))


@cache
def _insert(table: Table, *, postgres: bool) -> Insert:
    return postgresql.insert(table) if postgres else sqlite.insert(table)


def insert_unless_there(conn: DbConnection, table: Table) -> Insert:
    """Return an insert that leaves a row as it is if it is there."""
    return _unless_there(insert(conn, table))


@cache
def _unless_there(query: Insert) -> Insert:
    return query.on_conflict_do_nothing()


def is_postgres(conn: DbConnection) -> bool:
    """Return True if the database can lock single rows."""
    return conn.dialect.name == "postgresql"


async def all_rows(
    conn: DbConnection, query: Select[*tuple[Any, ...]]
) -> tuple[Row[*tuple[Any, ...]], ...]:
    """Return the rows of a query."""
    return tuple(await conn.execute(query))


async def all_scalars(
    conn: DbConnection, query: Query, parameters: dict[str, Any] | None = None
) -> tuple[Any, ...]:
    """Return the first column of each row of a query."""
    return tuple(await conn.scalars(query, parameters))


class Database:
    """Runs transactions; the one place where database errors become ``DatabaseTrouble``."""

    def __init__(self, url: str, executor: Executor | None = None) -> None:
        """``executor`` runs SQLite's transactions; without one they have threads of their own."""
        self.url = url
        self.trouble = TroubleLog()
        self._unreachable = refusals(url)
        self.transactions = 0
        """Write transactions committed so far."""
        self._opened = SqliteFile(url, executor) if is_sqlite(url) else PostgresPool(url)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise ``DatabaseTrouble`` for a database that can't be reached, or takes no writes."""
        try:
            yield
        except (OperationalError, InterfaceError, OSError) as error:
            raise self.trouble.failed(error) from error
        except DBAPIError as error:
            if not is_outside(error):
                raise
            raise self.trouble.failed(error) from error
        except self._unreachable as error:  # the driver's own, of a connection that failed
            raise self.trouble.failed(error) from error

    async def close(self) -> None:
        """Close every connection."""
        await self._opened.close()

    async def read(self, work: Work[Answer]) -> Answer:
        """Run ``work`` that only reads; on SQLite it sees one snapshot."""
        with self._translated():
            answer = await self._opened.read(work)
        self.trouble.worked()
        return answer

    async def write(self, work: Work[Answer]) -> Answer:
        """Run ``work`` in one transaction and commit; a deadlock's victim is run again."""
        for tries_after in reversed(range(_TRIES)):
            try:
                with self._translated():
                    answer = await self._opened.write(work)
            except DBAPIError as error:
                if tries_after == 0 or sqlstate(error.orig) not in {_DEADLOCK, _SERIALIZATION}:
                    raise
            else:
                self.transactions += 1
                self.trouble.wrote()
                return answer
        raise AssertionError


class Part:
    """A part of the store: the methods on one table and the rows that belong to it."""

    def __init__(self, db: Database, wake: Wake, new_id: NewId) -> None:
        self._db = db
        self._wake = wake
        self._new_id = new_id
