"""A door for each test: on SQLite, and on PostgreSQL where the database may matter."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.databases import SqliteTemplate
from tests.web.door import Door, open_door


@pytest.fixture
async def door(tmp_path: Path, sqlite_template: SqliteTemplate) -> AsyncIterator[Door]:
    """Open a door on a fresh SQLite file."""
    async with open_door(tmp_path, sqlite_template.fresh(tmp_path)) as opened:
        yield opened


@pytest.fixture
async def either_door(tmp_path: Path, database_url: str) -> AsyncIterator[Door]:
    """Open a door once on each database."""
    async with open_door(tmp_path, database_url) as opened:
        yield opened
