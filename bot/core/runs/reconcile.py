"""What a run does next, from its row and what is known now.

Level-triggered: asked twice, or after a crash anywhere, it answers the same, so a step is safe to
take again. Times that bend it stand as constants with their reason.
"""

from datetime import datetime, timedelta

from bot.core.messages.words import clock
from bot.core.model.runs import Outcome, State, Wish, WishKind
from bot.core.runs import native
from bot.core.runs.cancellation import (
    SLOW_READ,
    cancel,
    delete_rayjobs,
    end_stopped,
    left_over,
    why_to_stop,
)
from bot.core.runs.observed import Evidence, add_up
from bot.core.runs.offline import LOOK_AT_LABEL, OFFLINE_AFTER
from bot.core.runs.situation import Situation
from bot.core.runs.steps import (
    Conclude,
    Dispatch,
    End,
    FindRayJobs,
    ReadEnd,
    ReadLog,
    Search,
    SetWish,
    Step,
    TakePlace,
    Wait,
)
from bot.core.runs.verdict import TRUSTED_ENDS, UNSEEN_AFTER, Decided, Pending, judge

# GitHub's lists lag 1 to 3 s and more under load: when to search for a lost dispatch.
SEARCH_AFTER_S = (2, 5, 15, 40)
DISPATCH_FOR = timedelta(minutes=10)
NO_RUNNER_AFTER = timedelta(hours=24)  # GitHub itself gives a queued job up after a day
DOUBT_AFTER = timedelta(minutes=5)  # GitHub's own answer lags its webhook by seconds
FINISH_FOR = timedelta(minutes=10)  # a log that can't be read by then is not waited for
LOOK_EVERY = timedelta(seconds=15)  # for RayJobs: the submit job prepares for minutes
_SLOW_LOOK = timedelta(minutes=1)  # a watchdog's tick while others report


def decide(situation: Situation) -> Step:
    """Return the next step."""
    evidence = add_up(situation.run, situation.facts)
    if evidence.verdict is not None:
        return _finishing(situation, evidence)
    if situation.run.actions_run_id is not None:
        return _following(situation, evidence)
    if evidence.intents:
        return _dispatching(situation, evidence)
    if situation.run.snapshot.native and situation.run.rerun_of is None:
        return native.unstarted(situation, evidence)
    return _before_dispatch(situation)


def _before_dispatch(situation: Situation) -> Step:
    run, now = situation.run, situation.now
    stop = why_to_stop(situation)
    if stop:
        return end_stopped(situation, stop)
    if run.not_before and now < run.not_before:
        return Wait(State.QUEUED, run.not_before, "waiting a moment for further pushes")
    if run.snapshot.rayjob and situation.submitter_down:
        return Wait(State.QUEUED, now + LOOK_EVERY, situation.submitter_down)
    placed = run.label or run.snapshot.native  # what GitHub started holds no place of ours
    return Dispatch(1) if placed else TakePlace()


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
    stop = why_to_stop(situation)
    if stop:
        return end_stopped(situation, stop)
    if now - evidence.intents[0] >= DISPATCH_FOR:
        why = f"GitHub took no dispatch for 10 min ({number} tries)"
        return End(Outcome.BROKEN, why, retry=_retry(situation, evidence, Outcome.BROKEN))
    return Dispatch(number + 1)


def _following(situation: Situation, evidence: Evidence) -> Step:
    if situation.run.snapshot.native and (over := native.let_go(situation)):
        return over
    if evidence.seen_end_at and not evidence.ended:
        return _read_end(situation, evidence, evidence.seen_end_at)
    if _must_ask(situation, evidence):
        return _ask_all(situation, evidence)
    verdict = _judged(situation, evidence)
    stop = why_to_stop(situation)
    if isinstance(verdict, Decided) and not _stopped_by_us(evidence, stop):
        return _conclude(situation, evidence, verdict)
    if stop is None and not (evidence.cancel_at or evidence.deletes):
        return _watch(situation, evidence, verdict)
    if stop is None and evidence.cancel_at is None and _over_time(situation, evidence):
        return _at_time_limit(situation, evidence)  # its RayJobs are being deleted
    return cancel(situation, evidence, stop or _asked(situation))


def _read_end(situation: Situation, evidence: Evidence, said_at: datetime) -> Step:
    """Read the end that was said; one that stays untrue puts off no limit and no cancel."""
    if situation.now - said_at < DOUBT_AFTER:
        return ReadEnd()
    stop = why_to_stop(situation)
    if stop or evidence.cancel_at:
        step = cancel(situation, evidence, stop or _asked(situation))
    else:
        step = _watch(situation, evidence, None)
    return ReadEnd(SLOW_READ) if isinstance(step, Wait | FindRayJobs) else step


def _stopped_by_us(evidence: Evidence, stop: Wish | None) -> bool:
    """Tell whether an end may be our cancel's doing: a deleted RayJob can end as FAILED."""
    deleting = bool(evidence.deletes) and evidence.conclusion == "success"
    return evidence.cancel_taken or (deleting and stop is not None)


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
        step = delete_rayjobs(situation, evidence, verdict.why)
        if step:
            return step
    return Conclude(verdict.outcome, verdict.why + left_over(evidence))


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


def _watch(situation: Situation, evidence: Evidence, verdict: Pending | Decided | None) -> Step:
    """Follow a run that nobody wants stopped, up to its limits."""
    run, now = situation.run, situation.now
    if evidence.started_at is None and not evidence.ended:
        if run.snapshot.native:
            return native.waiting(situation, evidence, _why_no_runner(situation))
        return _wait_for_runner(situation)
    githubs = run.snapshot.native and not evidence.ended  # its own limits hold till then
    limit = native.lost(situation) if githubs else _limit(situation, evidence)
    if limit:
        return limit
    if isinstance(verdict, Pending):
        return _after_actions(situation, verdict)
    look = run.snapshot.rayjob and situation.submitter and not situation.rayjobs
    if look and not situation.submitter_down:
        return FindRayJobs(now + LOOK_EVERY)
    return Wait(State.RUNNING, now + _SLOW_LOOK)


def _wait_for_runner(situation: Situation) -> Step:
    now, since = situation.now, situation.run.dispatched_at or situation.run.created_at
    if now - since >= NO_RUNNER_AFTER:
        return SetWish(WishKind.NO_RUNNER, "no runner took the job within 24 h")
    look = max(since + OFFLINE_AFTER, now + LOOK_AT_LABEL)
    until = min(look, since + NO_RUNNER_AFTER)
    return Wait(State.WAITING_FOR_RUNNER, until, _why_no_runner(situation))


def _why_no_runner(situation: Situation) -> str:
    quiet, label = situation.quiet, situation.run.label
    if quiet:
        since = clock(quiet.since, situation.now)
        return f"{quiet.label} looks offline: no job started on it since {since}"
    return f"waiting for a runner with the label {label}" if label else "waiting for a runner"


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
        step = delete_rayjobs(situation, evidence, verdict.why)
        if step:
            return step
        why = f"{verdict.why}; the time limit was reached{left_over(evidence)}"
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


def _finishing(situation: Situation, evidence: Evidence) -> Step:
    """Read the logs that explain the verdict, at most ten minutes long, then end."""
    assert evidence.verdict is not None
    outcome, why = Outcome(evidence.verdict["outcome"]), evidence.verdict["why"]
    if outcome is Outcome.FAILURE and evidence.ended:
        why = _said_since(situation, evidence, why)
    since = evidence.verdict_at or situation.now
    if situation.now - since >= FINISH_FOR:
        return End(outcome, why, retry=_retry(situation, evidence, outcome))
    if evidence.log is None and evidence.ended:
        return ReadLog()
    reading = [job for job in situation.rayjobs if job.confirmed and not job.complete]
    if any(job.final != "NOT_FOUND" for job in reading):
        return Wait(State.FINISHING, since + FINISH_FOR, "reading the log")
    return End(outcome, why, retry=_retry(situation, evidence, outcome))


def _said_since(situation: Situation, evidence: Evidence, why: str) -> str:
    """Return the reason again: a RayJob's end may be heard after that of its workflow."""
    verdict = _judged(situation, evidence)
    if isinstance(verdict, Decided) and verdict.outcome is Outcome.FAILURE:
        return verdict.why + left_over(evidence)
    return why


def _retry(situation: Situation, evidence: Evidence, outcome: Outcome) -> str:
    """Return why another attempt is worth its cost, "" when it is not."""
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
    known = [digest for digest in digests if digest.get("class_") not in {None, "unknown"}]
    return bool(known or digests) and all(
        digest.get("infra") is True for digest in known or digests
    )
