"""The `local` backend: a job is a process group on this machine, with a supervisor of its own.

All that matters lies in files under the data folder, a folder a job (see `supervise`), so the
service can be killed at any moment: started again it reads the folders and asks for a supervisor
wherever an end is missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from bot.submitter.backend import JobState, JobView
from bot.submitter.children import Children
from bot.submitter.journal import utc_now
from bot.submitter.limits import Limits
from bot.submitter.patches import DEADLINE_PATH, accepted, deadline_s
from bot.submitter.request import JobRequest
from bot.submitter.shelf import Job, Record, Shelf, environment, new_id
from bot.submitter.watches import Watches

log = logging.getLogger(__name__)

WATCHDOG_S = 1.0
USED = frozenset({DEADLINE_PATH})  # the patches that mean something here
# The job must not inherit the service's secrets: of its environment only these pass.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "USER")


class LocalRecord(Record, frozen=True):
    """What the supervisor needs besides."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    grace_s: float


class LocalBackend:
    """Runs each job's script once with bash, whatever `worker_replicas` says.

    `workdir` is where relative script paths start; `None` means an empty folder of the job's own.
    """

    name = "local"

    def __init__(
        self,
        data_dir: Path,
        *,
        workdir: Path | None = None,
        limits: Limits | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._workdir = workdir
        self._limits = limits or Limits()
        self._environ = dict(environ or {})
        self._shelf = Shelf(data_dir.absolute() / "jobs", LocalRecord, self._limits)
        self._watches = Watches(self._limits)
        self._children = Children()
        self._watchdog: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read the jobs of an earlier life and see to those that have no end yet."""
        await self._shelf.load()
        for job in self._shelf.live():
            await self._settle(job)
        self._watchdog = asyncio.create_task(self._watch_supervisors())

    async def close(self, *, stop_jobs: bool) -> None:
        """End watches; stop the jobs too when asked."""
        self._watches.close()
        if stop_jobs:
            left = await self.stop([job.record.job_id for job in self._shelf.live()])
            if left:
                log.error("jobs still alive: %s", ", ".join(left))
        if self._watchdog is not None:
            self._watchdog.cancel()
            await asyncio.gather(self._watchdog, return_exceptions=True)
        self._shelf.close()

    async def problem(self) -> str | None:
        """Say why it is of no use at present: no room for another log."""
        return await asyncio.to_thread(self._shelf.problem)

    async def submit(self, request: JobRequest, key: str | None) -> tuple[str, bool]:
        """Write the job down, then start its supervisor."""
        return await self._shelf.admit(
            request, key, self._record, lambda job: self._children.start(job.folder)
        )

    async def state(self, job_id: str) -> JobView | None:
        """Look a job up."""
        return await self._shelf.view(job_id)

    async def jobs_of(self, run_id: str, attempt: str | None) -> list[JobView]:
        """List the jobs of an Actions run in the order of their start."""
        return await self._shelf.views(run_id, attempt)

    async def stop(self, job_ids: Sequence[str]) -> list[str]:
        """Ask the supervisors to stop their jobs; they TERM, then KILL after the grace time."""
        jobs = [job for job in map(self._shelf.get, job_ids) if job is not None]
        for job in jobs:
            job.ask_to_stop()
        limit_s = self._limits.grace_s + 5
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await asyncio.gather(*(self._stop(job) for job in jobs))
        return [job.record.job_id for job in jobs if job.end is None]

    async def _stop(self, job: Job[LocalRecord]) -> None:
        # Another process writes the end: there is no event here to wait for.
        while (await self._settle(job)) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    def events(self, job_id: str, after: int) -> AsyncIterator[bytes]:
        """Yield the job's events as they lie in its file."""
        return self._watches.events(self._shelf.root / job_id / "events.ndjson", after)

    async def _settle(self, job: Job[LocalRecord]) -> JobState | None:
        """Return the end of a job; make sure that somebody will write it when there is none."""
        if job.end is None:
            self._children.reap()
            was_alive = self._children.is_alive(job.folder)
            await job.view()  # after the look at the supervisor: it writes the end, then goes
            if job.end is None and not was_alive and not self._children.is_alive(job.folder):
                self._children.start(job.folder)
        return job.end

    async def _watch_supervisors(self) -> None:
        while True:
            try:
                self._children.reap()
                for job in self._shelf.live():
                    await self._settle(job)
            except Exception:
                log.exception("watchdog failed, goes on")
            await asyncio.sleep(WATCHDOG_S)

    def _record(self, request: JobRequest, key: str | None) -> LocalRecord:
        job_id = new_id(request)
        return LocalRecord(
            job_id=job_id,
            key=key,
            created_at=utc_now(),
            request=request,
            note=accepted(request.template_patches, USED),
            argv=["bash", "--", request.script, *request.args],
            env=self._job_env(request, job_id),
            cwd=str(self._workdir or self._shelf.root / job_id / "work"),
            deadline_s=deadline_s(request.template_patches),
            grace_s=self._limits.grace_s,
            max_line_bytes=self._limits.line_bytes,
            max_log_bytes=self._limits.log_bytes,
        )

    def _job_env(self, request: JobRequest, job_id: str) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        # RAYJOB_ID comes last: what a job leaves behind is found by it.
        own = {**environment(request), **self._environ, **request.env, "RAYJOB_ID": job_id}
        return {**inherited, **own}
