"""The row of one RayJob under our lease: collects changes, and saves them if it is still ours."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.core.model.run_events import RayJobContested, RayJobLogLost, RunEvent, Source, What
from bot.core.rayjob.words import FinalStatus
from bot.core.secrets.redaction import Redactor
from bot.ports.clock import Clock
from bot.ports.errors import Transient
from bot.services.rayjobs.log import Mark, finish_despite_cancel
from bot.services.workers import LEASE_S
from bot.store import Store
from bot.store.rayjobs import ClaimedRayJob, SaveRayJob
from bot.telemetry import Log, Metrics

_MAX_MESSAGE_CHARS = 1000  # a message goes into a check run's summary
_SECOND = timedelta(seconds=1)
_READ_CHARS = 4_000  # no cut divides a secret of which a part is shown


def shown_message(redact: Redactor, message: str) -> str:
    """Return a message from outside, cut and redacted to be stored and shown."""
    return redact(message[:_READ_CHARS])[:_MAX_MESSAGE_CHARS].replace("\0", "\ufffd")


class LeaseLost(Exception):  # noqa: N818  it is an end of reading, not an error
    """Another process reads this RayJob now, or its run is done."""


class RayJobRow:
    """Holds the row as it should be; `keep` and `give_back` write it."""

    def __init__(
        self, store: Store, claimed: ClaimedRayJob, clock: Clock, log: Log, metrics: Metrics
    ) -> None:
        self.job = claimed.rayjob
        self.urgent = False  # a change that should not wait for the next regular save
        self.changed = False
        self.saved_at = clock.now()
        self._store = store
        self._metrics = metrics
        self._repo_id = claimed.run.repo_id
        self._is_contested = False
        self._lease = claimed.lease
        self.clock = clock
        self.log = log
        self._run_events: tuple[RunEvent, ...] = ()
        self._poke = False
        self._progress = False
        self._has_problem = False
        self._redact = Redactor(claimed.run.snapshot.log.redact)
        self._lock = asyncio.Lock()

    @property
    def ended(self) -> bool:
        """Whether the end of the job is known for good."""
        return self.job.final is not None and FinalStatus.of(self.job.final).tells_the_end

    def set(self, *, poke: bool = False, **fields: Any) -> None:
        """Change fields of the row; `poke` makes the run look at it."""
        self.job = replace(self.job, **fields)
        self.changed = True
        self._poke |= poke
        self.urgent |= poke

    def heard_line(self) -> None:
        """Note the time of the last line, to the second: a job may print 50,000 lines in one."""
        now, last = self.clock.now(), self.job.last_line_at
        if last is None or now - last >= _SECOND:
            self.set(last_line_at=now)

    def note(self, what: What) -> None:
        """Add an event to the run's timeline, shown with the next progress."""
        run_event = RunEvent(self.job.run_id, Source.WATCH, self.clock.now(), what)
        self._run_events += (run_event,)
        self.changed = self.urgent = self._progress = True

    def end(self, word: FinalStatus, message: str, *, source: str) -> None:
        """Note how the job ended; a word that tells a real end replaces one that does not."""
        if self.ended and not word.tells_the_end:
            return
        said = word.value, source, self.shown(message)
        if said == (self.job.final, self.job.final_from, self.job.message):
            return
        self.set(final=said[0], final_from=said[1], message=said[2], silent_since=None, poke=True)

    def silent(self, message: str = "") -> None:
        """Note since when the submitter does not tell the state of the job."""
        if self.job.silent_since is None and not self.ended:
            more = {"message": self.shown(message)} if message and not self.job.final else {}
            self.set(silent_since=self.clock.now(), poke=True, **more)

    def alive(self) -> None:
        """Take back the note that the job or its submitter is gone."""
        if self.job.silent_since is not None:
            self.set(silent_since=None, message="", poke=True)
        if self.job.final is not None and not self.ended:
            self.set(final=None, final_from="", message="", poke=True)

    def mark(self, mark: Mark) -> None:
        """Note what the file of the log holds."""
        before = self.job.progress.step if self.job.progress else None
        self.set(
            resume=mark.resume,
            log_bytes=mark.log_bytes,
            lines=mark.lines,
            progress=mark.progress or self.job.progress,
        )
        self._progress |= mark.progress is not None and mark.progress.step != before
        if mark.problem and not self._has_problem:
            self._has_problem = True
            self.log.error("a log can't be kept", why=mark.problem)
            self.note(RayJobLogLost(self.job.job_id, mark.problem))

    async def is_contested(self, *, elsewhere: bool) -> bool:
        """Return True if another run names this RayJob, too; raise an alarm the first time.

        With ``elsewhere`` only runs of other repositories count.
        """
        try:
            rivals = await self._store.rayjobs.rivals(self.job, self._repo_id, elsewhere=elsewhere)
        except Transient as error:
            if not error.is_told:
                self.log.warning("it is not known whether others name a RayJob", why=str(error))
            return True
        if rivals and not self._is_contested:
            self._is_contested = True
            self.note(RayJobContested(self.job.job_id))
            self._metrics.contested.inc()
            self.log.error("two runs name one RayJob", others=rivals)
        return bool(rivals)

    def shown(self, message: str) -> str:
        """Return a message from outside, cut and redacted for the row."""
        return shown_message(self._redact, message)

    async def keep(self) -> bool:
        """Save and prolong the lease."""
        return await finish_despite_cancel(self._save(keep_s=LEASE_S, due=None))

    async def give_back(self, due: datetime | None) -> bool:
        """Save, and give the lease back until `due`, for good if it is `None`."""
        return await finish_despite_cancel(self._save(keep_s=None, due=due))

    async def _save(self, *, keep_s: float | None, due: datetime | None) -> bool:
        """Save; return False if the database can't be reached now. Raises `LeaseLost`."""
        async with self._lock:
            run_events, poke, progress = self._run_events, self._poke, self._progress
            save = SaveRayJob(self.job, run_events, poke, progress, keep_s, due)
            self._run_events, self._poke, self._progress = (), False, False
            self.changed = self.urgent = False
            try:
                held = await self._store.rayjobs.save(self._lease, save, self.clock.now())
            except Transient as error:
                self._run_events = run_events + self._run_events
                self._poke, self._progress = self._poke or poke, self._progress or progress
                self.changed = True
                if not error.is_told:
                    self.log.warning("a RayJob could not be saved", why=str(error))
                return False
            if not held:
                raise LeaseLost
            self.saved_at = self.clock.now()
            return True
