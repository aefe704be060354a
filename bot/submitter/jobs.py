"""The interface of a backend, and its stored jobs, which are found again after a restart.

The folder of a job contains `job.json` (the record of the request), `events.ndjson` (every event),
`state.json` (the latest status) and `stop` (exists once a stop was asked for).
"""

import asyncio
import fcntl
import logging
import os
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from bot.submitter.backend import JobState, JobView, Limits
from bot.submitter.event_file import END_WORDS, utc_now, write_atomically
from bot.submitter.patches import DEADLINE_PATH, accepted, value_at
from bot.submitter.request import JobRequest, RefusedError, new_id
from bot.submitter.watches import Watches, whole_end

log = logging.getLogger(__name__)

PRUNE_S = 3600.0
SCRIPT_SHA256 = "ASCEND_CI_SCRIPT_SHA256"
_COMPARE = f"""
text=$(<"$0") || exit 1
sum=$(printf '%s\\n' "$text" | sha256sum)
if [[ "${{sum%% *}}" != "${SCRIPT_SHA256}" ]]; then
    echo "ascend-ci: $0 was changed after it was submitted" >&2
    exit 1
fi
exec bash -c "$text" "$0" "$@"
"""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of `job.json`; backends add the fields that they need.

    `repository_id` is as in `JobView`.
    """

    job_id: str
    key: str | None
    created_at: str
    request: JobRequest
    note: str
    deadline_s: int | None
    max_line_bytes: int
    max_log_bytes: int
    repository_id: int | None = None


RecordT = TypeVar("RecordT", bound=Record)
_Key = tuple[str, str, str, int | None, str]


class _Final(msgspec.Struct, frozen=True):
    ts: str
    status: str
    message: str


@dataclass(slots=True)
class Job(Generic[RecordT]):
    """A job in memory; `end` is `None` while it lives."""

    record: RecordT
    folder: Path
    end: JobState | None = None

    async def view(self) -> JobView:
        """Read the job's state."""
        state = self.end
        if state is None:
            state = await asyncio.to_thread(read_state, self.folder)
            self.end = state if state.ended_at is not None else None
        record = self.record
        return JobView(
            record.job_id, record.request, record.repository_id, record.created_at, state
        )

    def ask_to_stop(self) -> None:
        """Create a mark that survives a restart; refuse (503) if that fails."""
        try:
            self._stop_mark.touch()
        except OSError as error:
            raise RefusedError(503, f"the data folder: {error.strerror}") from error

    def is_to_stop(self) -> bool:
        """Return True if a stop was asked for."""
        return self._stop_mark.exists()

    @property
    def _stop_mark(self) -> Path:
        return self.folder / "stop"


FIRST_STATE = JobState("PENDING", "", "", "New", None)


class Backend(ABC, Generic[RecordT]):
    """Runs jobs, keeps their events, and survives a restart of the service.

    It knows its jobs by id, by key and by Actions run. How a job runs is up to its subclasses.
    """

    name: str
    used: frozenset[str]  # the paths of patches that count here

    def __init__(self, folder: Path, kind: type[RecordT], limits: Limits | None) -> None:
        self._root = folder
        self._kind = kind
        self._limits = limits or Limits()
        self._admitting = asyncio.Lock()
        self._jobs: dict[str, Job[RecordT]] = {}
        self._keys: dict[_Key, str] = {}
        self._lock_fd: int | None = None
        self._watches = Watches(self._limits)
        self._pruner: asyncio.Task[None] | None = None

    @abstractmethod
    async def start(self) -> None:
        """Find the jobs of the previous process."""

    @abstractmethod
    async def close(self, *, stop_jobs: bool) -> None:
        """End open watches; the jobs continue unless `stop_jobs`."""

    @abstractmethod
    async def stop(self, job_ids: Sequence[str]) -> list[str]:
        """Stop jobs and wait for their end; return the ids that are still alive."""

    @abstractmethod
    def _own_fields(self, request: JobRequest, job_id: str) -> dict[str, Any]:
        """Return the fields that only this backend's record has."""

    @abstractmethod
    def _begin(self, job: Job[RecordT], request: JobRequest) -> None:
        """Start a stored job that was just asked for."""

    def _kept(self, request: JobRequest) -> JobRequest:
        """Return the part of a request that is stored."""
        return request

    def _is_of(self, record: RecordT, request: JobRequest) -> bool:
        """Return True if a stored job was asked for by such a request."""
        return record.request == request

    async def problem(self) -> str | None:
        """Return why new jobs can't run at present; `None` if they can."""
        return await asyncio.to_thread(self._space_problem)

    async def submit(
        self, request: JobRequest, key: str | None, repository_id: int | None = None
    ) -> tuple[str, bool]:
        """Store a job, then start it; return its id, and whether it is new.

        `repository_id` is the number of the repository that has proven itself, if one has. Raise
        `RefusedError`: 422 if the key belongs to another request, 429 if the service is full, 503
        if the job can't be stored.
        """
        async with self._admitting:
            found = None if key is None else self._keys.get(_key(request, repository_id, key))
            if found is not None:
                return self._same(self._jobs[found], request), False
            live = [job.record.repository_id for job in self._live()]
            if full := self._limits.fullness(live, repository_id):
                raise RefusedError(429, full)
            job = await self._add(self._record(request, key, repository_id))
            self._begin(job, request)
            log.info("job accepted: %s", job.record.job_id)
            return job.record.job_id, True

    async def state(self, job_id: str) -> JobView | None:
        """Return a job with its state; `None` if it is unknown."""
        job = self._jobs.get(job_id)
        return None if job is None else await job.view()

    async def jobs_of(self, run_id: str, attempt: str | None) -> list[JobView]:
        """Return the jobs of an Actions run, of all its attempts if `attempt` is `None`.

        They come in the order of their start.
        """
        return [
            await job.view()
            for job in list(self._jobs.values())
            if job.record.request.github_run_id == run_id
            and attempt in (None, job.record.request.github_run_attempt)
        ]

    def events(self, job_id: str, after: int, peer: str) -> AsyncIterator[bytes]:
        """Yield pieces of NDJSON after a sequence number until `final`.

        An empty piece means that nothing happened for a while. A piece may end inside a line. The
        stream ends early when the service closes. Raise `RefusedError` (429) if too many watch.
        """
        return self._watches.events(self._root / job_id / "events.ndjson", after, peer)

    def _live(self) -> list[Job[RecordT]]:
        """Return the jobs that have no end yet."""
        return [job for job in self._jobs.values() if job.end is None]

    async def _load(self) -> None:
        """Read the jobs of the previous process; forget those that ended long ago.

        Raise `OSError` if another service uses the folder: both would write the same files.
        """
        await asyncio.to_thread(self._lock)
        found = await asyncio.to_thread(lambda: list(self._stored()))
        for job in sorted(found, key=lambda job: job.record.created_at):
            self._remember(job)
        self._pruner = asyncio.create_task(self._prune_regularly())

    async def _prune_regularly(self) -> None:
        while True:
            await asyncio.sleep(PRUNE_S)
            try:
                await self.prune()
            except OSError:
                log.exception("an ended job could not be removed")

    async def prune(self) -> None:
        """Forget the jobs that ended long ago."""
        for job in list(self._jobs.values()):
            age = await asyncio.to_thread(_days_since_end, job.folder) if job.end else 0.0
            if age > self._limits.keep_days:
                await self._remove(job)

    async def _remove(self, job: Job[RecordT]) -> None:
        del self._jobs[job.record.job_id]
        if (key := _key_of(job.record)) is not None:
            del self._keys[key]
        await asyncio.to_thread(shutil.rmtree, job.folder)

    def _lock(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock_fd = os.open(self._root / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._unlock()
            raise BlockingIOError(error.errno, "another submitter uses", str(self._root)) from error

    def _unlock(self) -> None:
        """Let another service use the folder."""
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None

    def _stored(self) -> Iterator[Job[RecordT]]:
        for path in self._root.glob("*/job.json"):
            try:
                record = msgspec.json.decode(path.read_bytes(), type=self._kind)
            except (msgspec.DecodeError, UnicodeDecodeError):
                log.exception("unreadable record left alone: %s", path)
                continue
            if _days_since_end(path.parent) > self._limits.keep_days:
                shutil.rmtree(path.parent)
            else:
                yield Job(record, path.parent)

    async def _end_watches(self, *, stop_jobs: bool) -> None:
        """End open watches; stop the jobs if asked."""
        self._watches.close()
        if self._pruner is not None:
            self._pruner.cancel()
        if stop_jobs:
            left = await self.stop([job.record.job_id for job in self._live()])
            if left:
                log.error("jobs still alive: %s", ", ".join(left))

    def _record(self, request: JobRequest, key: str | None, repository_id: int | None) -> RecordT:
        job_id = new_id(request)
        return self._kind(
            job_id=job_id,
            key=key,
            created_at=utc_now(),
            request=self._kept(request),
            repository_id=repository_id,
            note=accepted(request.template_patches, self.used),
            deadline_s=value_at(DEADLINE_PATH, request.template_patches),
            max_line_bytes=self._limits.line_bytes,
            max_log_bytes=self._limits.log_bytes,
            **self._own_fields(request, job_id),
        )

    def _same(self, job: Job[RecordT], request: JobRequest) -> str:
        """Return the job that a key has started; refuse the key for another body."""
        if not self._is_of(job.record, request):
            reason = f"this Idempotency-Key started {job.record.job_id} with another body"
            raise RefusedError(422, reason)
        return job.record.job_id

    async def _add(self, record: RecordT) -> Job[RecordT]:
        """Store a job; if that fails, refuse (503) and leave nothing behind."""
        problem = await asyncio.to_thread(self._space_problem)
        if problem is not None:
            raise RefusedError(503, problem)
        job = Job(record, self._root / record.job_id)
        try:
            await asyncio.to_thread(_create, job.folder, record)
        except OSError as error:
            await asyncio.to_thread(shutil.rmtree, job.folder, ignore_errors=True)
            log.exception("a job could not be written down")
            raise RefusedError(503, f"the data folder: {error.strerror}") from error
        self._remember(job)
        return job

    def _space_problem(self) -> str | None:
        """Return why no job can be stored; `None` if one can."""
        try:
            free = shutil.disk_usage(self._root).free
        except OSError as error:
            return f"the data folder: {error.strerror}"
        if free < self._limits.free_bytes:
            return f"the data folder has {free >> 20} MiB left, too little for another log"
        return None

    def _remember(self, job: Job[RecordT]) -> None:
        self._jobs[job.record.job_id] = job
        if (key := _key_of(job.record)) is not None:
            self._keys[key] = job.record.job_id


def _key(request: JobRequest, repository_id: int | None, key: str) -> _Key:
    """Return a key within its run attempt: nobody takes the key of another run beforehand.

    The word of a holder of the shared token takes none of a repository that proves itself.
    """
    run = request.repository, request.github_run_id, request.github_run_attempt
    return (*run, repository_id, key)


def _key_of(record: Record) -> _Key | None:
    if record.key is None:
        return None
    return _key(record.request, record.repository_id, record.key)


def words(request: JobRequest) -> list[str]:
    """Return the command of a job; a script whose hash is given runs only if it has that hash.

    The script is read once: it may lie on a volume that others change.
    """
    if SCRIPT_SHA256 in request.env:
        return ["bash", "-c", _COMPARE, request.script, *request.args]
    return ["bash", "--", request.script, *request.args]


def environment(request: JobRequest) -> dict[str, str]:
    """Return the variables that tell a job about itself."""
    return {
        "PYTHONUNBUFFERED": "1",
        "ASCEND_CI_NODES": str(max(1, request.worker_replicas)),
        "ASCEND_CI_WORKER_REPLICAS": str(request.worker_replicas),
        "ASCEND_CI_REPOSITORY": request.repository,
        "ASCEND_CI_COMMIT_SHA": request.commit_sha,
        "GITHUB_RUN_ID": request.github_run_id,
        "GITHUB_RUN_ATTEMPT": request.github_run_attempt,
    }


def _create(folder: Path, record: Record) -> None:
    (folder / "work").mkdir(parents=True, mode=0o700)
    (folder / "events.ndjson").touch(mode=0o600)
    # The record comes last: no caller knows the job of a folder without one.
    write_atomically(folder / "job.json", msgspec.json.encode(record).decode())


def read_state(folder: Path) -> JobState:
    """Read the state of a job from its files."""
    try:
        state = msgspec.json.decode((folder / "state.json").read_bytes(), type=JobState)
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        state = FIRST_STATE  # the events tell the end
    if state.ended_at is not None:
        return state
    # `final` is written just before the file, and a client may have read it already.
    with (folder / "events.ndjson").open("rb") as events:
        _, last = whole_end(events.fileno())
    if not last:
        return state
    end = msgspec.json.decode(last, type=_Final)
    return JobState(end.status, end.message, *END_WORDS[end.status], end.ts)


def _days_since_end(folder: Path) -> float:
    state = read_state(folder)
    if state.ended_at is None:
        return 0.0
    return (time.time() - (folder / "events.ndjson").stat().st_mtime) / 86400
