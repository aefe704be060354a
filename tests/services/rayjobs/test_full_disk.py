"""A follower whose disk has no more room: only the stored log is cut off, and that is said."""

import asyncio
import os
from collections.abc import AsyncIterator
from errno import ENOSPC
from io import FileIO
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.adapters.logs import StoredLog, StoredLogs
from bot.core.model.ids import RunId
from tests.databases import SqliteTemplate
from tests.services.rayjobs.following import HANG_S, World, digest_of, following
from tests.services.rayjobs.test_follower_restarts import (
    ALL,
    EVENTS,
    finish,
    stopped_half_way,
    until_saved,
)
from tests.submitter.faulty_submitter import Watch

FULL = "the log file can't be used: No space left on device"


class FullFile(FileIO):
    """A file without room, also for what its close would have to write, as on NFS."""

    def close(self) -> None:
        if not self.closed:
            super().close()
            raise OSError(ENOSPC, os.strerror(ENOSPC))


class FillingUp(StoredLog):
    """A log on a disk that has room for so many writes of it."""

    room = 0

    async def append(self, *texts: bytes) -> None:
        if self.room == 0:
            self._file.close()
            self._file = FullFile("/dev/full", "r+")
        self.room -= 1
        await super().append(*texts)


class FullDisk(StoredLogs):
    """Real files on a disk that has room for nothing, or for so many writes of each."""

    def __init__(self, folder: Path, *, room: int = 0) -> None:
        super().__init__(folder)
        self._room = room

    async def open(self, run_id: RunId, job_id: str, *, keep: int) -> StoredLog:
        opened = await super().open(run_id, job_id, keep=keep)
        file = FillingUp(opened._file, opened.length, self._limits)
        file.room = self._room
        return file


@pytest.fixture
async def world(sqlite_template: SqliteTemplate, tmp_path: Path) -> AsyncIterator[World]:
    async with following(sqlite_template.fresh(tmp_path), tmp_path) as made:
        yield made


async def test_a_full_disk_costs_the_file_and_not_the_digest(world: World) -> None:
    world.logs = FullDisk(world.folder)
    world.server.add(EVENTS)
    await world.seen()
    await finish(world, "only")
    row = await world.row()
    assert (row.final, row.complete, row.log_bytes) == ("FAILED", True, 0)
    assert row.digest == digest_of(ALL)
    assert (await world.texts()).count(f"its log is cut off: {FULL}") == 1


async def test_a_disk_that_fills_up_keeps_what_was_written_and_says_it_once(world: World) -> None:
    world.logs = FullDisk(world.folder, room=1)
    world.server.add(EVENTS).watches = [Watch(events=5, end="hang"), Watch()]
    await world.seen()
    with capture_logs() as said:
        async with world.follower() as follower, asyncio.timeout(HANG_S):
            await follower.step()
            await until_saved(world, 5)
            begun = await world.log_text()
            await follower.idle()
    row = await world.row()
    assert (row.final, row.complete, row.digest) == ("FAILED", True, digest_of(ALL))
    assert await world.log_text() == begun
    assert len(ALL) > len(begun) > 0
    told = [line for line in said if line["log_level"] in {"warning", "error"}]
    assert [(line["event"], line["why"]) for line in told] == [("a log can't be kept", FULL)]
    assert (await world.texts()).count(f"its log is cut off: {FULL}") == 1


async def test_after_a_full_disk_the_next_follower_reads_anew(world: World) -> None:
    good, world.logs = world.logs, FullDisk(world.folder)
    await stopped_half_way(world)
    row = await world.row()
    assert (row.lines, row.log_bytes, row.resume) == (5, 0, None)
    world.logs = good
    await finish(world, "next")
    row = await world.row()
    assert row.digest == digest_of(ALL)
    assert await world.log_text() == ALL
