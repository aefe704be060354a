"""Follows RayJobs: each has a lease and a task, and all tasks end with the follower."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Self

from bot.core.digest.result import Digest
from bot.ports.logs import LogFiles
from bot.ports.rayjobs import Submitter
from bot.ports.wake import Topic
from bot.services.rayjobs.digesters import Digesters
from bot.services.rayjobs.log import RayJobLog
from bot.services.rayjobs.reader import RayJobReader
from bot.services.rayjobs.row import LeaseLost, RayJobRow
from bot.services.workers import LEASE_S, Deps, Service
from bot.store.rayjobs import ClaimedRayJob
from bot.telemetry import get_log

AT_ONCE = 200  # RayJobs of one process
SAVE_S = 4.0  # progress, lines and the state that a restart needs
_RENEW_AFTER = timedelta(seconds=9)  # if nothing changed; two saves may fail before the lease ends
_AGAIN = timedelta(minutes=1)  # after an unforeseen error
_SAVE_AGAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class _Outside:
    """The services that reading a RayJob needs."""

    rayjobs: Submitter
    logs: LogFiles
    digesters: Digesters


class JobFollower(Service):
    """Claims RayJobs and reads each to its end; reading stops when the context is left."""

    def __init__(
        self, deps: Deps, rayjobs: Submitter, logs: LogFiles, digesters: Digesters
    ) -> None:
        super().__init__(deps)
        self._outside = _Outside(rayjobs, logs, digesters)
        self._group = asyncio.TaskGroup()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._log = get_log("follower")

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop reading, save each RayJob and give its lease back."""
        for task in self._tasks.values():
            task.cancel()
        await self._group.__aexit__(kind, error, trace)

    async def step(self) -> bool:
        """Claim due RayJobs, as many as there is room for; return True if there were any."""
        room = AT_ONCE - len(self._tasks)
        if room <= 0:
            return False
        claimed = await self._store.rayjobs.claim(
            self._worker.owner, self._clock.now(), lease_s=LEASE_S, limit=room
        )
        for item in claimed:
            former = self._tasks.get(item.lease.key)
            task = self._group.create_task(self._follow(item, former), name=item.lease.key)
            self._tasks[item.lease.key] = task
            task.add_done_callback(self._forget)
        return bool(claimed)

    async def idle(self) -> None:
        """Wait until no RayJob is being read."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    def _forget(self, task: asyncio.Task[None]) -> None:
        """Forget a task that ended, and look for a RayJob that waits for its place."""
        if self._tasks.get(task.get_name()) is task:
            del self._tasks[task.get_name()]
        self._wake.poke(Topic.FOLLOWER)

    async def _follow(self, claimed: ClaimedRayJob, former: asyncio.Task[None] | None) -> None:
        """Read one RayJob; ``former`` is a task that still reads it under a lost lease."""
        if former is not None:
            former.cancel()
            await asyncio.wait({former})
        run = claimed.run
        log = self._log.bind(run=run.id, suite=run.suite, sha=run.sha, rayjob=claimed.rayjob.job_id)
        row = RayJobRow(self._store, claimed, self._clock, log, self._worker.metrics)
        reading = _Reading(claimed, row, self._outside)
        try:
            await reading.run()
        except asyncio.CancelledError:
            await reading.leave(timedelta())
            raise
        except Exception as error:  # noqa: BLE001  one broken log must not stop the others
            await reading.leave(_AGAIN)
            self._worker.failed("follower", error, log)


class _Reading:
    """One RayJob while its lease is ours: reads its log and saves its row regularly."""

    def __init__(self, claimed: ClaimedRayJob, row: RayJobRow, outside: _Outside) -> None:
        self._claimed = claimed
        self._row = row
        self._outside = outside
        self._clock = row.clock
        self._job_log: RayJobLog | None = None
        self._reader: RayJobReader | None = None
        self._log = row.log

    async def run(self) -> None:
        """Read to the end, or until the lease is lost."""
        try:
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(self._keep(group))
                job_log = await self._read()
                job_log.add(job_log.resume.finish())
                digest = await job_log.digest(
                    passed=self._row.job.final == "SUCCEEDED"
                )  # may wait for its turn, so the lease is kept
                keeping.cancel()
                await asyncio.wait({keeping})
                await self._finish(job_log, digest)
        except* LeaseLost:
            self._log.info("stopped reading: the run is done, or somebody else reads")
            await self._close()

    async def leave(self, after: timedelta) -> None:
        """Save, and give the lease back; the RayJob is due again after that time."""
        try:
            await self._mark()
            await self._row.give_back(self._clock.now() + after)
        except LeaseLost:
            self._log.info("somebody else reads already")
        finally:
            await self._close()

    async def _read(self) -> RayJobLog:
        run = self._claimed.run
        self._job_log = job_log = await RayJobLog.restore(
            self._outside.logs, self._outside.digesters, run, self._claimed.rayjob
        )
        rayjobs = self._outside.rayjobs
        self._reader = RayJobReader(self._claimed, self._row, job_log, rayjobs)
        await self._reader.read()
        return job_log

    async def _finish(self, job_log: RayJobLog, digest: Digest) -> None:
        await self._mark()
        self._row.set(complete=True, digest=digest, resume=None, poke=True)
        while not await self._row.give_back(None):
            await self._clock.sleep(_SAVE_AGAIN_S)
        await self._close()
        self._log.info("read to its end", final=self._row.job.final, lines=job_log.lines)

    async def _keep(self, group: asyncio.TaskGroup) -> None:
        """Save changes every few seconds, and prolong the lease even without changes.

        Reading for the digest may wait for its turn, and the submitter may take its time; neither
        holds up a save.
        """
        reading = heeding = group.create_task(asyncio.sleep(0))
        while True:
            await self._clock.sleep(SAVE_S)
            if self._job_log and reading.done():
                reading = group.create_task(self._job_log.catch_up())
            if self._reader and heeding.done():
                heeding = group.create_task(self._reader.heed_silence())
            if self._row.changed:
                await self._mark()
            elif self._clock.now() - self._row.saved_at < _RENEW_AFTER:
                continue
            await self._row.keep()

    async def _mark(self) -> None:
        if self._job_log is not None:
            self._row.mark(await self._job_log.flush())

    async def _close(self) -> None:
        if self._job_log is not None:
            await self._job_log.close()
