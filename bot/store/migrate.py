"""Brings a database to the newest schema; two processes that boot at once take turns."""

import asyncio
import fcntl
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url

from bot.ports.errors import DatabaseTrouble
from bot.store.database import DbConnection, is_sqlite, refusals
from bot.store.sqlite import SqliteFile
from bot.store.trouble import problem_of, why_of

if TYPE_CHECKING:
    from alembic.config import Config

_SCRIPTS = Path(__file__).with_name("migrations")
# Any number, as long as every process of this program takes the same.
_BOOT_LOCK = 0x61736365


def _config() -> "Config":
    from alembic.config import Config  # noqa: PLC0415  who migrates nothing need not wait for it

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    return config


@cache
def head_revision() -> str | None:
    """Return the newest schema's revision; read once."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415  as above

    return ScriptDirectory.from_config(_config()).get_current_head()


async def revision(conn: DbConnection) -> str | None:
    """Return the database's revision; None before the first migration."""
    return await conn.run_sync(_revision)


def _revision(connection: Connection) -> str | None:
    from alembic.migration import MigrationContext  # noqa: PLC0415  as above

    return MigrationContext.configure(connection).get_current_revision()


async def migrate(url: str) -> None:
    """Bring the database to the newest schema, however many processes do so at once.

    Raises ``DatabaseTrouble`` for a database that can't be opened or reached.
    """
    refused: tuple[type[Exception], ...] = (OSError, sqlite3.Error, *refusals(url))
    try:
        await (_migrate_sqlite(url) if is_sqlite(url) else _migrate_postgres(url))
    except refused as error:
        raise DatabaseTrouble(problem_of(error), why_of(error)) from error


def _upgrade(connection: Connection) -> None:
    """Run the migrations that the database lacks; mostly there are none."""
    from alembic import command  # noqa: PLC0415  as above

    if _revision(connection) != head_revision():
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


@asynccontextmanager
async def _file_lock(path: Path) -> AsyncIterator[None]:
    """Hold an advisory lock; it goes with the process, the empty file stays.

    SQLite's own locks don't do: switching to WAL fails at once, whatever the busy timeout, when
    another process is at it.
    """
    with path.open("ab") as file:
        await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
        yield


async def _migrate_sqlite(url: str) -> None:
    database = Path(make_url(url).database or "")
    async with _file_lock(database.with_name(database.name + ".lock")):
        await asyncio.to_thread(_switch_to_wal, database)
        _keep_private(database)
        file = SqliteFile(url)
        try:
            await file.write(lambda conn: conn.run_sync(_upgrade))
        finally:
            await file.close()


def _switch_to_wal(database: Path) -> None:
    """Let readers go on beside the writer; the file remembers it."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def _keep_private(database: Path) -> None:
    """Let nobody else read the files: a restored backup may have other modes."""
    for suffix in ("", "-wal", "-shm"):
        # Another process may end, and take its files along; another user's stay as they are.
        with suppress(FileNotFoundError, PermissionError):
            Path(f"{database}{suffix}").chmod(0o600)


async def _migrate_postgres(url: str) -> None:
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415  only for a server

    engine = create_async_engine(url)
    try:
        async with engine.begin() as conn:
            await conn.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _BOOT_LOCK})
            await conn.run_sync(_upgrade)
    finally:
        await engine.dispose()
