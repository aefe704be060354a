"""What the events of a run add up to."""

from collections.abc import Iterable, Sized
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from bot.core.messages import Message
from bot.core.model import run_events as ev
from bot.core.model.runs import Run
from bot.core.runs.jobs import JobEnd, own_jobs_over

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Observed:
    """What the events of a run add up to."""

    intents: tuple[datetime, ...] = ()  # of dispatches, in order
    accepted: bool = False  # GitHub took the last one without naming a run
    unsent: frozenset[int] = frozenset()  # numbers of those that GitHub did not take
    searches: int = 0  # made since the last intent
    refused: Message | None = None
    native: ev.NativeRunSeen | None = None  # the newest that GitHub started by itself
    unclear: tuple[datetime, ev.NativeRunUnclear] | None = None  # the first that can't be told
    waits_for_approval: bool = False  # on GitHub
    started_at: datetime | None = None  # a job of this attempt began
    seen_end_at: datetime | None = None  # when the end of the Actions run was first told
    ended: bool = False  # read from GitHub itself
    conclusion: str | None = None
    end: ev.WorkflowRunEnded | None = None
    rayjobs_listed: bool = False  # by the submitter, after the end
    cancel_at: datetime | None = None
    force_at: datetime | None = None
    cancel_taken: bool = False  # GitHub took one of the two: the end may be its doing
    deletes: tuple[datetime, ...] = ()
    deleted: bool = False
    leftover: str = ""  # the last problem of deleting
    log: ev.LogRead | None = None
    verdict: ev.VerdictReached | None = None
    verdict_at: datetime | None = None


def fold(run: Run, run_events: Iterable[ev.RunEvent]) -> Observed:
    """Fold events, in any order of arrival, into what they say of this run's Actions attempt.

    Where several sources tell the same, the first one counts.
    """
    known, attempt = sorted(run_events, key=lambda run_event: run_event.at), run.actions_attempt
    intents = {what.number: at for at, what in _each(known, ev.DispatchStarted)}
    searches = {
        what for _, what in _each(known, ev.DispatchSearched) if what.dispatch == len(intents)
    }
    native = [what for _, what in _each(known, ev.NativeRunSeen)]
    jobs = _each(known, ev.JobChanged)
    changes = [
        (at, what) for at, what in _each(known, ev.WorkflowRunChanged) if what.attempt == attempt
    ]
    ends = [(at, what) for at, what in _each(known, ev.WorkflowRunEnded) if what.attempt == attempt]
    over = [at for at, what in changes if what.status == "completed"] + _own_jobs_over(run, jobs)
    begun = _begun(attempt, jobs)
    if not run.snapshot.suite.jobs:  # else it may be a job of another suite that began
        begun += _begun(attempt, changes)
    cancels, forced = _each(known, ev.CancelSent), _each(known, ev.ForceCancelSent)
    cancel_taken = any(what.taken for _, what in cancels) or any(what.taken for _, what in forced)
    deletes = {what.number: (at, what.problem) for at, what in _each(known, ev.RayJobsDeleted)}
    leftover = deletes[max(deletes)][1] if deletes else ""
    verdicts = _each(known, ev.VerdictReached)
    return Observed(
        intents=tuple(at for _, at in sorted(intents.items())),
        accepted=any(what.number == len(intents) for _, what in _each(known, ev.DispatchAccepted)),
        unsent=frozenset(what.number for _, what in _each(known, ev.DispatchUnsent)),
        searches=len(searches),
        refused=next((what.why for _, what in _each(known, ev.DispatchRefused)), None),
        native=max(native, key=lambda what: what.actions_run_id, default=None),
        unclear=next(iter(_each(known, ev.NativeRunUnclear)), None),
        waits_for_approval=_waits_for_approval({what.status for _, what in changes}, jobs),
        started_at=min(begun, default=None),
        seen_end_at=min([*over, *(at for at, _ in ends)], default=None),
        ended=bool(ends),
        conclusion=ends[0][1].conclusion if ends else None,
        end=ends[0][1] if ends else None,
        rayjobs_listed=any(what.attempt == attempt for _, what in _each(known, ev.RayJobsListed)),
        cancel_at=cancels[0][0] if cancels else None,
        force_at=forced[0][0] if forced else None,
        cancel_taken=cancel_taken,
        deletes=tuple(at for _, (at, _) in sorted(deletes.items())),
        deleted=bool(deletes) and not leftover,
        leftover=leftover,
        log=next((what for _, what in _each(known, ev.LogRead) if what.attempt == attempt), None),
        verdict=verdicts[0][1] if verdicts else None,
        verdict_at=verdicts[0][0] if verdicts else None,
    )


def _each(run_events: list[ev.RunEvent], kind: type[T]) -> list[tuple[datetime, T]]:
    """Return the events of a kind with their times, oldest first."""
    return [(item.at, item.what) for item in run_events if isinstance(item.what, kind)]


def _begun(
    attempt: int, told: Iterable[tuple[datetime, ev.WorkflowRunChanged | ev.JobChanged]]
) -> list[datetime]:
    return [at for at, what in told if (what.attempt, what.status) == (attempt, "in_progress")]


def _own_jobs_over(run: Run, jobs: list[tuple[datetime, ev.JobChanged]]) -> list[datetime]:
    """Return when the last job of a suite that names its jobs ended, if all have."""
    told = [(at, what) for at, what in jobs if what.attempt == run.actions_attempt]
    ends = {what.job_id: JobEnd(what.name, (), None) for _, what in told}
    over = (what for _, what in told if what.conclusion)
    ends |= {what.job_id: JobEnd(what.name, (), what.conclusion) for what in over}
    is_over = own_jobs_over(run, ends.values())
    return [max(at for at, _ in told)] if is_over else []


def _waits_for_approval(statuses: set[str], jobs: Sized) -> bool:
    """Return True if GitHub asks for an approval; jobs, or a queued run, show that it has one."""
    return ev.APPROVAL in statuses and "queued" not in statuses and not jobs
