"""When nights fire, what they start, and what is kept of each.

A night is a measurement: what passed on a commit runs there once more. Times are UTC.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from cronsim import CronSim

from bot.core.messages import Message
from bot.core.messages.words import count, duration, listing
from bot.core.model.ids import RepoId
from bot.core.model.runs import Outcome, Run, State
from bot.core.planning.attempts import AttemptMaker
from bot.core.planning.commits import Commit, latest, start
from bot.core.planning.plan import Plan, RunClaimants
from bot.core.policy import Nightly
from bot.core.policy.selection import nightly_suites

CATCH_UP = timedelta(hours=2)  # a night that is later than this is left out, and that is said
_ON_TIME = timedelta(minutes=5)  # not worth a word
NO_ROOM_FOR = 500  # characters of a note that repeats what others said


class FiringState(StrEnum):
    """How far a night is."""

    ASKED = "asked"  # an operator wants it now; the service starts it
    STARTED = "started"
    SKIPPED = "skipped"
    REFUSED = "refused"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a night of a repository comes next."""

    repo_id: RepoId
    name: str
    cron: str
    next: datetime


@dataclass(frozen=True, slots=True)
class Firing:
    """One night: its planned time, and what became of it."""

    repo_id: RepoId
    name: str
    at: datetime
    state: FiringState
    sha: str = ""  # the head of its branch then, "" when nothing was started
    note: str = ""


def firing_source(name: str, at: datetime) -> str:
    """Return the want of a night."""
    return f"nightly:{name}@{at:%Y-%m-%dT%H:%M:%SZ}"


def next_time(cron: str, after: datetime) -> datetime:
    """Return the first time that comes later."""
    return next(CronSim(cron, after))


def _last(cron: str, now: datetime) -> datetime:
    """Return the latest time that has come."""
    return next(CronSim(cron, now.replace(microsecond=0) + timedelta(seconds=1), reverse=True))


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """The difference between a repository's rows and its policy."""

    put: tuple[Schedule, ...] = ()
    drop: tuple[Schedule, ...] = ()


def schedule_change(
    repo_id: RepoId, entries: Iterable[Nightly], rows: Iterable[Schedule], now: datetime
) -> ScheduleChange:
    """Return what brings the rows in line; a new or changed time never fires for what is past."""
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
    """Return the rows, and what they should be, whose time is not the next one that comes.

    A clock that ran ahead for a while has moved them on: their nights would be lost.
    """
    right = ((row, replace(row, next=next_time(row.cron, now))) for row in rows)
    return tuple((row, early) for row, early in right if row.next > early.next)


@dataclass(frozen=True, slots=True)
class DueFiring:
    """A night whose time has come: the latest of those missed, and the time after it."""

    at: datetime
    then: datetime
    late: timedelta
    missed: bool  # earlier ones passed too; they are not caught up

    @property
    def too_late(self) -> bool:
        """Tell whether it is left out."""
        return self.late > CATCH_UP

    @property
    def note(self) -> str:
        """Say how late it is, "" when it is on time."""
        if self.late <= _ON_TIME and not self.missed:
            return ""
        late = f"{duration(self.late.total_seconds())} late"
        done = "not caught up" if self.too_late else "caught up"
        more = ", for all times missed since the one before" if self.missed else ""
        return f"the service was away: {done} {late}{more}"


def due_firing(row: Schedule, now: datetime) -> DueFiring | None:
    """Return the one firing that a row asks for now, whatever was missed; None: not yet."""
    if row.next > now:
        return None
    at = max(row.next, _last(row.cron, now))
    return DueFiring(at, next_time(row.cron, now), now - at, missed=at > row.next)


@dataclass(frozen=True, slots=True)
class FiringPlan:
    """What a night starts, and what is kept of it."""

    firing: Firing
    changes: Plan


def plan_nothing(firing: Firing, state: FiringState, *notes: str) -> FiringPlan:
    """Return a night that starts nothing, and why."""
    return FiringPlan(replace(firing, state=state, note=_joined(firing.note, *notes)), Plan())


def plan_firing(
    firing: Firing,
    commit: Commit,
    entry: Nightly,
    runs: tuple[RunClaimants, ...],
    maker: AttemptMaker,
) -> FiringPlan:
    """Return what a night starts at its branch's head; ``runs`` are all attempts there."""
    before = latest(runs)
    names = nightly_suites(commit.at.policy, entry)
    reasons = {name: _reason(entry, before.get(name)) for name in names}
    changes = start(commit, reasons, runs, lambda _run, _frozen: True, maker)
    note = _joined(firing.note, _started(changes, before))
    return FiringPlan(
        replace(firing, state=FiringState.STARTED, sha=commit.sha, note=note), changes
    )


def _reason(entry: Nightly, before: Run | None) -> Message:
    reason = Message("selected_nightly", name=entry.name)
    if before is None or before.state is not State.DONE:
        return reason
    passed = before.outcome is Outcome.SUCCESS
    key = "selected_after_pass" if passed else "selected_after_end"
    return Message(key, why=reason, attempt=before.attempt)


def _started(changes: Plan, before: dict[str, Run]) -> str:
    """Say what was started, what was joined, and what ran before on the same commit."""
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
    """Return each suite's latest attempt of those that a night wants."""
    source = firing_source(firing.name, firing.at)
    return latest(
        item for item in wanted if any(claimant.source == source for claimant in item.claimants)
    )


def finished(firing: Firing, wanted: tuple[RunClaimants, ...]) -> Firing | None:
    """Return the night as done, None while a suite of it goes on.

    A successor waits for its want in the same transaction, so no retry is missed.
    """
    found = latest_attempts(firing, wanted)
    if any(run.state is not State.DONE for run in found.values()):
        return None
    green = sum(run.outcome is Outcome.SUCCESS for run in found.values())
    note = _joined(firing.note, f"{green} of {count(len(found), 'suite')} passed")
    return replace(firing, state=FiringState.DONE, note=note)
