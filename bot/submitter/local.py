"""The `local` backend: a job is a process group on this machine with its own supervisor.

Everything important but the environment of a job is in files, one folder for each job (see
`supervise`). So the service may be killed at any moment. After a restart it reads the folders, and
starts a supervisor for each job without an end. An environment may hold secrets, and other jobs can
read the files: it goes to the supervisor by an inherited descriptor.
"""

import asyncio
import contextlib
import ctypes
import fcntl
import hashlib
import json
import logging
import os
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bot.submitter.backend import JobState, Limits
from bot.submitter.jobs import Backend, Job, Record, environment, words
from bot.submitter.patches import DEADLINE_PATH
from bot.submitter.request import JobRequest, RefusedError
from bot.submitter.supervise import ENV_FD

log = logging.getLogger(__name__)

WATCHDOG_S = 1.0
PR_SET_DUMPABLE = 4
# A job must not inherit the service's secrets. It inherits only these variables.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "USER")

# Isolated and without site-packages: there may be many supervisors, so each must be small.
ROOT = Path(__file__).parents[2]
START = """
import sys
sys.path.append(sys.argv[1])
from bot.submitter.supervise import main
sys.exit(main(sys.argv[2]))
"""


class Supervisors:
    """The supervisors of jobs: start them, tell whether they live, and reap them.

    A supervisor lives if its lock is held. A pid proves nothing: pids are used again, and a
    supervisor may be the child of an earlier process.
    """

    def __init__(self) -> None:
        self._pids: dict[Path, int] = {}

    def start(self, folder: Path, env: Mapping[str, str] | None) -> None:
        """Start a supervisor in its own session; no pipe connects it to this process.

        `env` is what the job gets, `None` if it has begun before.
        """
        argv = [sys.executable, "-I", "-S", "-c", START, str(ROOT), str(folder)]
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        actions: list[Any] = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(folder / "supervisor.log"), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        handed = os.memfd_create("environment")
        try:
            with os.fdopen(os.dup(handed), "wb") as file:
                file.write(json.dumps(env).encode())
            actions.append((os.POSIX_SPAWN_DUP2, handed, ENV_FD))
            environ = {"LANG": "C.UTF-8"}
            self._pids[folder] = os.posix_spawn(
                sys.executable, argv, environ, file_actions=actions, setsid=True
            )
        finally:
            os.close(handed)

    def reap(self) -> None:
        """Forget the supervisors that have ended."""
        for folder, pid in list(self._pids.items()):
            ended = True
            with contextlib.suppress(ChildProcessError):
                ended = os.waitpid(pid, os.WNOHANG)[0] != 0
            if ended:
                del self._pids[folder]

    def is_alive(self, folder: Path) -> bool:
        """Return True if a job has a supervisor, of this process or of an earlier one."""
        if folder in self._pids:  # it may not hold its lock yet
            return True
        with (folder / "lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


class LocalRecord(Record, frozen=True, kw_only=True):
    """The record of a local job, with the fields that its supervisor needs."""

    argv: list[str]
    cwd: str
    grace_s: float
    env_sha256: str = ""  # of the variables in the request, which are not kept
    uid: int | None = None  # the job's own user; None: that of the service


class LocalBackend(Backend[LocalRecord]):
    """Runs each job's script once with bash, whatever `worker_replicas` is.

    Relative script paths start in `workdir`; `None` means an own empty folder for each job.
    """

    name = "local"
    used = frozenset({DEADLINE_PATH})

    def __init__(
        self,
        data_dir: Path,
        *,
        workdir: Path | None = None,
        limits: Limits | None = None,
        environ: Mapping[str, str] | None = None,
        uids: range = range(0),
    ) -> None:
        """Set it up; with `uids`, which only root may use, each living job has one of its own."""
        super().__init__(data_dir.absolute() / "jobs", LocalRecord, limits)
        self._workdir = workdir
        self._environ = dict(environ or {})
        self._uids = deque(uids)  # the one used longest ago is the first
        self._supervisors = Supervisors()
        self._watchdog: asyncio.Task[None] | None = None
        self._envs: dict[str, dict[str, str]] = {}  # of jobs that have not begun, by their id

    async def start(self) -> None:
        """Read the jobs of the previous process, and continue those without an end."""
        await self._load()
        _hide_memory()
        for folder in (self._root.parent, self._root) if self._uids else ():
            folder.chmod(0o711)  # jobs pass through to their own folder, and can list nothing
        for job in self._live():
            await (self._remove(job) if self._lost_its_env(job) else self._settle(job))
        self._watchdog = asyncio.create_task(self._watch_supervisors())

    async def close(self, *, stop_jobs: bool) -> None:
        """End watches; stop the jobs if asked."""
        await self._end_watches(stop_jobs=stop_jobs)
        if self._watchdog is not None:
            self._watchdog.cancel()
            await asyncio.gather(self._watchdog, return_exceptions=True)
        self._unlock()

    async def stop(self, job_ids: Sequence[str]) -> list[str]:
        """Ask the supervisors to stop their jobs: TERM, then KILL after the grace time."""
        jobs = [job for job in map(self._jobs.get, job_ids) if job is not None]
        for job in jobs:
            job.ask_to_stop()
        limit_s = self._limits.grace_s + 5
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await asyncio.gather(*(self._stop(job) for job in jobs))
        return [job.record.job_id for job in jobs if job.end is None]

    async def _stop(self, job: Job[LocalRecord]) -> None:
        # Another process writes the end, so there is no event to wait for.
        while (await self._settle(job)) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def _settle(self, job: Job[LocalRecord]) -> JobState | None:
        """Return the end of a job; if it has none, make sure that a supervisor runs."""
        if job.end is None:
            self._supervisors.reap()
            was_alive = self._supervisors.is_alive(job.folder)
            await job.view()  # after is_alive: a supervisor writes the end before it exits
            if _has_begun(job):
                self._envs.pop(job.record.job_id, None)
            if job.end is None and not was_alive and not self._supervisors.is_alive(job.folder):
                self._start(job)
        return job.end

    def _lost_its_env(self, job: Job[LocalRecord]) -> bool:
        """Return True for a job that the service died before it began: nobody was told its id.

        Whoever submits it again gets a new one.
        """
        if _has_begun(job) or self._supervisors.is_alive(job.folder):
            return False
        return job.record.env_sha256 != _env_digest(job.record.job_id, {})

    def _start(self, job: Job[LocalRecord]) -> None:
        """Start a supervisor; with the environment, unless the job has begun before."""
        env = self._envs.get(job.record.job_id)
        if env is None and not _has_begun(job):  # it was asked for with no variables
            env = self._job_env(job.record.request, job.record)
        self._supervisors.start(job.folder, env)

    async def _watch_supervisors(self) -> None:
        while True:
            try:
                self._supervisors.reap()
                for job in self._live():
                    await self._settle(job)
            except Exception:
                log.exception("watchdog failed, goes on")
            await asyncio.sleep(WATCHDOG_S)

    def _kept(self, request: JobRequest) -> JobRequest:
        return msgspec.structs.replace(request, env={})

    def _is_of(self, record: LocalRecord, request: JobRequest) -> bool:
        same_env = record.env_sha256 == _env_digest(record.job_id, request.env)
        return same_env and record.request == self._kept(request)

    def _begin(self, job: Job[LocalRecord], request: JobRequest) -> None:
        self._envs[job.record.job_id] = self._job_env(request, job.record)
        if job.record.uid is not None:
            job.folder.chmod(0o711)
            os.chown(job.folder / "work", job.record.uid, job.record.uid)
        self._start(job)

    def _own_fields(self, request: JobRequest, job_id: str) -> dict[str, Any]:
        return {
            "argv": words(request),
            "cwd": str(self._workdir or self._work(job_id)),
            "grace_s": self._limits.grace_s,
            "uid": self._free_uid(),
            "env_sha256": _env_digest(job_id, request.env),
        }

    def _work(self, job_id: str) -> Path:
        return self._root / job_id / "work"

    def _free_uid(self) -> int | None:
        """Return a user that no living job has; `None` if jobs run as the service's user."""
        taken = {job.record.uid for job in self._live()}
        for _ in range(len(self._uids)):
            self._uids.rotate(-1)
            if self._uids[-1] not in taken:
                return self._uids[-1]
        if self._uids:
            raise RefusedError(429, f"{len(self._uids)} jobs are alive already, one for each user")
        return None

    def _job_env(self, request: JobRequest, record: LocalRecord) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        # RAYJOB_ID comes last: the processes that a job leaves behind are found by it.
        own = {**environment(request), **self._environ, **request.env, "RAYJOB_ID": record.job_id}
        work = str(self._work(record.job_id))
        home = {} if record.uid is None else {"HOME": work, "TMPDIR": work}
        return {**inherited, **own, **home}


def _has_begun(job: Job[LocalRecord]) -> bool:
    """Return True if a supervisor has written of the job: it had the environment."""
    return (job.folder / "events.ndjson").stat().st_size > 0


def _env_digest(job_id: str, env: Mapping[str, str]) -> str:
    """Return what tells variables from others without telling them."""
    return hashlib.sha256(json.dumps([job_id, sorted(env.items())]).encode()).hexdigest()


def _hide_memory() -> None:
    """Keep this process's environment and memory from other processes of its user (Linux)."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
