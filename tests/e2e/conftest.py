"""A world for each test."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import stamina
import structlog

from tests.databases import SqliteTemplate
from tests.e2e.cluster import ONE_TRY, Cluster
from tests.e2e.world import World, open_world
from tests.submitter.faulty_submitter import FaultySubmitter


@pytest.fixture(autouse=True, scope="session")
def _plain_tracebacks() -> None:
    """Log an error as it is: a traceback with colours and locals takes most of a second."""
    *before, _ = structlog.get_config()["processors"]
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*before, plain])


@pytest.fixture(autouse=True)
def _retries_do_not_wait() -> Iterator[None]:
    """Let calls be tried again at once: those waits are of the machine's time, not the world's."""
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


@pytest.fixture
async def world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """Open a world on a fresh database."""
    async with open_world(tmp_path, database_url) as opened:
        yield opened


@pytest.fixture
async def cluster(tmp_path: Path, sqlite_template: SqliteTemplate) -> AsyncIterator[Cluster]:
    """Open a world with a submitter; its RayJob suite is not tried again by itself."""
    url = sqlite_template.fresh(tmp_path)
    async with (
        FaultySubmitter() as server,
        open_world(tmp_path, url, submitter_url=server.url) as world,
    ):
        world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": ONE_TRY})
        await world.settle()
        world.github.calls.clear()
        yield Cluster(world, server)
