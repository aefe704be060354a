"""How a RayJob stands is told once, in order, whoever says it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.databases import SqliteTemplate
from tests.services.rayjobs.following import JOB, World, following
from tests.submitter.faulty_submitter import final, status


@pytest.fixture
async def world(sqlite_template: SqliteTemplate, tmp_path: Path) -> AsyncIterator[World]:
    async with following(sqlite_template.fresh(tmp_path), tmp_path) as made:
        yield made


async def test_statuses_are_told_once_each(world: World) -> None:
    events = [
        status("PENDING", "Initializing", message="0/4 nodes"),
        status("RUNNING", "Running"),
        status("RUNNING", "Running", message="still"),
    ]
    world.server.add([*events, final("FAILED", "exit 1")])
    await world.seen()
    row = await world.follow()
    assert (row.status, row.deployment) == ("RUNNING", "Running")
    assert await world.texts() == [f"RayJob `{JOB}` Initializing", f"RayJob `{JOB}` Running"]
    assert b"deployment_status=Initializing 0/4 nodes\n" in await world.log_text()


async def test_states_that_a_stream_tells_late_are_no_news(world: World) -> None:
    """The stream begins with the job; its record may have been heard before."""
    events = [
        status("RUNNING", "Running"),
        status("PENDING", "New"),
        status("PENDING", "Initializing"),
        status("RUNNING", "Retrying"),
        status("PENDING", "New"),
        final("FAILED"),
    ]
    world.server.add(events)
    await world.seen()
    await world.follow()
    names = ("Running", "Retrying", "New")
    assert await world.texts() == [f"RayJob `{JOB}` {name}" for name in names]
