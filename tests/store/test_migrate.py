"""Migrations: the schema that the tables say, made once whoever boots at the same time."""

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from bot.store import Store, migrate
from bot.store.tables import pauses
from tests.conftest import BOTH
from tests.databases import PostgresServer

# The processes are copies of one: they begin in the same moment, and modules are loaded once.
_BOOT = """
import alembic.command, asyncio, os, sys
from bot.store import migrate

url, count = sys.argv[1], int(sys.argv[2])
booting = []
while len(booting) < count:
    if not (pid := os.fork()):
        asyncio.run(migrate(url))
        os._exit(0)
    booting.append(pid)
sys.exit(max(os.waitpid(pid, 0)[1] for pid in booting) != 0)
"""


@pytest.fixture(params=BOTH)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a database without a schema."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.empty()


def _differences(connection: Connection) -> list[object]:
    return list(compare_metadata(MigrationContext.configure(connection), pauses.metadata))


@pytest.mark.both_databases
async def test_the_newest_migration_is_what_the_tables_say(store: Store) -> None:
    assert await store._db.read(lambda conn: conn.run_sync(_differences)) == []


async def test_a_database_is_migrated_after_the_migration_and_not_before(empty_url: str) -> None:
    store = await Store.open(empty_url)
    assert not await store.health.migrated()
    await migrate(empty_url)
    assert await store.health.migrated()
    await migrate(empty_url)
    await store.close()


def _boot_at_once(url: str, count: int) -> subprocess.CompletedProcess[bytes]:
    """Run processes that migrate; the code is 0 if each one's is."""
    command = [sys.executable, "-c", _BOOT, url, str(count)]
    return subprocess.run(command, capture_output=True, check=False)


async def test_processes_that_boot_at_once_make_one_schema(empty_url: str) -> None:
    booted = _boot_at_once(empty_url, 3)
    assert booted.returncode == 0, booted.stderr
    store = await Store.open(empty_url)
    assert await store.health.migrated()
    await store.close()
