"""What a killed process left leased is freed when its successor starts.

A lock that ends with its process proves the predecessor dead: on SQLite that no other process
lives at all, on PostgreSQL that none of this name does.
"""

import asyncio
import fcntl
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Update, text, update
from sqlalchemy.engine import make_url

from bot.store.database import Database, DbConnection, is_sqlite
from bot.store.leases import FREE
from bot.store.tables import metadata

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_NAMES = 0x61736366  # the class of the locks on names; any number, the same in every process
# The server hears of a killed client within milliseconds.
_TRIES, _AGAIN_S = 5, 0.2
_LEASED = tuple(table for table in metadata.sorted_tables if "lease_owner" in table.c)


@asynccontextmanager
async def open_instance(db: Database, name: str) -> AsyncIterator[str]:
    """See ``Store.instance``."""
    owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    if is_sqlite(db.url):
        path = Path(make_url(db.url).database or "")
        with path.with_name(path.name + ".live").open("ab") as file:
            if _try_lock(file.fileno()):
                await _free(db, "")
            await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_SH)
            yield owner
        return
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415  only for a server

    engine = create_async_engine(db.url, isolation_level="AUTOCOMMIT")
    try:
        async with engine.connect() as conn:
            if name and await _is_mine(conn, name):
                await _free(db, f"{name}/")
                owner = f"{name}/{owner}"
            yield owner
    finally:
        await engine.dispose()


def _try_lock(file: int) -> bool:
    """Take the lock for oneself: each living process shares it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _is_mine(conn: "AsyncConnection", name: str) -> bool:
    """Take the lock on a name; False: another process of this name lives."""
    taking = text("SELECT pg_try_advisory_lock(:names, hashtext(:name))")
    for _ in range(_TRIES):
        if await conn.scalar(taking, {"names": _NAMES, "name": name}):
            return True
        await asyncio.sleep(_AGAIN_S)
    return False


async def _free(db: Database, owners: str) -> None:
    """Free the rows that owners with this beginning leased ("": any owner)."""

    async def work(conn: DbConnection) -> None:
        for statement in _freeing(owners):
            await conn.execute(statement)

    await db.write(work)


@cache
def _freeing(owners: str) -> tuple[Update, ...]:
    """Return the statements for one beginning: that of a process is always the same."""
    return tuple(
        update(table)
        .where(table.c.lease_owner != "", table.c.lease_owner.startswith(owners, autoescape=True))
        .values(FREE)
        for table in _LEASED
    )
