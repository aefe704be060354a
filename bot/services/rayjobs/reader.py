"""Reads one RayJob to its end: watch, ask, wait, again; what is heard goes into log and row.

A log may come in any number of watches over hours, and what breaks one is no news of the job. Only
a `final` of the watch or the submitter's record says how it ended; everything else leaves the end
open, and the verdict waits for it.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from bot.core.model.run_events import RayJobChanged, RayJobForeign, RayJobUnrecorded
from bot.core.rayjob.events import Event, Final, LogLine, StatusChange, are_lines
from bot.core.rayjob.record import Gone, NotOffered, RayJobRecord
from bot.core.rayjob.stream import StreamDecoder
from bot.core.rayjob.words import FinalStatus, state_word
from bot.ports.errors import Silent, SubmitterRefused, Transient
from bot.ports.rayjobs import Submitter
from bot.services.rayjobs.log import RayJobLog
from bot.services.rayjobs.row import RayJobRow
from bot.store.rayjobs import ClaimedRayJob

BACK_OFF_S = (1.0, 2.0, 5.0, 10.0, 30.0)
_MOST_WAIT_S = 300.0  # the longest wait, even if an ingress asks for more
# Decoded at once before other streams have their turn: a fraction of a millisecond. A larger piece
# leaves the processor's caches before it is stored.
_PIECE_BYTES = 64 * 1024
# Watches in a row that brought nothing and ended soon, after which the end counts as unknown.
_FRUITLESS = 3
# A watch held open so long says that the submitter knows the job, though nothing came.
_HELD_OPEN_S = 20.0
# Watches for the rest of the log of a job whose end is known by its record.
_REST_WATCHES = 3
_HTTP_NOT_FOUND = 404
_ASK_AFTER = timedelta(seconds=60)  # of silence on an open stream: the job may have ended
# The log of a job that has ended is at hand: a stream of it that says nothing for so long is left,
# and so is the next one. Both and the way to them take 30 s at most.
_REST_AFTER, _REST_OPEN = timedelta(seconds=15), timedelta(seconds=5)
_WAY = {"new": 0, "initializing": 1, "pending": 1, "running": 2, "complete": 3}
_unseen = "the submitter tells neither a final nor the job's state"


@dataclass(frozen=True, slots=True)
class _Unreachable:
    """The submitter did not answer."""

    reason: str


def _how_far(deployment: str, status: str) -> int | None:
    """Return how far a job is, None for a state after which it may go back."""
    return _WAY.get((deployment or status).casefold())


class RayJobReader:
    """Reads one RayJob into a log and a row of its caller."""

    def __init__(
        self, claimed: ClaimedRayJob, row: RayJobRow, job_log: RayJobLog, rayjobs: Submitter
    ) -> None:
        self._run = claimed.run
        self._repo = claimed.repo
        self._row = row
        self._job_log = job_log
        self._rayjobs = rayjobs
        self._clock = row.clock
        self._log = row.log
        self._job_id = row.job.job_id
        self._stop = False  # the watch told the end, or the record names another run
        self._cut: Transient | SubmitterRefused | None = None  # what broke the last watch
        self._news = False  # the last watch brought something
        self._ours = row.job.confirmed  # the log may be read
        self._recordless = False  # the submitter has no call for a job's state
        self._patience: asyncio.Timeout | None = None  # with the open stream
        self._heard_at = self._opened_at = self._asked_at = self._clock.now()
        self._fruitless = 0
        self._waits = 0
        self._rest = 0

    async def read(self) -> None:
        """Read until the job and its log have ended."""
        if self._row.ended and self._row.job.final_from == "watch":
            return
        if not self._ours:
            await self._look()
        while not self._stop:
            # Then only the rest of the log is wanted; a job does not go on after STOPPED.
            ended = self._has_ended
            if self._ours:
                await self._watch()
            if self._stop or (ended and self._rest_is_read()):
                return
            await self._look()
            if not self._stop:
                await self._wait()

    @property
    def _has_ended(self) -> bool:
        return self._row.ended or self._row.job.final == FinalStatus.STOPPED

    async def heed_silence(self) -> None:
        """Ask for the state of a job whose open stream is silent; leave that of one that ended."""
        now = self._clock.now()
        if self._patience is None:
            return
        if not self._has_ended and now - max(self._heard_at, self._asked_at) >= _ASK_AFTER:
            self._asked_at = now
            await self._look()
        silent, opened = now - self._heard_at >= _REST_AFTER, now - self._opened_at >= _REST_OPEN
        if self._has_ended and silent and opened and self._patience is not None:
            self._patience.reschedule(0)
            self._patience = (
                None  # it can't be set again, and the stream may take its time to close
            )

    async def _watch(self) -> None:
        """Read one watch until it ends or breaks."""
        decoder, resume = StreamDecoder(), self._job_log.resume
        self._cut, self._news = None, False
        self._opened_at = self._clock.now()
        resume.connected()
        try:
            async with asyncio.timeout(None) as self._patience:
                await self._read_stream(decoder, resume.after)
        except TimeoutError:
            self._log.info("a silent stream of a job that has ended was left")
        except (Transient, SubmitterRefused) as error:
            self._cut = error
        finally:  # also on a cancel: the lines that were read count
            self._patience = None
            events, half = decoder.end()
            self._take(resume.take(events))
            self._take(resume.disconnected(half))
        held_open_s = (self._clock.now() - self._opened_at).total_seconds()
        held_open = held_open_s >= _HELD_OPEN_S or isinstance(self._cut, Silent)
        self._fruitless = 0 if self._news or held_open else self._fruitless + 1
        self._waits = 0 if self._news else self._waits
        if self._cut is not None:
            self._log.info("a watch broke off", why=str(self._cut), lines=self._job_log.lines)

    async def _read_stream(self, decoder: StreamDecoder, after: int) -> None:
        async with aclosing(self._rayjobs.watch(self._job_id, after=after)) as chunks:
            async for chunk in chunks:
                self._heard_at = self._clock.now()
                await self._take_chunk(decoder, chunk)
                if self._stop:
                    return

    async def _take_chunk(self, decoder: StreamDecoder, chunk: bytes) -> None:
        for start in range(0, len(chunk), _PIECE_BYTES):
            events = decoder.feed(chunk[start : start + _PIECE_BYTES])
            self._take(self._job_log.resume.take(events))
            if self._job_log.is_full:
                await self._keep_log()
                await self._job_log.read_on()
            if self._row.urgent and not self._stop:
                await self._save()
            await asyncio.sleep(0)  # a stream that never pauses would starve the others

    def _take(self, events: Sequence[Event]) -> None:
        """Put new events into the log and the row; never waits (see `RayJobLog.add`)."""
        if not events:
            return
        self._job_log.add(events)
        self._row.changed = True
        others = [] if are_lines(events) else [e for e in events if type(e) is not LogLine]
        if len(others) < len(events):
            self._note_life()
            self._row.heard_line()
        for event in others:
            if isinstance(event, StatusChange):
                self._note_life()
                self._status(event.status, event.job_deployment_status, event.message)
            elif isinstance(event, Final):
                self._final(event)

    def _note_life(self) -> None:
        """Note that the job sent something: it lives, and so does its submitter."""
        self._news = True
        self._confirm_by_watch()
        self._row.alive()

    def _status(self, status: str, deployment: str, message: str) -> None:
        known = _how_far(self._row.job.deployment, self._row.job.status)
        told = _how_far(deployment, status)
        if known is not None and told is not None and told < known:
            return  # a stream that begins anew repeats old states
        before = state_word(self._row.job.deployment, self._row.job.status)
        deployment, status = self._row.shown(deployment), self._row.shown(status)
        state = state_word(deployment, status)
        # A record says RUNNING where the stream says Running: one state, told once.
        if state and state.casefold() != before.casefold():
            self._row.note(RayJobChanged(self._job_id, deployment, status))
        self._row.set(status=status, deployment=deployment)
        if message and self._row.job.final is None:
            self._row.set(message=self._row.shown(message))

    def _final(self, event: Final) -> None:
        word = FinalStatus.of(event.status)
        self._news = True
        self._row.end(word, event.message, source="watch")
        self._stop = word.tells_the_end
        if word.tells_the_end:
            self._confirm_by_watch()

    async def _look(self) -> None:
        """Ask for the job's state, and take its end from the answer."""
        answer = await self._ask()
        self._ours = await self._may_be_ours(answer)
        match answer:
            case RayJobRecord():
                if self._ours:
                    self._record(answer)
            case Gone():
                self._row.end(FinalStatus.NOT_FOUND, answer.message, source="state")
            case NotOffered():
                self._stateless()
            case _Unreachable():
                self._log.warning("the submitter does not answer", why=answer.reason)
                self._row.silent()
            case _:
                assert_never(answer)
        unread = self._fruitless >= _FRUITLESS
        if unread and (self._cut is not None or isinstance(answer, NotOffered)):
            self._row.silent(str(self._cut or _unseen))
        await self._save()

    async def _ask(self) -> RayJobRecord | NotOffered | Gone | _Unreachable:
        try:
            answer = await self._rayjobs.job(self._job_id)
        except (Transient, SubmitterRefused) as error:
            return _Unreachable(str(error))
        if isinstance(answer, NotOffered) and (problem := await self._rayjobs.health()):
            return _Unreachable(str(problem))
        return answer

    def _record(self, record: RayJobRecord) -> None:
        """Take from the record the job's state and its end."""
        if record.final is not None:
            self._row.end(record.final, record.message, source="state")
            return
        if self._fruitless < _FRUITLESS:
            self._row.alive()
        self._status(record.status, record.job_deployment_status, record.message)

    async def _may_be_ours(self, answer: RayJobRecord | NotOffered | Gone | _Unreachable) -> bool:
        """Return True if the log may be read; confirm a job whose record names our Actions run.

        Anybody can name an id. Without a record it is ours only if no other run names it. A record
        that nobody proved is ours only if no run of another repository names the id. A submitter
        that does not answer, or does not know the job yet, proves nothing.
        """
        if self._row.job.confirmed:
            return True
        if isinstance(answer, RayJobRecord):
            number, attempt = self._run.actions_run_id, self._run.actions_attempt
            if number and answer.belongs_to(self._repo, number, attempt):
                if answer.is_proven or not await self._row.is_contested(elsewhere=True):
                    self._row.set(confirmed=True, poke=True)
                return self._row.job.confirmed
            if answer.github_run_id is not None:
                self._leave_alone(answer)
                return False
        elif not isinstance(answer, NotOffered):
            return False
        return not await self._row.is_contested(elsewhere=False)

    def _leave_alone(self, record: RayJobRecord) -> None:
        """Stop reading a job of another run: its id came from a log that anybody can write to."""
        number, attempt = record.github_run_id, record.github_run_attempt
        where = f" of {record.repository}" if record.repository else ""
        message = f"it is of Actions run {number}, attempt {attempt}{where}"
        self._row.set(message=self._row.shown(message))
        self._row.note(RayJobForeign(self._job_id))
        self._stop = True

    def _stateless(self) -> None:
        """Go on without records: only the watch tells the job's state."""
        self._recordless = True
        if isinstance(self._cut, SubmitterRefused) and self._cut.status == _HTTP_NOT_FOUND:
            self._row.end(FinalStatus.NOT_FOUND, str(self._cut), source="watch")
        elif self._fruitless < _FRUITLESS and not self._row.job.final:
            self._row.alive()

    def _confirm_by_watch(self) -> None:
        """Confirm a job by its watch, if the submitter keeps no record that could name its run."""
        if self._recordless and not self._row.job.confirmed:
            self._row.set(confirmed=True, poke=True)
            self._row.note(RayJobUnrecorded(self._job_id))

    def _rest_is_read(self) -> bool:
        self._rest += 1
        return self._cut is None or self._rest >= _REST_WATCHES

    async def _wait(self) -> None:
        """Wait before the next watch; after a silent watch of a living job do not wait."""
        if isinstance(self._cut, Silent) and self._row.job.silent_since is None:
            return
        wait_s = BACK_OFF_S[min(self._waits, len(BACK_OFF_S) - 1)]
        self._waits += 1
        asked_s = self._cut.retry_after_s if isinstance(self._cut, Transient) else None
        await self._clock.sleep(min(max(wait_s, asked_s or 0.0), _MOST_WAIT_S))

    async def _keep_log(self) -> None:
        self._row.mark(await self._job_log.flush())

    async def _save(self) -> None:
        if self._row.changed:
            await self._keep_log()
            if self._row.job.final is not None:
                self._row.set(digest=await self._job_log.digest())
            await self._row.keep()
