"""Plans the firings of schedules.

A firing is a measurement: suites that passed on a commit run there again. Times are UTC.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from cronsim import CronSim

from bot.core.messages import Message
from bot.core.messages.words import count, duration, listing
from bot.core.model.ids import RepoId, short
from bot.core.model.runs import Outcome, Run, State
from bot.core.planning.attempts import AttemptMaker, latest
from bot.core.planning.commits import Commit, start
from bot.core.planning.plan import DropClaimant, Plan, RunClaimants
from bot.core.policy.models import Nightly
from bot.core.policy.selection import nightly_suites

CATCH_UP = timedelta(hours=2)  # a later firing starts nothing, and its note says so
WAIT_FOR = timedelta(hours=24)  # what a firing still waits for then is skipped
_ON_TIME = timedelta(minutes=5)  # not worth a word
NO_ROOM_FOR = 500  # characters of a note that repeats what others said


class FiringState(StrEnum):
    """How far a firing is."""

    ASKED = "asked"  # an operator wants it now; the service starts it
    STARTED = "started"
    SKIPPED = "skipped"
    REFUSED = "refused"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule of a repository, and the time of its next firing."""

    repo_id: RepoId
    name: str
    cron: str
    next: datetime


@dataclass(frozen=True, slots=True)
class Firing:
    """One firing of a schedule: its planned time and its state."""

    repo_id: RepoId
    name: str
    at: datetime
    state: FiringState
    sha: str = ""  # the head of its branch then, "" when nothing was started
    note: str = ""


def firing_source(name: str, at: datetime) -> str:
    """Return the claimant of a firing."""
    return f"{source_prefix(name)}{at:%Y-%m-%dT%H:%M:%SZ}"


def source_prefix(name: str) -> str:
    """Return how the claimants of a schedule's firings begin."""
    return f"nightly:{name}@"


def next_time(cron: str, after: datetime) -> datetime:
    """Return the first time of a schedule after a moment."""
    return next(CronSim(cron, after))


def _last(cron: str, now: datetime) -> datetime:
    """Return the latest time of a schedule that is not in the future."""
    return next(CronSim(cron, now.replace(microsecond=0) + timedelta(seconds=1), reverse=True))


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """The difference between a repository's rows and its policy."""

    put: tuple[Schedule, ...] = ()
    drop: tuple[Schedule, ...] = ()


def schedule_change(
    repo_id: RepoId, entries: Iterable[Nightly], rows: Iterable[Schedule], now: datetime
) -> ScheduleChange:
    """Return the difference to the policy; a new or changed schedule never fires for the past."""
    known, wanted = {row.name: row for row in rows}, {entry.name: entry for entry in entries}
    put = [
        Schedule(repo_id, name, entry.cron, next_time(entry.cron, now))
        for name, entry in wanted.items()
        if name not in known or known[name].cron != entry.cron
    ]
    return ScheduleChange(
        tuple(put), tuple(row for name, row in known.items() if name not in wanted)
    )


def too_far_ahead(rows: Iterable[Schedule], now: datetime) -> tuple[tuple[Schedule, Schedule], ...]:
    """Return each row whose time is too late, with the row as it should be.

    A clock that ran ahead for a while has moved it on: its firings would be lost.
    """
    right = ((row, replace(row, next=next_time(row.cron, now))) for row in rows)
    return tuple((row, early) for row, early in right if row.next > early.next)


@dataclass(frozen=True, slots=True)
class DueFiring:
    """A firing whose time has come: the latest of those missed, and the time after it."""

    at: datetime
    then: datetime
    late: timedelta
    missed: bool  # earlier ones passed too; they are not caught up

    @property
    def too_late(self) -> bool:
        """Return True if it starts nothing because it is too late."""
        return self.late > CATCH_UP

    @property
    def note(self) -> str:
        """Return how late it is in words, "" if it is on time."""
        if self.late <= _ON_TIME and not self.missed:
            return ""
        late = f"{duration(self.late.total_seconds())} late"
        done = "not caught up" if self.too_late else "caught up"
        more = ", for all times missed since the one before" if self.missed else ""
        return f"the service was away: {done} {late}{more}"


def due_firing(row: Schedule, now: datetime) -> DueFiring | None:
    """Return the firing of a schedule that is due; None if its time has not come."""
    if row.next > now:
        return None
    at = max(row.next, _last(row.cron, now))
    return DueFiring(at, next_time(row.cron, now), now - at, missed=at > row.next)


@dataclass(frozen=True, slots=True)
class FiringPlan:
    """A firing as it is stored, and the runs that it starts."""

    firing: Firing
    changes: Plan


def plan_nothing(firing: Firing, state: FiringState, *notes: str) -> FiringPlan:
    """Return a firing that starts nothing, with the reason in its note."""
    return FiringPlan(replace(firing, state=state, note=_joined(firing.note, *notes)), Plan())


def refuse(firing: Firing, why: str) -> FiringPlan:
    """Return a firing that its policy or its branch does not allow."""
    return plan_nothing(firing, FiringState.REFUSED, why)


@dataclass(frozen=True, slots=True)
class NightRuns:
    """The attempts that a firing meets."""

    at_head: tuple[RunClaimants, ...]
    before: tuple[RunClaimants, ...] = ()  # open ones of the schedule's earlier firings


def plan_firing(
    firing: Firing, commit: Commit, entry: Nightly, runs: NightRuns, maker: AttemptMaker
) -> FiringPlan:
    """Plan a firing at the head of its branch; what still waits at an older one gives way."""
    before = latest(runs.at_head)
    names = nightly_suites(commit.at.policy, entry)
    reasons = {name: _reason(entry, before.get(name)) for name in names}
    changes = start(commit, reasons, runs.at_head, lambda _run, _frozen: True, maker)
    changes = replace(changes, drop_claimants=_given_up(firing, commit, names, runs.before))
    note = _joined(firing.note, _started(changes, before))
    return FiringPlan(
        replace(firing, state=FiringState.STARTED, sha=commit.sha, note=note), changes
    )


def _given_up(
    firing: Firing, commit: Commit, names: Collection[str], before: tuple[RunClaimants, ...]
) -> tuple[DropClaimant, ...]:
    """Give up what earlier firings wait for at another head, and this one runs anew."""
    why = Message("superseded_night", name=firing.name, sha=short(commit.sha))
    return tuple(
        DropClaimant(item.run.id, claimant.source, why)
        for item in before
        if item.run.suite in names and item.run.sha != commit.sha
        if item.run.state is State.QUEUED
        for claimant in item.claimants
        if claimant.source.startswith(source_prefix(firing.name))
    )


def plan_skipped(firing: Firing, runs: Iterable[RunClaimants], now: datetime) -> Plan:
    """Give up what a firing waits for since a day."""
    source = firing_source(firing.name, firing.at)
    waiting = (
        item.run.id
        for item in runs
        if item.run.state is State.QUEUED
        if any(claimant.source == source for claimant in item.claimants)
    )
    if now - firing.at < WAIT_FOR:
        return Plan()
    why = Message("superseded_waited", name=firing.name)
    return Plan(drop_claimants=tuple(DropClaimant(run_id, source, why) for run_id in waiting))


def _reason(entry: Nightly, before: Run | None) -> Message:
    reason = Message("selected_nightly", name=entry.name)
    if before is None or before.state is not State.DONE:
        return reason
    passed = before.outcome is Outcome.SUCCESS
    key = "selected_after_pass" if passed else "selected_after_end"
    return Message(key, why=reason, attempt=before.attempt)


def _started(changes: Plan, before: dict[str, Run]) -> str:
    """Return in words which suites were started, joined, and run again on the same commit."""
    new = [run for run, _ in changes.new_runs]
    again = [run.suite for run in new if run.attempt > 1]
    ids = {claimant.run_id for claimant in changes.add_claimants}
    joined = [run.suite for run in before.values() if run.id in ids]
    parts = [f"{count(len(new), 'suite')} started" if new else ""]
    parts += [f"run anew on a commit that had them: {listing(again)}" if again else ""]
    parts += [f"joined an open attempt: {listing(joined)}" if joined else ""]
    return "; ".join(part for part in parts if part)


def _joined(*notes: str) -> str:
    return "; ".join(note[:NO_ROOM_FOR] for note in notes if note)


def latest_attempts(firing: Firing, wanted: Iterable[RunClaimants]) -> dict[str, Run]:
    """Return the latest attempt of each suite of a firing."""
    source = firing_source(firing.name, firing.at)
    return latest(
        item for item in wanted if any(claimant.source == source for claimant in item.claimants)
    )


def finished(firing: Firing, wanted: tuple[RunClaimants, ...]) -> Firing | None:
    """Return the firing as done; None while one of its suites runs.

    A retry gets its claimants in the transaction that ends the attempt before, so none is missed.
    """
    found = latest_attempts(firing, wanted)
    if any(run.state is not State.DONE for run in found.values()):
        return None
    green = sum(run.outcome is Outcome.SUCCESS for run in found.values())
    note = _joined(firing.note, f"{green} of {count(len(found), 'suite')} passed")
    return replace(firing, state=FiringState.DONE, note=note)
