"""One job on a Ray cluster: submit it, read its log, and write its end, despite any failure.

Each turn asks the cluster for the job and does the one next thing. So a restart of the service or
of the cluster's dashboard needs no special case. One reader writes the log into the job's event
file, and all watches read that file.
"""

import asyncio
import contextlib
import logging
import shlex
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from bot.submitter.backend import OF_RUN, JobState
from bot.submitter.event_file import JobFiles, Lines
from bot.submitter.jobs import Job, Record, environment, read_state, words
from bot.submitter.ray_api import AnswerError, RayApi, RayJob, UnreachableError

log = logging.getLogger(__name__)

SOONEST_S, LATEST_S = 0.5, 3.0  # between two polls of a job, by its age
STOPPING_S = 0.3
STOP_AGAIN_S = 5.0
OUTAGE_LATEST_S = 10.0
SAY_OUTAGE_AFTER = 3  # failed polls in a row
REFUSALS = 5  # Ray answers 500 to a bad job and to a temporary error
MISSING_LOOKS = 10  # a known job is given up after so many polls that do not find it
LOG_TRIES = 3  # for the rest of an ended job's log, if the cluster refuses it
LOG_TRIES_UNREACHED = 30
ENDS = ("SUCCEEDED", "FAILED", "STOPPED")
MAX_MESSAGE_CHARS = 300  # Ray's message contains the last lines of the log


class RayRecord(Record, frozen=True, kw_only=True):
    """The record of a Ray job; `cpus`, `gpus` and `resources` are those of the entrypoint."""

    workdir: str | None
    cpus: float | None
    gpus: float | None
    resources: dict[str, float]

    def body(self) -> dict[str, Any]:
        """Return the body of Ray's `POST /api/jobs/`."""
        request = self.request
        own = {**environment(request), **request.env, "RAYJOB_ID": self.job_id}
        held = {
            "entrypoint_num_cpus": self.cpus,
            "entrypoint_num_gpus": self.gpus,
            "entrypoint_resources": self.resources or None,
        }
        return {
            "submission_id": self.job_id,
            "entrypoint": self._entrypoint(),
            "runtime_env": {"env_vars": own},
            "metadata": {name: getattr(request, name) for name in OF_RUN},
            **{name: value for name, value in held.items() if value is not None},
        }

    def _entrypoint(self) -> str:
        command = shlex.join(words(self.request))
        # Ray uses a shell: with `exec` there is one process for its signals.
        enter = "" if self.workdir is None else f"cd -- {shlex.quote(self.workdir)} && "
        return f"{enter}exec {command}"


class RayFollower:
    """Brings one job to its end; `run` returns once the end is written.

    Tests make every pause shorter with `pace`.
    """

    def __init__(self, api: RayApi, job: Job[RayRecord], pace: float = 1.0) -> None:
        record = job.record
        self._pace = pace
        self._api = api
        self._job = job
        self._id = record.job_id
        self._files = JobFiles(job.folder, record.max_log_bytes)
        self._lines = Lines(record.max_line_bytes)
        self._written = 0  # log lines in the file, and lines of a replay to skip
        self._skip = 0
        self._writing = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None
        self._poked = asyncio.Event()
        self._shown = read_state(job.folder)
        self._failures = self._refusals = self._missing = self._log_tries = 0
        self._stop_sent_at = float("-inf")

    def poke(self) -> None:
        """Poll at once: a stop was asked for."""
        self._poked.set()

    async def run(self) -> None:
        """Follow the job until its end is written."""
        try:
            self._written = await asyncio.to_thread(self._files.events.count_logs)
            while self._job.end is None:
                await self._turn()
                if self._job.end is None:
                    await self._wait()
        finally:
            await self._close_reader()
            self._files.events.close()

    async def _turn(self) -> None:
        """Poll once; report an outage of the cluster once."""
        try:
            try:
                if not self._files.events.seq:
                    await self._show("PENDING", self._job.record.note, "", "New")
                found = await self._api.job(self._id)
                await (self._on_absent() if found is None else self._on_found(found))
                self._failures = 0
            except (UnreachableError, AnswerError) as error:
                self._failures += 1
                if self._failures == SAY_OUTAGE_AFTER:
                    await self._emit_error(f"the Ray cluster: {error}")
        except OSError as error:  # the cluster keeps the log until there is space again
            log.warning("cannot write of %s: %s", self._id, error)
            self._failures += 1
        except Exception:
            log.exception("following %s failed, goes on", self._id)
            self._failures += 1

    async def _wait(self) -> None:
        if self._failures:
            pause_s = min(SOONEST_S * 2 ** min(self._failures, 10), OUTAGE_LATEST_S)
        elif self._verdict() is not None:
            pause_s = STOPPING_S
        else:
            pause_s = min(max(SOONEST_S, self._age_s() / 60), LATEST_S)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_s * self._pace):
                await self._poked.wait()
        self._poked.clear()

    def _age_s(self) -> float:
        created = datetime.fromisoformat(self._job.record.created_at)
        return (datetime.now(UTC) - created).total_seconds()

    def _verdict(self) -> tuple[str, str] | None:
        """Return the end that we caused ourselves: status, message."""
        limit = self._job.record.deadline_s
        if self._job.is_to_stop():
            return "STOPPED", "stopped on request"
        if limit is not None and self._age_s() > limit:
            return "TIMEOUT", f"DeadlineExceeded: longer than {limit} s"
        return None

    async def _on_absent(self) -> None:
        if self._shown.rayjob_status:  # the cluster knew it before
            self._missing += 1
            if self._missing >= MISSING_LOOKS:
                await self._finish("NOT_FOUND", "the Ray cluster does not know the job any more")
        elif verdict := self._verdict():
            # A POST that went astray may still arrive.
            await self._api.stop(self._id)
            await self._finish(*verdict)
        else:
            await self._submit()

    async def _submit(self) -> None:
        wanted = self._job.record.request.worker_replicas
        alive = await self._api.nodes_alive()
        if alive < wanted:
            message = f"waiting for nodes: {alive} of {wanted} are alive"
            await self._show("PENDING", message, "", "Initializing")
            return
        try:
            await self._api.submit(self._job.record.body())
        except AnswerError as error:
            self._refusals += 1
            if self._refusals < REFUSALS:
                raise
            await self._finish("FAILED", f"SubmissionFailed: {error}")
        self.poke()

    async def _on_found(self, found: RayJob) -> None:
        self._missing = 0
        if found.status in ENDS:
            await self._end(found)
            return
        deployment = "Running" if found.status == "RUNNING" else "Initializing"
        await self._show(found.status, _first_line(found.message), found.status, deployment)
        if found.driver_node_id and self._reader is None and not self._files.events.is_full:
            self._reader = asyncio.create_task(self._read(found.driver_node_id))
        now = asyncio.get_running_loop().time()
        if self._verdict() is not None and now - self._stop_sent_at > STOP_AGAIN_S * self._pace:
            await self._api.stop(self._id)
            self._stop_sent_at = now

    async def _end(self, found: RayJob) -> None:
        await self._close_reader()
        if found.driver_node_id and not self._files.events.is_full:
            await self._read_rest(found.driver_node_id)
        if found.status == "SUCCEEDED":
            await self._finish("SUCCEEDED", "exit code 0")
        elif found.status == "STOPPED":
            await self._finish(*(self._verdict() or ("STOPPED", _first_line(found.message))))
        elif found.driver_exit_code is not None and found.driver_exit_code > 0:
            await self._finish("FAILED", f"AppFailed: exit code {found.driver_exit_code}")
        else:
            await self._finish("FAILED", f"AppFailed: {_first_line(found.message)}")

    async def _read(self, node_id: str) -> None:
        """Read the log as it grows; a new stream starts at the first byte."""
        while not self._files.events.is_full:
            try:
                await self._take_all(node_id, follow=True)
            except (UnreachableError, AnswerError, OSError) as error:
                log.info("log of %s: %s", self._id, error)
            await asyncio.sleep(SOONEST_S * self._pace)

    async def _read_rest(self, node_id: str) -> None:
        """Read an ended job's log again, for lines that the stream did not bring."""
        try:
            await self._take_all(node_id, follow=False)
        except (UnreachableError, AnswerError) as error:
            self._log_tries += 1
            limit = LOG_TRIES if isinstance(error, AnswerError) else LOG_TRIES_UNREACHED
            if self._log_tries < limit:
                raise
            await self._emit_error(f"the end of the log could not be read: {error}")

    async def _take_all(self, node_id: str, *, follow: bool) -> None:
        self._lines = Lines(self._job.record.max_line_bytes)
        self._skip = self._written
        async with aclosing(self._api.log(self._id, node_id, follow=follow)) as chunks:
            async for chunk in chunks:
                await self._write(lambda: self._keep(self._lines.feed(chunk)))  # noqa: B023
                if self._files.events.is_full:
                    return
        if not follow:
            await self._write(lambda: self._keep(self._lines.rest()))

    def _keep(self, lines: list[str]) -> None:
        fresh = lines[self._skip :]
        self._files.events.log(fresh)
        self._skip = max(0, self._skip - len(lines))
        self._written += len(fresh)

    async def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            self._reader = None

    async def _show(self, status: str, message: str, ray: str, deployment: str) -> None:
        state = JobState(status, message, ray, deployment, None)
        if state != self._shown:
            await self._write(self._files.status, status, message, ray, deployment)
            self._shown = state

    async def _emit_error(self, message: str) -> None:
        await self._write(lambda: self._files.events.emit("error", message=message))

    async def _finish(self, status: str, message: str) -> None:
        state = await self._write(self._files.finish, status, message)
        self._job.end = JobState(**state)
        log.info("job ended: %s %s", self._id, state["status"])

    async def _write(self, write: Any, *args: Any) -> Any:
        """Write to the files in a thread, one call at a time; a cancel waits for its end."""
        async with self._writing:
            task = asyncio.ensure_future(asyncio.to_thread(write, *args))
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                await asyncio.gather(task, return_exceptions=True)
                raise


def _first_line(message: str | None) -> str:
    return (message or "").partition("\n")[0][:MAX_MESSAGE_CHARS]
