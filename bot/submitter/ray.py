"""The `ray` backend: jobs run on an existing Ray cluster through its Jobs API."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bot.submitter import patches
from bot.submitter.backend import Limits
from bot.submitter.jobs import Backend, Job
from bot.submitter.ray_api import AnswerError, RayApi, UnreachableError
from bot.submitter.ray_job import RayFollower, RayRecord
from bot.submitter.request import JobRequest

log = logging.getLogger(__name__)

STOP_S = 6.5  # a cancelled Actions step lives 7.5 s; Ray kills a job 3 s after it asked it to end
ENTRYPOINT = (patches.CPUS_PATH, patches.GPUS_PATH, patches.RESOURCES_PATH)


class RayBackend(Backend[RayRecord]):
    """Runs each job's script once, on the head node or on a node with its resources.

    A job waits until `worker_replicas` nodes are alive, because a two-node suite must not pass on
    one node. Relative script paths start in `workdir` on the cluster.
    """

    name = "ray"
    used = frozenset({patches.DEADLINE_PATH, *ENTRYPOINT})

    def __init__(
        self,
        data_dir: Path,
        api: RayApi,
        *,
        workdir: str | None = None,
        limits: Limits | None = None,
        pace: float = 1.0,
    ) -> None:
        super().__init__(data_dir.absolute() / "ray-jobs", RayRecord, limits)
        self._pace = pace
        self._api = api
        self._workdir = workdir
        self._followers: dict[str, RayFollower] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Continue the jobs of the previous process that have no end."""
        await self._load()
        await self._api.open()
        problem = await self.problem()
        if problem is not None:
            log.warning("jobs will wait for %s: %s", self._api.address, problem)
        for job in self._live():
            await job.view()
            if job.end is None:
                self._begin(job, job.record.request)

    async def close(self, *, stop_jobs: bool) -> None:
        """End watches and stop following; stop the jobs if asked."""
        await self._end_watches(stop_jobs=stop_jobs)
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._api.close()
        self._unlock()

    async def problem(self) -> str | None:
        """Return why no job can start: there is no space, or no cluster."""
        problem = await super().problem()
        if problem is not None:
            return problem
        try:
            await self._api.check()
        except (UnreachableError, AnswerError) as error:
            return f"the Ray cluster: {error}"
        return None

    async def stop(self, job_ids: Sequence[str]) -> list[str]:
        """Ask the jobs to stop; a follower stops later what does not end in time."""
        jobs = [job for job in map(self._jobs.get, job_ids) if job is not None]
        for job in jobs:
            job.ask_to_stop()
            if follower := self._followers.get(job.record.job_id):
                follower.poke()
        tasks = [self._tasks[job_id] for job_id in job_ids if job_id in self._tasks]
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_S * self._pace)
        return [job.record.job_id for job in jobs if job.end is None]

    def _begin(self, job: Job[RayRecord], _request: JobRequest) -> None:
        """Follow a job: its follower submits it, even if the cluster comes back late."""
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

    def _own_fields(self, request: JobRequest, job_id: str) -> dict[str, Any]:
        cpus, gpus, resources = (patches.value_at(p, request.template_patches) for p in ENTRYPOINT)
        return {
            "workdir": self._workdir,
            "cpus": cpus,
            "gpus": gpus,
            "resources": patches.resources_in(resources) or {},
        }
