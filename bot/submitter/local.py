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
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bot.submitter import supervise
from bot.submitter.backend import JobState, JobView
from bot.submitter.children import Children
from bot.submitter.feed import Feed, offset_after, whole_end
from bot.submitter.patches import deadline_s, not_applied
from bot.submitter.request import JobRequest, RefusedError

log = logging.getLogger(__name__)

WATCHDOG_S = 1.0
QUIET_S = 1.0  # how often a silent watch looks whether its client is still there
# The job must not inherit the service's secrets: of its environment only these pass.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "USER")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one service bears."""

    live_jobs: int = 256
    watches: int = 1000
    watches_a_job: int = 100
    line_bytes: int = 8 * 1024 * 1024
    log_bytes: int = 4 * 1024**3
    grace_s: float = 3.0  # a cancelled Actions step lives 7.5 s: the DELETE must answer sooner
    keep_days: float = 14.0


class _Record(msgspec.Struct, frozen=True):
    """`job.json`: what the supervisor needs, and what we must know again after a restart."""

    job_id: str
    key: str | None
    created_at: str
    request: JobRequest
    note: str
    argv: list[str]
    env: dict[str, str]
    cwd: str
    deadline_s: int | None
    grace_s: float
    max_line_bytes: int
    max_log_bytes: int


class _Final(msgspec.Struct, frozen=True):
    ts: str
    status: str
    message: str


@dataclass(slots=True)
class _Job:
    record: _Record
    folder: Path
    end: JobState | None = None
    feed: Feed | None = None
    feed_lock: asyncio.Lock = field(default_factory=asyncio.Lock)


_FIRST_STATE = JobState("PENDING", "", "", "New", None)


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
        self._root = data_dir.absolute() / "jobs"
        self._workdir = workdir
        self._limits = limits or Limits()
        self._environ = dict(environ or {})
        self._jobs: dict[str, _Job] = {}
        self._keys: dict[str, str] = {}
        self._children = Children()
        self._watches = 0
        self._closing = asyncio.Event()
        self._submitting = asyncio.Lock()
        self._watchdog: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read the jobs of an earlier life and see to those that have no end yet."""
        for record, folder in await asyncio.to_thread(self._load):
            self._remember(_Job(record, folder))
        for job in self._jobs.values():
            await self._settle(job)
        self._watchdog = asyncio.create_task(self._watch_supervisors())

    async def close(self, *, stop_jobs: bool) -> None:
        """End watches; stop the jobs too when asked."""
        self._closing.set()
        if stop_jobs:
            left = await self.stop([job.record.job_id for job in self._live()])
            if left:
                log.error("jobs still alive: %s", ", ".join(left))
        if self._watchdog is not None:
            self._watchdog.cancel()
            await asyncio.gather(self._watchdog, return_exceptions=True)

    async def submit(self, request: JobRequest, key: str | None) -> tuple[str, bool]:
        """Write the job down, then start its supervisor."""
        async with self._submitting:
            if key is not None and key in self._keys:
                return self._known(request, self._jobs[self._keys[key]])
            if sum(1 for _ in self._live()) >= self._limits.live_jobs:
                raise RefusedError(429, f"{self._limits.live_jobs} jobs are alive already")
            record = self._record(request, key)
            folder = self._root / record.job_id
            await asyncio.to_thread(_create, folder, record)
            job = _Job(record, folder)
            self._remember(job)
            self._children.start(folder)
            log.info("job started: %s", record.job_id)
            return record.job_id, True

    def _known(self, request: JobRequest, job: _Job) -> tuple[str, bool]:
        if request != job.record.request:
            reason = f"this Idempotency-Key started {job.record.job_id} with another body"
            raise RefusedError(422, reason)
        return job.record.job_id, False

    async def state(self, job_id: str) -> JobView | None:
        """Look a job up."""
        job = self._jobs.get(job_id)
        return None if job is None else await self._view(job)

    async def jobs_of(self, run_id: str, attempt: str | None) -> list[JobView]:
        """List the jobs of an Actions run in the order of their start."""
        return [
            await self._view(job)
            for job in self._jobs.values()
            if job.record.request.github_run_id == run_id
            and attempt in (None, job.record.request.github_run_attempt)
        ]

    async def stop(self, job_ids: Sequence[str]) -> list[str]:
        """Ask the supervisors to stop their jobs; they TERM, then KILL after the grace time."""
        jobs = [self._jobs[job_id] for job_id in job_ids]
        for job in jobs:
            (job.folder / "stop").touch()
        limit_s = self._limits.grace_s + 5
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await asyncio.gather(*(self._stop(job) for job in jobs))
        return [job.record.job_id for job in jobs if job.end is None]

    async def _stop(self, job: _Job) -> None:
        # Another process writes the end: there is no event here to wait for.
        while (await self._settle(job)) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def events(self, job_id: str, after: int) -> AsyncIterator[bytes]:
        """Yield the job's events as they lie in its file."""
        job = self._jobs[job_id]
        with self._counted():
            feed = await self._join(job)
            try:
                offset = await asyncio.to_thread(offset_after, job.folder / "events.ndjson", after)
                while not self._closing.is_set():
                    piece = await feed.read(offset)
                    offset += len(piece)
                    if not piece and feed.ended and offset >= feed.end:
                        break
                    yield piece
                    if not piece:
                        await self._quiet(feed, offset)
            finally:
                await self._leave(job, feed)

    async def _quiet(self, feed: Feed, offset: int) -> None:
        waits = [
            asyncio.ensure_future(feed.wait(offset, QUIET_S)),
            asyncio.ensure_future(self._closing.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        if self._watches >= self._limits.watches:
            raise RefusedError(429, f"{self._limits.watches} watches are open already")
        self._watches += 1
        try:
            yield
        finally:
            self._watches -= 1

    async def _join(self, job: _Job) -> Feed:
        async with job.feed_lock:
            if job.feed is None:
                feed = Feed(job.folder / "events.ndjson")
                await feed.open()
                job.feed = feed
            if job.feed.watchers >= self._limits.watches_a_job:
                raise RefusedError(429, f"{job.feed.watchers} watches of this job are open already")
            job.feed.watchers += 1
            return job.feed

    async def _leave(self, job: _Job, feed: Feed) -> None:
        async with job.feed_lock:
            feed.watchers -= 1
            if feed.watchers == 0:
                job.feed = None
                await feed.close()

    def _live(self) -> Iterator[_Job]:
        return (job for job in self._jobs.values() if job.end is None)

    def _remember(self, job: _Job) -> None:
        self._jobs[job.record.job_id] = job
        if job.record.key is not None:
            self._keys[job.record.key] = job.record.job_id

    async def _view(self, job: _Job) -> JobView:
        state = job.end
        if state is None:
            state = await asyncio.to_thread(_read_state, job.folder)
            job.end = state if state.ended_at is not None else None
        return JobView(job.record.job_id, job.record.request, job.record.created_at, state)

    async def _settle(self, job: _Job) -> JobState | None:
        """Return the end of a job; make sure that somebody will write it when there is none."""
        if job.end is None:
            self._children.reap()
            was_alive = self._children.is_alive(job.folder)
            await self._view(job)  # after the look at the supervisor: it writes the end, then goes
            if job.end is None and not was_alive and not self._children.is_alive(job.folder):
                self._children.start(job.folder)
        return job.end

    async def _watch_supervisors(self) -> None:
        while True:
            try:
                self._children.reap()
                for job in list(self._live()):
                    await self._settle(job)
            except Exception:
                log.exception("watchdog failed, goes on")
            await asyncio.sleep(WATCHDOG_S)

    def _load(self) -> list[tuple[_Record, Path]]:
        """Read every job's record, oldest first; forget those that ended long ago."""
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = []
        for path in self._root.glob("*/job.json"):
            try:
                record = msgspec.json.decode(path.read_bytes(), type=_Record)
            except msgspec.DecodeError:
                log.exception("unreadable record left alone: %s", path)
                continue
            if _days_since_end(path.parent) > self._limits.keep_days:
                shutil.rmtree(path.parent)
            else:
                found.append((record, path.parent))
        return sorted(found, key=lambda pair: pair[0].created_at)

    def _record(self, request: JobRequest, key: str | None) -> _Record:
        job_id = _new_id(request)
        ignored = not_applied(request.template_patches)
        note = f"accepted; {ignored} template patches mean nothing here" if ignored else "accepted"
        return _Record(
            job_id=job_id,
            key=key,
            created_at=supervise.utc_now(),
            request=request,
            note=note,
            argv=["bash", "--", request.script, *request.args],
            env=self._job_env(request, job_id),
            cwd=str(self._workdir or self._root / job_id / "work"),
            deadline_s=deadline_s(request.template_patches),
            grace_s=self._limits.grace_s,
            max_line_bytes=self._limits.line_bytes,
            max_log_bytes=self._limits.log_bytes,
        )

    def _job_env(self, request: JobRequest, job_id: str) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        ours = {
            "PYTHONUNBUFFERED": "1",
            "ASCEND_CI_NODES": str(max(1, request.worker_replicas)),
            "ASCEND_CI_WORKER_REPLICAS": str(request.worker_replicas),
            "ASCEND_CI_REPOSITORY": request.repository,
            "ASCEND_CI_COMMIT_SHA": request.commit_sha,
            "GITHUB_RUN_ID": request.github_run_id,
            "GITHUB_RUN_ATTEMPT": request.github_run_attempt,
        }
        # RAYJOB_ID comes last: what a job leaves behind is found by it.
        return {**inherited, **ours, **self._environ, **request.env, "RAYJOB_ID": job_id}


def _new_id(request: JobRequest) -> str:
    parts = ["rj", request.github_run_id, request.github_run_attempt, request.name_suffix]
    name = "-".join(part for part in parts if part).lower()
    return f"{re.sub(r'[^a-z0-9]+', '-', name)[:80]}-{secrets.token_hex(4)}"


def _create(folder: Path, record: _Record) -> None:
    (folder / "work").mkdir(parents=True, mode=0o700)
    (folder / "events.ndjson").touch(mode=0o600)
    # The record comes last: a folder without one was never answered for.
    supervise.write_atomically(folder / "job.json", msgspec.json.encode(record).decode())


def _read_state(folder: Path) -> JobState:
    try:
        state = msgspec.json.decode((folder / "state.json").read_bytes(), type=JobState)
    except FileNotFoundError:
        state = _FIRST_STATE
    if state.ended_at is not None:
        return state
    # `final` is written just before the file: who has read the one may ask for the other.
    with (folder / "events.ndjson").open("rb") as events:
        _, last = whole_end(events.fileno())
    if not last:
        return state
    end = msgspec.json.decode(last, type=_Final)
    return JobState(end.status, end.message, *supervise.END_WORDS[end.status], end.ts)


def _days_since_end(folder: Path) -> float:
    state = _read_state(folder)
    if state.ended_at is None:
        return 0.0
    return (time.time() - (folder / "events.ndjson").stat().st_mtime) / 86400
