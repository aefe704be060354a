"""A world for each test: on SQLite, and on PostgreSQL where the database may matter."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import stamina

from tests.databases import SqliteTemplate
from tests.e2e.world import World, open_world


@pytest.fixture(autouse=True)
def _retries_do_not_wait() -> Iterator[None]:
    """Let calls be tried again at once: those waits are of the machine's time, not the world's."""
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


@pytest.fixture
async def world(tmp_path: Path, sqlite_template: SqliteTemplate) -> AsyncIterator[World]:
    """Open a world on a fresh SQLite file."""
    async with open_world(tmp_path, sqlite_template.fresh(tmp_path)) as opened:
        yield opened


@pytest.fixture
async def either_world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """Open a world once on each database."""
    async with open_world(tmp_path, database_url) as opened:
        yield opened
