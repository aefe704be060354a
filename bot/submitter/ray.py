"""The `ray` backend: jobs run on a Ray cluster that is up already, over its Jobs API."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from bot.submitter import patches
from bot.submitter.backend import JobView
from bot.submitter.journal import utc_now
from bot.submitter.limits import Limits
from bot.submitter.ray_api import AnswerError, RayApi, UnreachableError
from bot.submitter.ray_job import RayFollower, RayRecord
from bot.submitter.request import JobRequest
from bot.submitter.shelf import Job, Shelf, new_id
from bot.submitter.watches import Watches

log = logging.getLogger(__name__)

STOP_S = 6.5  # a cancelled Actions step lives 7.5 s; Ray itself kills 3 s after it has asked
USED = frozenset(
    {patches.DEADLINE_PATH, patches.CPUS_PATH, patches.GPUS_PATH, patches.RESOURCES_PATH}
)


class RayBackend:
    """Runs each job's script once, on the head node or where what it holds is found.

    A job waits until the cluster has `worker_replicas` nodes alive: a two-node suite must not pass
    on one. `workdir` is where, on the cluster, relative script paths start.
    """

    name = "ray"

    def __init__(
        self,
        data_dir: Path,
        api: RayApi,
        *,
        workdir: str | None = None,
        limits: Limits | None = None,
        environ: Mapping[str, str] | None = None,
        pace: float = 1.0,
    ) -> None:
        self._pace = pace
        self._api = api
        self._workdir = workdir
        self._limits = limits or Limits()
        self._environ = dict(environ or {})
        self._shelf = Shelf(data_dir.absolute() / "ray-jobs", RayRecord, self._limits)
        self._watches = Watches(self._limits)
        self._followers: dict[str, RayFollower] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Go on with the jobs of an earlier life that have no end yet."""
        await self._shelf.load()
        await self._api.open()
        problem = await self.problem()
        if problem is not None:
            log.warning("jobs will wait for %s: %s", self._api.address, problem)
        for job in self._shelf.live():
            await job.view()
            if job.end is None:
                self._follow(job)

    async def close(self, *, stop_jobs: bool) -> None:
        """End watches and stop following; stop the jobs too when asked."""
        self._watches.close()
        if stop_jobs:
            left = await self.stop([job.record.job_id for job in self._shelf.live()])
            if left:
                log.error("jobs still alive: %s", ", ".join(left))
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._api.close()
        self._shelf.close()

    async def problem(self) -> str | None:
        """Say why it is of no use at present: no room, or no cluster."""
        problem = await asyncio.to_thread(self._shelf.problem)
        if problem is not None:
            return problem
        try:
            await self._api.check()
        except (UnreachableError, AnswerError) as error:
            return f"the Ray cluster: {error}"
        return None

    async def submit(self, request: JobRequest, key: str | None) -> tuple[str, bool]:
        """Write the job down; its follower submits it, however long the cluster is away."""
        return await self._shelf.admit(request, key, self._record, self._follow)

    async def state(self, job_id: str) -> JobView | None:
        """Look a job up."""
        return await self._shelf.view(job_id)

    async def jobs_of(self, run_id: str, attempt: str | None) -> list[JobView]:
        """List the jobs of an Actions run in the order of their start."""
        return await self._shelf.views(run_id, attempt)

    async def stop(self, job_ids: Sequence[str]) -> list[str]:
        """Ask for the jobs' end; what has none in time is stopped later, by its follower."""
        jobs = [job for job in map(self._shelf.get, job_ids) if job is not None]
        for job in jobs:
            job.ask_to_stop()
            if follower := self._followers.get(job.record.job_id):
                follower.poke()
        tasks = [self._tasks[job_id] for job_id in job_ids if job_id in self._tasks]
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_S * self._pace)
        return [job.record.job_id for job in jobs if job.end is None]

    def events(self, job_id: str, after: int) -> AsyncIterator[bytes]:
        """Yield the job's events as they lie in its file."""
        return self._watches.events(self._shelf.root / job_id / "events.ndjson", after)

    def _follow(self, job: Job[RayRecord]) -> None:
        job_id = job.record.job_id
        follower = self._followers[job_id] = RayFollower(self._api, job, self._pace)
        task = self._tasks[job_id] = asyncio.create_task(follower.run(), name=job_id)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        job_id = task.get_name()
        del self._followers[job_id], self._tasks[job_id]
        with contextlib.suppress(asyncio.CancelledError):
            if (error := task.exception()) is not None:
                log.error("following %s ended", job_id, exc_info=error)

    def _record(self, request: JobRequest, key: str | None) -> RayRecord:
        wanted = request.template_patches
        return RayRecord(
            job_id=new_id(request),
            key=key,
            created_at=utc_now(),
            request=request,
            note=patches.accepted(wanted, USED),
            deadline_s=patches.deadline_s(wanted),
            max_line_bytes=self._limits.line_bytes,
            max_log_bytes=self._limits.log_bytes,
            workdir=self._workdir,
            environ=self._environ,
            cpus=patches.value_at(patches.CPUS_PATH, wanted),
            gpus=patches.value_at(patches.GPUS_PATH, wanted),
            resources=patches.resources_in(patches.value_at(patches.RESOURCES_PATH, wanted)) or {},
        )
