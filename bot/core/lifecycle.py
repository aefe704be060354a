"""What a run does next, from its row and what is known now (RULINGS C).

Level-triggered: asked twice, or after a crash anywhere, it answers the same, so a step is safe to
take again. Times that bend it stand as constants with their reason.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.core.facts import Evidence, add_up
from bot.core.model import Fact, Outcome, RayJob, Run, State, Wish, WishKind
from bot.core.steps import (
    Conclude,
    DeleteRayJobs,
    Dispatch,
    End,
    FindRayJobs,
    ReadEnd,
    ReadLog,
    Search,
    SendCancel,
    SetWish,
    Step,
    TakePlace,
    Wait,
)
from bot.core.verdict import TRUSTED_ENDS, UNSEEN_AFTER, Decided, Pending, judge

# GitHub's lists lag 1 to 3 s and more under load: when to search for a lost dispatch.
SEARCH_AFTER_S = (2, 5, 15, 40)
DISPATCH_FOR = timedelta(minutes=10)
NO_RUNNER_AFTER = timedelta(hours=24)  # GitHub itself gives a queued job up after a day
FORCE_AFTER = timedelta(minutes=6)  # GitHub forces a cancel at 5 min
DOUBT_AFTER = timedelta(minutes=5)  # GitHub's own answer lags its webhook by seconds
DELETE_AFTER = timedelta(seconds=60)  # the submit job's own clean-up gets this long
DELETE_FOR = timedelta(hours=1)
FINISH_FOR = timedelta(minutes=10)  # a log that can't be read by then is not waited for
LOOK_EVERY = timedelta(seconds=15)  # for RayJobs: the submit job prepares for minutes
_SLOW_LOOK = timedelta(minutes=1)  # a watchdog's tick while others report


@dataclass(frozen=True, slots=True)
class Situation:
    """All that the next step depends on."""

    run: Run
    wanted: bool
    facts: tuple[Fact, ...]
    rayjobs: tuple[RayJob, ...]
    now: datetime
    submitter: bool = True  # one is configured
    submitter_down: str = ""  # since when and why it can't be used, in words


def decide(situation: Situation) -> Step:
    """Return the next step."""
    evidence = add_up(situation.run, situation.facts)
    if evidence.verdict is not None:
        return _finishing(situation, evidence)
    if situation.run.actions_run_id is not None:
        return _following(situation, evidence)
    if evidence.intents:
        return _dispatching(situation, evidence)
    return _before_dispatch(situation)


def _stop(situation: Situation) -> Wish | None:
    """Return why the run should stop: a wish, or that nobody wants it any more."""
    wish = situation.run.wish
    if wish and (wish.kind is not WishKind.SUPERSEDE or not situation.wanted):
        return wish
    if not situation.wanted:
        return Wish(WishKind.SUPERSEDE, "", "nobody wants this run any more", situation.now)
    return None


def _outcome(wish: Wish) -> Outcome:
    return {
        WishKind.CANCEL: Outcome.CANCELLED,
        WishKind.SUPERSEDE: Outcome.SUPERSEDED,
        WishKind.TIME_OUT: Outcome.TIMED_OUT,
        WishKind.STALL: Outcome.TIMED_OUT,
        WishKind.NO_RUNNER: Outcome.BROKEN,
    }[wish.kind]


def _end_by(situation: Situation, wish: Wish, leftover: str = "") -> End:
    """End a stopped run; one that is wanted again goes on as the next attempt."""
    why = f"{wish.reason}; RayJobs may be left: {leftover}" if leftover else wish.reason
    again = wish.kind is WishKind.SUPERSEDE and situation.wanted
    retry = "this commit is wanted again" if again else ""
    return End(_outcome(wish), why, retry=retry, counts=False)


def _before_dispatch(situation: Situation) -> Step:
    run, now = situation.run, situation.now
    stop = _stop(situation)
    if stop:
        return _end_by(situation, stop)
    if run.not_before and now < run.not_before:
        return Wait(State.QUEUED, run.not_before, "waiting a moment for further pushes")
    if run.snapshot.rayjob and situation.submitter_down:
        return Wait(State.QUEUED, now + LOOK_EVERY, situation.submitter_down)
    return Dispatch(1) if run.label else TakePlace()


def _dispatching(situation: Situation, evidence: Evidence) -> Step:
    """Find out what became of the last dispatch before anything else."""
    if evidence.refused is not None:
        return End(Outcome.BROKEN, evidence.refused)
    number, now = len(evidence.intents), situation.now
    if number not in evidence.unsent and evidence.searches < len(SEARCH_AFTER_S):
        due = evidence.intents[-1] + timedelta(seconds=SEARCH_AFTER_S[evidence.searches])
        if now < due:
            return Wait(State.DISPATCHING, due, "looking for the dispatched run")
        return Search(number, evidence.searches + 1)
    stop = _stop(situation)
    if stop:
        return _end_by(situation, stop)
    if now - evidence.intents[0] >= DISPATCH_FOR:
        why = f"GitHub took no dispatch for 10 min ({number} tries)"
        return End(Outcome.BROKEN, why, retry=_retry(situation, evidence, Outcome.BROKEN))
    return Dispatch(number + 1)


def _following(situation: Situation, evidence: Evidence) -> Step:
    if evidence.seen_end_at and not evidence.ended:
        return _read_end(situation, evidence, evidence.seen_end_at)
    if _must_ask(situation, evidence):
        return _ask_all(situation, evidence)
    verdict = _judged(situation, evidence)
    stop = _stop(situation)
    if isinstance(verdict, Decided) and not _stopped_by_us(evidence, stop):
        return _conclude(situation, evidence, verdict)
    if stop is None and not (evidence.cancel_at or evidence.deletes):
        return _watch(situation, evidence, verdict)
    if stop is None and evidence.cancel_at is None and _over_time(situation, evidence):
        return _at_time_limit(situation, evidence)  # its RayJobs are being deleted
    return _cancelling(situation, evidence, stop or _asked(situation))


def _read_end(situation: Situation, evidence: Evidence, said_at: datetime) -> Step:
    """Read the end that was said; one that stays untrue puts off no limit and no cancel."""
    if situation.now - said_at < DOUBT_AFTER:
        return ReadEnd()
    stop = _stop(situation)
    if stop or evidence.cancel_at:
        step = _cancelling(situation, evidence, stop or _asked(situation))
    else:
        step = _watch(situation, evidence, None)
    return ReadEnd() if isinstance(step, Wait | FindRayJobs) else step


def _stopped_by_us(evidence: Evidence, stop: Wish | None) -> bool:
    """Tell whether an end may be our cancel's doing: a deleted RayJob can end as FAILED."""
    deleting = bool(evidence.deletes) and evidence.conclusion == "success"
    return evidence.cancel_at is not None or (deleting and stop is not None)


def _must_ask(situation: Situation, evidence: Evidence) -> bool:
    """Tell whether a RayJob may exist that was never seen: green needs all of them."""
    green = evidence.ended and evidence.conclusion == "success"
    return green and situation.run.snapshot.rayjob and not evidence.asked and evidence.log is None


def _ask_all(situation: Situation, evidence: Evidence) -> Step:
    """Ask the submitter; one that is healthy and does not answer is not waited for."""
    waited = situation.now - (evidence.seen_end_at or situation.now)
    answers = situation.submitter and not situation.submitter_down
    if answers and waited < UNSEEN_AFTER:
        return FindRayJobs(situation.now + LOOK_EVERY, last=True)
    return ReadLog()  # names every RayJob that was submitted, too


def _asked(situation: Situation) -> Wish:
    """Return why a cancel is under way that the wants no longer explain."""
    return situation.run.wish or Wish(
        WishKind.SUPERSEDE, "", "nobody wanted this run for a while", situation.now
    )


def _judged(situation: Situation, evidence: Evidence) -> Pending | Decided | None:
    if not evidence.ended:
        return None
    return judge(situation.run, evidence, situation.rayjobs, situation.now)


def _conclude(situation: Situation, evidence: Evidence, verdict: Decided) -> Step:
    """Write the verdict down; a RayJob that lives on after a bad end is deleted first."""
    if verdict.outcome is Outcome.SUCCESS:
        return End(verdict.outcome, verdict.why)
    if _may_live(situation, evidence):
        step = _delete(situation, evidence, verdict.why)
        if step:
            return step
    return Conclude(verdict.outcome, verdict.why + _left(evidence))


def _may_live(situation: Situation, evidence: Evidence) -> bool:
    """Tell whether a RayJob may outlive a bad end: seen and not ended, or not seen yet.

    The submitter deletes by our run and attempt, so an unconfirmed id is safe. For one that
    nobody saw, a single try has to do: most runs that failed early have none.
    """
    if not situation.run.snapshot.rayjob:
        return False
    if not situation.rayjobs:
        return not evidence.deletes
    return any(job.final not in TRUSTED_ENDS for job in situation.rayjobs)


def _left(evidence: Evidence) -> str:
    """Return the words that name what could not be deleted."""
    left = evidence.leftover and not evidence.deleted
    return f"; RayJobs may be left: {evidence.leftover}" if left else ""


def _watch(situation: Situation, evidence: Evidence, verdict: Pending | Decided | None) -> Step:
    """Follow a run that nobody wants stopped, up to its limits."""
    run, now = situation.run, situation.now
    if evidence.started_at is None and not evidence.ended:
        return _wait_for_runner(situation)
    limit = _limit(situation, evidence)
    if limit:
        return limit
    if isinstance(verdict, Pending):
        return _after_actions(situation, verdict)
    look = run.snapshot.rayjob and situation.submitter and not situation.rayjobs
    if look and not situation.submitter_down:
        return FindRayJobs(now + LOOK_EVERY)
    return Wait(State.RUNNING, now + _SLOW_LOOK)


def _wait_for_runner(situation: Situation) -> Step:
    since = situation.run.dispatched_at or situation.run.created_at
    if situation.now - since >= NO_RUNNER_AFTER:
        return SetWish(WishKind.NO_RUNNER, "no runner took the job within 24 h")
    label = situation.run.label
    why = f"waiting for a runner with the label {label}" if label else "waiting for a runner"
    return Wait(State.WAITING_FOR_RUNNER, since + NO_RUNNER_AFTER, why)


def _limit(situation: Situation, evidence: Evidence) -> Step | None:
    """Return the step at the time limit or at the stall limit, None before both."""
    run, now = situation.run, situation.now
    if _over_time(situation, evidence):
        return _at_time_limit(situation, evidence)
    alive = [job for job in situation.rayjobs if job.final is None]
    lines = [job.last_line_at for job in alive if job.last_line_at]
    stalled = timedelta(minutes=run.snapshot.stall_minutes)
    if lines and now - max(lines) >= stalled and not _any_silent(situation):
        return SetWish(
            WishKind.STALL,
            f"no output for {run.snapshot.stall_minutes} min: the job hangs",
        )
    return None


def _over_time(situation: Situation, evidence: Evidence) -> bool:
    run = situation.run
    started_at = evidence.started_at or run.dispatched_at or run.created_at
    return situation.now - started_at >= timedelta(minutes=run.snapshot.timeout_minutes)


def _any_silent(situation: Situation) -> bool:
    """Tell whether the silence may be the submitter's and not the job's."""
    return any(job.silent_since for job in situation.rayjobs)


def _at_time_limit(situation: Situation, evidence: Evidence) -> Step:
    verdict = _judged(situation, evidence)
    if isinstance(verdict, Pending) and verdict.unknown:
        # It may live on, unseen, and hold its NPUs.
        step = _delete(situation, evidence, verdict.why)
        if step:
            return step
        why = f"{verdict.why}; the time limit was reached{_left(evidence)}"
        return End(Outcome.BROKEN, why, retry=_retry(situation, evidence, Outcome.BROKEN))
    minutes = situation.run.snapshot.timeout_minutes
    return SetWish(WishKind.TIME_OUT, f"the time limit of {minutes} min was reached")


def _after_actions(situation: Situation, verdict: Pending) -> Step:
    """Look for more evidence after the Actions run's end."""
    now = situation.now
    if verdict.read_log:
        return ReadLog()
    look = situation.submitter and not situation.rayjobs and not situation.submitter_down
    if look:
        return FindRayJobs(now + LOOK_EVERY)
    return Wait(State.RUNNING, now + LOOK_EVERY, verdict.why)


def _cancelling(situation: Situation, evidence: Evidence, wish: Wish) -> Step:
    """Cancel the Actions run, then the RayJobs; a leftover holds its place for an hour."""
    now = situation.now
    if not evidence.ended:
        if evidence.cancel_at is None:
            return SendCancel(force=False)
        if evidence.force_at is None and now - evidence.cancel_at >= FORCE_AFTER:
            return SendCancel(force=True)
    deleting = None
    if _must_delete(situation, evidence):
        deleting = _delete(situation, evidence, wish.reason)
    if evidence.ended:
        return deleting or _end_stopped(situation, evidence, wish)
    if isinstance(deleting, DeleteRayJobs):
        return deleting
    return _await_cancel(evidence, now, deleting)


def _end_stopped(situation: Situation, evidence: Evidence, wish: Wish) -> Step:
    """Conclude a stopped run, so that its logs are read; one that nobody wants just ends."""
    leftover = "" if evidence.deleted else evidence.leftover
    end = _end_by(situation, wish, leftover)
    if end.outcome is Outcome.SUPERSEDED:
        return end
    return Conclude(end.outcome, end.why)


def _await_cancel(evidence: Evidence, now: datetime, deleting: Wait | None) -> Step:
    """Wait for the end of a cancelled run; look for it in case its webhook is lost.

    A delete that has to wait must not put off the force-cancel.
    """
    since = evidence.force_at or evidence.cancel_at or now
    if now - since >= FORCE_AFTER:
        return ReadEnd()
    ticks = (since + DELETE_AFTER, since + FORCE_AFTER)
    until = min(tick for tick in ticks if tick > now)
    if deleting and deleting.until and deleting.until < until:
        return deleting
    return Wait(State.CANCELLING, until, "being cancelled")


def _must_delete(situation: Situation, evidence: Evidence) -> bool:
    """Tell whether RayJobs should be deleted now: after the Actions run's end, or 60 s."""
    if not (situation.run.snapshot.rayjob and situation.submitter) or evidence.deleted:
        return False
    asked = evidence.cancel_at
    return evidence.ended or (asked is not None and situation.now - asked >= DELETE_AFTER)


def _delete(situation: Situation, evidence: Evidence, why: str) -> DeleteRayJobs | Wait | None:
    """Return the next step of deleting RayJobs; None once done or given up after an hour."""
    deletes = evidence.deletes
    if evidence.deleted or not situation.submitter:
        return None
    if not deletes:
        return DeleteRayJobs(1)
    if situation.now - deletes[0] >= DELETE_FOR:
        return None
    due = deletes[-1] + timedelta(seconds=min(5 * 2 ** len(deletes), 300))
    if situation.now < due:
        return Wait(State.CANCELLING, due, f"{why}; deleting its RayJobs: {evidence.leftover}")
    return DeleteRayJobs(len(deletes) + 1)


def _finishing(situation: Situation, evidence: Evidence) -> Step:
    """Read the logs that explain the verdict, at most ten minutes long, then end."""
    assert evidence.verdict is not None
    outcome, why = Outcome(evidence.verdict["outcome"]), evidence.verdict["why"]
    since = evidence.verdict_at or situation.now
    if situation.now - since >= FINISH_FOR:
        return End(outcome, why, retry=_retry(situation, evidence, outcome))
    if evidence.log is None and evidence.ended:
        return ReadLog()
    reading = [job for job in situation.rayjobs if job.confirmed and not job.complete]
    if any(job.final != "NOT_FOUND" for job in reading):
        return Wait(State.FINISHING, since + FINISH_FOR, "reading the log")
    return End(outcome, why, retry=_retry(situation, evidence, outcome))


def _retry(situation: Situation, evidence: Evidence, outcome: Outcome) -> str:
    """Return why another attempt is worth its cost, "" when it is not (RULINGS C)."""
    run = situation.run
    snapshot = run.snapshot
    spent = run.retries >= snapshot.infra_retries or not snapshot.retryable
    cancelled = run.wish is not None and run.wish.kind is WishKind.CANCEL
    if spent or cancelled or not situation.wanted:
        return ""
    if outcome is Outcome.BROKEN:
        return "it was not the change's fault"
    if outcome is Outcome.TIMED_OUT and run.wish and run.wish.kind is WishKind.STALL:
        return "the job hung"
    if outcome is Outcome.FAILURE and _infra(situation, evidence):
        return "the infrastructure failed, not the change"
    return ""


def _infra(situation: Situation, evidence: Evidence) -> bool:
    """Tell whether the digest of the failed job says that the infrastructure was at fault."""
    digests = [job.digest for job in situation.rayjobs if job.digest]
    log = evidence.log or {}
    if log.get("digest"):
        digests.append(log["digest"])
    known = [digest for digest in digests if digest.get("class") not in {None, "unknown"}]
    return bool(known or digests) and all(
        digest.get("infra") is True for digest in known or digests
    )
