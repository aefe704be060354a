"""One RayJob from its first event to its last, over everything that goes wrong in between."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.databases import SqliteTemplate
from tests.services.following import JOB, World, digest_of, following
from tests.submitter.faulty import Event, final, log, status

OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 3; 61.28 GiB total)"
LINES: list[Event] = [log("starting"), log("step one"), log(OOM), log("bye")]
TEXT = b"starting\nstep one\n" + OOM.encode() + b"\nbye\n"


@pytest.fixture
async def world(sqlite_template: SqliteTemplate, tmp_path: Path) -> AsyncIterator[World]:
    async with following(sqlite_template.fresh(tmp_path), tmp_path) as made:
        yield made


async def test_a_job_is_read_to_its_end_into_row_file_and_digest(world: World) -> None:
    world.server.add([*LINES, final("SUCCEEDED", "fine")])
    await world.seen()
    row = await world.follow()
    assert (row.final, row.final_from, row.message) == ("SUCCEEDED", "watch", "fine")
    assert row.complete
    assert await world.log_text() == TEXT + b"[rayjob final] SUCCEEDED fine\n"
    assert row.lines == 5
    assert row.digest == digest_of(await world.log_text())
    assert row.last_line_at == world.clock.now()
    assert await world.is_poked()


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
