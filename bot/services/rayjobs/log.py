"""The log of one RayJob: its file and its resume state always cover the same events.

Each text is redacted once, before it is stored and read: both get the same bytes, and a log that is
resumed from its file gives the same digest.
Statuses, watch problems and the end are lines of it too, in the forms that the workflow's own
helper prints, which the digester knows.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, assert_never

from bot.core.digest.result import Digest, Progress
from bot.core.model.rayjobs import RayJob, ResumeState
from bot.core.model.runs import Run
from bot.core.rayjob.events import (
    Event,
    Final,
    LogLine,
    RawText,
    StatusChange,
    WatchProblem,
    are_lines,
    line_in,
)
from bot.core.rayjob.resume import Resume
from bot.core.secrets.redaction import STATE_BYTES, RedactingStream, Redactor
from bot.ports.errors import Transient
from bot.ports.logs import LogFile, LogFiles
from bot.services.rayjobs.digesters import Digesters, LogDigest

_T = TypeVar("_T")

# Unpacked text of one write while a job prints much: fewer, larger blocks pack better.
BLOCK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Mark:
    """What the row may say is stored: the file holds exactly that."""

    resume: ResumeState | None
    log_bytes: int
    lines: int
    progress: Progress | None
    problem: str = ""  # why the file holds no more


class RayJobLog:
    """Takes events in order; `restore` makes one."""

    def __init__(self, run: Run, digest: LogDigest, resume: Resume) -> None:
        self.resume = resume
        self.lines = 0
        self.problem = ""  # why there is no file, "" while there is one
        self._digest = digest
        self._redacting = RedactingStream(Redactor(run.snapshot.log.redact))
        self._file: LogFile | None = None
        self._kept = 0  # stored bytes of a file that can't be written any more
        self._waiting: list[bytes] = []  # the only text with its secrets
        self._waiting_bytes = 0
        self._lock = asyncio.Lock()

    @classmethod
    async def restore(
        cls, files: LogFiles, digesters: Digesters, run: Run, rayjob: RayJob
    ) -> "RayJobLog":
        """Go on after the part that the row says is stored; begin anew if it is lost.

        Beginning anew means a watch from the first line, where the submitter offers one. Without a
        file that can be written it begins anew, too, and leaves the stored part as it is.
        """
        log = cls(run, digesters.of(run, redacted=True), Resume())
        file = await log._open(files, run, rayjob, rayjob.log_bytes)
        if file is None:
            return log
        try:
            log.resume = _resume(rayjob, file.length)
            end = b""
            async for text in file.read():
                log.lines += text.count(b"\n")
                log._digest.feed(text)
                end = (end + text)[-STATE_BYTES:]
                await log.read_on()
            log._redacting.resume(end)
        except asyncio.CancelledError:
            await log.close()
            raise
        except Transient:  # the file is damaged
            await log.close()
            log = cls(run, digesters.of(run, redacted=True), Resume())
            await log._open(files, run, rayjob, 0)
        return log

    async def _open(self, files: LogFiles, run: Run, rayjob: RayJob, keep: int) -> LogFile | None:
        """Open the file, and know it: a cancel meanwhile must not leave it open.

        Return None, and note the problem, if it can't be opened.
        """

        async def opened() -> LogFile:
            self._file = await files.open(run.id, rayjob.job_id, keep=keep)
            return self._file

        try:
            return await finish_despite_cancel(opened())
        except asyncio.CancelledError:
            await self.close()
            raise
        except Transient as error:
            self.problem, self._kept = str(error), keep
            return None

    @property
    def is_full(self) -> bool:
        """Whether the waiting text should be written now."""
        return self._waiting_bytes >= BLOCK_BYTES

    def add(self, events: Sequence[Event]) -> None:
        """Take events that `resume` returned. It never waits, so a cancel can't come in between."""
        if not events:
            return
        lines = map(line_in if are_lines(events) else line_of, events)
        text = ("\n".join(lines) + "\n").encode("utf-8", "replace")
        self.lines += text.count(b"\n")
        self._waiting.append(text)
        self._waiting_bytes += len(text)

    async def flush(self) -> Mark:
        """Redact, store and feed the waiting text; return what the row may say now.

        It ends even during a cancel.
        """
        return await finish_despite_cancel(self._flush())

    async def _flush(self) -> Mark:
        async with self._lock:
            taken, size = len(self._waiting), self._waiting_bytes
            resume, lines = self.resume.state(), self.lines
            if taken:
                await self._write(self._waiting[:taken])
                del self._waiting[:taken]
                self._waiting_bytes -= size
            mark = Mark(None, 0, lines, self._digest.progress)
            if self._file is None:
                # What was stored stays; without a resume state a restart begins anew.
                return replace(mark, log_bytes=self._kept, problem=self.problem)
            return replace(mark, log_bytes=self._file.length, resume=self._shown(resume))

    def _shown(self, state: ResumeState) -> ResumeState:
        """Return a resume state for the row: its half of a line is redacted as in its place."""
        if not state.half:
            return state
        half = self._redacting.half(state.half.encode("utf-8", "replace")).decode()
        return state.with_half(half)

    async def read_on(self) -> None:
        """Let the digest read what waits, if it is much."""
        await self._digest.read()

    async def catch_up(self) -> None:
        """Let the digest read all that waits."""
        await self.flush()
        await self._digest.catch_up()

    async def digest(self, *, passed: bool = False) -> Digest:
        """Return the digest so far."""
        await self.flush()
        return await self._digest.digest(passed=passed)

    async def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            await self._file.close()
            self._file = None

    async def _write(self, texts: Sequence[bytes]) -> None:
        """Redact, store and feed texts; a file that can't be written is closed."""
        redacted = await asyncio.to_thread(self._redacted, texts)
        if self._file is not None:
            await self._append(self._file, redacted)
        for text in redacted:
            self._digest.feed(text)

    async def _append(self, file: LogFile, texts: Sequence[bytes]) -> None:
        try:
            await file.append(*texts)
        except Transient as error:
            self.problem, self._kept = str(error), file.length
            self._file = None
            await file.close()

    def _redacted(self, texts: Sequence[bytes]) -> list[bytes]:
        return [*map(self._redacting.feed, texts), self._redacting.settle()]


async def finish_despite_cancel(work: Coroutine[Any, Any, _T]) -> _T:
    """Await short work to its end; a cancel during the work is raised afterwards."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


def line_of(event: Event) -> str:
    """Return an event as a line of the log."""
    match event:
        case LogLine() | RawText():
            return event.line
        case StatusChange():
            words = (
                f"status={event.status} rayjob_status={event.rayjob_status}"
                f" deployment_status={event.job_deployment_status}"
            )
            return f"[rayjob status] {words} {event.message}".rstrip()
        case WatchProblem():
            return f"[rayjob error] {event.message}".rstrip()
        case Final():
            return f"[rayjob final] {event.status} {event.message}".rstrip()
        case _:
            assert_never(event)


def _resume(rayjob: RayJob, kept: int) -> Resume:
    if rayjob.resume is None and kept:
        raise Transient(f"the resume state of {rayjob.job_id} is of another version")
    return Resume(rayjob.resume if kept == rayjob.log_bytes else None)
