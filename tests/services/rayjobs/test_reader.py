"""A watch that is left, whatever its stream does then."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import structlog

from bot.core.rayjob.resume import Resume
from bot.services.rayjobs.reader import RayJobReader
from bot.sim import ManualClock


class SlowToClose:
    """A submitter whose stream says nothing, and takes its time when it is closed."""

    def __init__(self) -> None:
        self.opened, self.may_close = asyncio.Event(), asyncio.Event()

    async def watch(self, job_id: str, *, after: int) -> AsyncIterator[bytes]:
        try:
            self.opened.set()
            await asyncio.Event().wait()
            yield job_id.encode()
        finally:
            await self.may_close.wait()


async def test_a_silent_stream_is_left_once_although_it_takes_its_time_to_close() -> None:
    clock, submitter = ManualClock(), SlowToClose()
    job = SimpleNamespace(job_id="rj", confirmed=True, final="SUCCEEDED", final_from="state")
    row: Any = SimpleNamespace(clock=clock, log=structlog.get_logger(), job=job, ended=True)
    claimed: Any = SimpleNamespace(run=None, repo=None)
    job_log: Any = SimpleNamespace(resume=Resume(), lines=0)
    reader = RayJobReader(claimed, row, job_log, submitter)  # type: ignore[arg-type]
    watching = asyncio.create_task(reader._watch())
    await submitter.opened.wait()
    await clock.advance(600)
    for _ in range(3):
        await reader.heed_silence()
        await asyncio.sleep(0)
    submitter.may_close.set()
    await asyncio.wait_for(watching, 5)
