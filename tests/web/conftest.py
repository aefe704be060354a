"""A server for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.server import WebServer, open_server


@pytest.fixture
async def server(tmp_path: Path, database_url: str) -> AsyncIterator[WebServer]:
    """Open a server on a fresh database."""
    async with open_server(tmp_path, database_url) as opened:
        yield opened
