"""The verdict on a run, from the ends of its Actions run and its RayJobs.

A missing answer never makes a run green: the run waits for it, and is broken at its time limit.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.core.messages import NOTHING, Message
from bot.core.messages.words import duration
from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import Outcome, Run
from bot.core.runs.jobs import ABSENT, DELETED
from bot.core.runs.observed import Observed

# So long after the end of the Actions run an unseen RayJob is not expected any more.
UNSEEN_AFTER = timedelta(minutes=2)
_RANK = ("SUCCEEDED", "TIMEOUT", "FAILED")  # of several RayJobs the worst counts
TRUSTED_ENDS = frozenset(_RANK)  # after NOT_FOUND or STOPPED the end is not known
_ENDS = {
    "failure": (Outcome.FAILURE, Message("run_failed")),
    "timed_out": (Outcome.TIMED_OUT, Message("run_timed_out")),
    "skipped": (Outcome.BROKEN, Message("run_skipped")),
    "startup_failure": (Outcome.BROKEN, Message("run_startup")),
    DELETED: (Outcome.BROKEN, Message("run_deleted")),
}


@dataclass(frozen=True, slots=True)
class Pending:
    """Not decided yet, and why; ``read_log`` is True if the Actions log could decide it."""

    why: Message
    read_log: bool = False
    unknown: bool = False  # the end of a RayJob can't be known: broken at the time limit


@dataclass(frozen=True, slots=True)
class Decided:
    """How the run ended, and why."""

    outcome: Outcome
    why: Message


def judge(
    run: Run, observed: Observed, rayjobs: tuple[RayJob, ...], now: datetime
) -> Pending | Decided:
    """Judge a run whose Actions run has ended."""
    if observed.conclusion == "success":
        if early := _too_early(run, observed):
            return early
        if run.snapshot.suite.rayjob:
            return _by_rayjobs(observed, rayjobs, now)
        return _by_jobs(run, observed)
    if end := _of_own_jobs(run, observed):
        return end
    if observed.conclusion == "cancelled":
        return _cancelled(run, observed)
    outcome, why = _ENDS.get(
        observed.conclusion or "",
        (Outcome.BROKEN, Message("run_ended_with", conclusion=str(observed.conclusion))),
    )
    bad = _bad(observed, rayjobs) if run.snapshot.suite.rayjob else []
    if outcome is Outcome.FAILURE and bad:
        return Decided(outcome, _worst(bad).why)  # more telling than the failed workflow
    if outcome is Outcome.FAILURE and run.snapshot.suite.jobs:
        why = Message("run_own_failed")
    return Decided(outcome, why)


def _ran(observed: Observed) -> timedelta | None:
    if observed.started_at is None or observed.seen_end_at is None:
        return None
    return observed.seen_end_at - observed.started_at


def _too_early(run: Run, observed: Observed) -> Decided | None:
    """Reject a green end sooner than ``min_minutes``: something was skipped."""
    ran = _ran(observed)
    limit = timedelta(minutes=run.snapshot.suite.min_minutes)
    if not limit or (ran is not None and ran >= limit):
        return None
    least = run.snapshot.suite.min_minutes
    if ran is None:
        return Decided(Outcome.BROKEN, Message("run_too_early_unknown", minutes=least))
    span = duration(ran.total_seconds())
    return Decided(Outcome.BROKEN, Message("run_too_early", ran=span, minutes=least))


def _by_jobs(run: Run, observed: Observed) -> Decided:
    """Judge a green Actions run by its jobs: one on the suite's label must have passed."""
    end = observed.end
    if end and end.failed_job:
        return Decided(Outcome.FAILURE, Message("run_job_failed", job=end.failed_job))
    if end and end.idle:
        labels = " / ".join(label.name for label in run.snapshot.labels)
        return Decided(Outcome.BROKEN, Message("run_idle", label=run.label or labels))
    return Decided(Outcome.SUCCESS, Message("run_passed"))


def _of_own_jobs(run: Run, observed: Observed) -> Decided | None:
    """Judge what only the jobs of a suite can say: it names them, or no pull request is behind."""
    frozen = run.snapshot
    if observed.end and observed.end.needed:
        job = observed.end.needed
        if observed.conclusion == "cancelled":
            return Decided(Outcome.CANCELLED, Message("run_needs_cancelled", job=job))
        return Decided(Outcome.FAILURE, Message("run_needs", job=job))
    if observed.conclusion == ABSENT:
        return Decided(Outcome.BROKEN, Message("run_no_job", jobs=frozen.suite.jobs))
    if observed.conclusion == "skipped" and (frozen.suite.jobs or frozen.apart):
        return Decided(Outcome.SKIPPED, Message("run_not_in"))
    return None


def _cancelled(run: Run, observed: Observed) -> Decided:
    """Judge an end that GitHub calls cancelled: by a person, or at a time limit."""
    ran = _ran(observed)
    limit = timedelta(minutes=run.snapshot.suite.timeout_minutes) - timedelta(minutes=1)
    if ran is not None and ran >= limit:
        minutes = run.snapshot.suite.timeout_minutes
        return Decided(Outcome.TIMED_OUT, Message("run_limit", minutes=minutes))
    return Decided(Outcome.CANCELLED, Message("run_cancelled"))


def _by_rayjobs(
    observed: Observed, rayjobs: tuple[RayJob, ...], now: datetime
) -> Pending | Decided:
    """Judge a green Actions run by its RayJobs."""
    if not rayjobs:
        return _never_seen(observed, now)
    bad = _bad(observed, rayjobs)
    if bad:
        return _worst(bad)
    ends = _ends(observed, rayjobs)
    known = [end for _, end in ends if end]
    doubtful = [job for job, end in ends if end is None]
    if doubtful:
        return _unended(doubtful[0], observed)
    return Decided(Outcome.SUCCESS, Message("rayjob_succeeded", source=known[0].source))


@dataclass(frozen=True, slots=True)
class _End:
    """A trusted end of a RayJob, and its source."""

    status: str
    source: Message
    message: str


def _ends(observed: Observed, rayjobs: tuple[RayJob, ...]) -> list[tuple[RayJob, _End | None]]:
    said = observed.log.final if observed.log and len(rayjobs) == 1 else None
    return [(job, _end(job, said)) for job in rayjobs]


def _bad(observed: Observed, rayjobs: tuple[RayJob, ...]) -> list[_End]:
    """Return the known ends that are no success."""
    return [end for _, end in _ends(observed, rayjobs) if end and end.status != "SUCCEEDED"]


def _end(job: RayJob, said: str | None) -> _End | None:
    """Return the end of a RayJob by its best source: watch, record, or the Actions log.

    ``said`` is the log's last word. Only a job that is confirmed as the run's own makes it green:
    by its own end, or by the log's word while the submitter is silent or knows no end.
    """
    if job.final in TRUSTED_ENDS and (job.confirmed or job.final != "SUCCEEDED"):
        source = NOTHING if job.final_from == "watch" else Message("by_submitter")
        return _End(job.final, source, job.message)
    # A job that the submitter says lives on is not ended by a line of a log.
    unknown = job.final is not None or job.silent_since is not None
    if said in TRUSTED_ENDS and ((job.confirmed and unknown) or said != "SUCCEEDED"):
        return _End(said, Message("by_log"), "")
    return None


def _worst(ends: list[_End]) -> Decided:
    end = max(ends, key=lambda item: _RANK.index(item.status))
    outcome = Outcome.TIMED_OUT if end.status == "TIMEOUT" else Outcome.FAILURE
    if not end.message:
        return Decided(outcome, Message("rayjob_ended", status=end.status, source=end.source))
    detail = {"status": end.status, "source": end.source, "detail": end.message}
    return Decided(outcome, Message("rayjob_ended_detail", **detail))


def _unended(job: RayJob, observed: Observed) -> Pending:
    """Return why the end of a RayJob is not known."""
    if not job.confirmed:
        why = Message("rayjob_not_confirmed", job=job.job_id)
        return Pending(why, read_log=observed.log is None, unknown=True)
    if job.final is not None:
        why = Message(
            "rayjob_end_unknown", why=job.message or Message("submitter_says", state=job.final)
        )
        return Pending(why, read_log=observed.log is None, unknown=True)
    if job.silent_since is not None:
        why = Message("submitter_silent", since=job.silent_since)
        return Pending(why, read_log=observed.log is None, unknown=True)
    return Pending(Message("rayjob_runs_on"))


def _never_seen(observed: Observed, now: datetime) -> Pending | Decided:
    if observed.log is None:
        why = Message("rayjob_in_log")
        return Pending(why, read_log=True, unknown=True)
    seen_end_at = observed.seen_end_at or now
    if now - seen_end_at < UNSEEN_AFTER:
        return Pending(Message("rayjob_search"))
    return Decided(Outcome.BROKEN, Message("rayjob_none"))
