"""A server for each test: on SQLite, and on PostgreSQL where the database may matter."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.databases import SqliteTemplate
from tests.web.server import WebServer, open_server


@pytest.fixture
async def server(tmp_path: Path, sqlite_template: SqliteTemplate) -> AsyncIterator[WebServer]:
    """Open a server on a fresh SQLite file."""
    async with open_server(tmp_path, sqlite_template.fresh(tmp_path)) as opened:
        yield opened


@pytest.fixture
async def either_server(tmp_path: Path, database_url: str) -> AsyncIterator[WebServer]:
    """Open a server once on each database."""
    async with open_server(tmp_path, database_url) as opened:
        yield opened
