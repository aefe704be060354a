"""What a run does next, from its row and what is known now.

Level-triggered: asked twice, or after a crash anywhere, it answers the same, so a step is safe to
take again. Times that bend it stand as constants with their reason.
"""

from datetime import datetime, timedelta

from bot.core.messages.words import clock
from bot.core.model.digests import UNKNOWN
from bot.core.model.runs import Outcome, State, StopReason, StopRequest
from bot.core.runs import native
from bot.core.runs.cancellation import (
    SLOW_READ,
    cancel,
    delete_rayjobs,
    end_stopped,
    left_over,
    why_to_stop,
)
from bot.core.runs.observed import Observed, fold
from bot.core.runs.offline import LOOK_AT_LABEL, OFFLINE_AFTER
from bot.core.runs.reconcile_input import ReconcileInput
from bot.core.runs.steps import (
    Acquire,
    Conclude,
    Dispatch,
    End,
    FindRayJobs,
    ReadEnd,
    ReadLog,
    RequestStop,
    Search,
    Step,
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


def decide(given: ReconcileInput) -> Step:
    """Return the next step."""
    observed = fold(given.run, given.run_events)
    if observed.verdict is not None:
        return _finishing(given, observed)
    if given.run.actions_run_id is not None:
        return _following(given, observed)
    if observed.intents:
        return _dispatching(given, observed)
    if given.run.snapshot.native and given.run.rerun_of is None:
        return native.unstarted(given, observed)
    return _before_dispatch(given)


def _before_dispatch(given: ReconcileInput) -> Step:
    run, now = given.run, given.now
    stop = why_to_stop(given)
    if stop:
        return end_stopped(given, stop)
    if run.not_before and now < run.not_before:
        return Wait(State.QUEUED, run.not_before, "waiting a moment for further pushes")
    if run.snapshot.suite.rayjob and given.submitter_down:
        return Wait(State.QUEUED, now + LOOK_EVERY, given.submitter_down)
    placed = run.label or run.snapshot.native  # what GitHub started holds no place of ours
    return Dispatch(1) if placed else Acquire()


def _dispatching(given: ReconcileInput, observed: Observed) -> Step:
    """Find out what became of the last dispatch before anything else."""
    if observed.refused is not None:
        return End(Outcome.BROKEN, observed.refused)
    number, now = len(observed.intents), given.now
    if number not in observed.unsent and observed.searches < len(SEARCH_AFTER_S):
        due = observed.intents[-1] + timedelta(seconds=SEARCH_AFTER_S[observed.searches])
        if now < due:
            return Wait(State.DISPATCHING, due, "looking for the dispatched run")
        return Search(number, observed.searches + 1)
    stop = why_to_stop(given)
    if stop:
        return end_stopped(given, stop)
    if now - observed.intents[0] >= DISPATCH_FOR:
        why = f"GitHub took no dispatch for 10 min ({number} tries)"
        return End(Outcome.BROKEN, why, retry=_retry(given, observed, Outcome.BROKEN))
    return Dispatch(number + 1)


def _following(given: ReconcileInput, observed: Observed) -> Step:
    if given.run.snapshot.native and (over := native.let_go(given)):
        return over
    if observed.seen_end_at and not observed.ended:
        return _read_end(given, observed, observed.seen_end_at)
    if _must_ask(given, observed):
        return _ask_all(given, observed)
    verdict = _judged(given, observed)
    stop = why_to_stop(given)
    if isinstance(verdict, Decided) and not _stopped_by_us(observed, stop):
        return _conclude(given, observed, verdict)
    if stop is None and not (observed.cancel_at or observed.deletes):
        return _watch(given, observed, verdict)
    if stop is None and observed.cancel_at is None and _over_time(given, observed):
        return _at_time_limit(given, observed)  # its RayJobs are being deleted
    return cancel(given, observed, stop or _asked(given))


def _read_end(given: ReconcileInput, observed: Observed, said_at: datetime) -> Step:
    """Read the end that was said; one that stays untrue puts off no limit and no cancel."""
    if given.now - said_at < DOUBT_AFTER:
        return ReadEnd()
    stop = why_to_stop(given)
    if stop or observed.cancel_at:
        step = cancel(given, observed, stop or _asked(given))
    else:
        step = _watch(given, observed, None)
    return ReadEnd(SLOW_READ) if isinstance(step, Wait | FindRayJobs) else step


def _stopped_by_us(observed: Observed, stop: StopRequest | None) -> bool:
    """Tell whether an end may be our cancel's doing: a deleted RayJob can end as FAILED."""
    deleting = bool(observed.deletes) and observed.conclusion == "success"
    return observed.cancel_taken or (deleting and stop is not None)


def _must_ask(given: ReconcileInput, observed: Observed) -> bool:
    """Tell whether a RayJob may exist that was never seen: green needs all of them."""
    green = observed.ended and observed.conclusion == "success"
    return green and given.run.snapshot.suite.rayjob and not observed.asked and observed.log is None


def _ask_all(given: ReconcileInput, observed: Observed) -> Step:
    """Ask the submitter; one that is healthy and does not answer is not waited for."""
    waited = given.now - (observed.seen_end_at or given.now)
    answers = given.submitter and not given.submitter_down
    if answers and waited < UNSEEN_AFTER:
        return FindRayJobs(given.now + LOOK_EVERY, last=True)
    return ReadLog()  # names every RayJob that was submitted, too


def _asked(given: ReconcileInput) -> StopRequest:
    """Return why a cancel is under way that the wants no longer explain."""
    return given.run.stop_request or StopRequest(
        StopReason.SUPERSEDE, "", "nobody wanted this run for a while", given.now
    )


def _judged(given: ReconcileInput, observed: Observed) -> Pending | Decided | None:
    if not observed.ended:
        return None
    return judge(given.run, observed, given.rayjobs, given.now)


def _conclude(given: ReconcileInput, observed: Observed, verdict: Decided) -> Step:
    """Write the verdict down; a RayJob that lives on after a bad end is deleted first."""
    if verdict.outcome is Outcome.SUCCESS:
        return End(verdict.outcome, verdict.why)
    if _may_live(given, observed):
        step = delete_rayjobs(given, observed, verdict.why)
        if step:
            return step
    return Conclude(verdict.outcome, verdict.why + left_over(observed))


def _may_live(given: ReconcileInput, observed: Observed) -> bool:
    """Tell whether a RayJob may outlive a bad end: seen and not ended, or not seen yet.

    The submitter deletes by our run and attempt, so an unconfirmed id is safe. For one that
    nobody saw, a single try has to do: most runs that failed early have none.
    """
    if not given.run.snapshot.suite.rayjob:
        return False
    if not given.rayjobs:
        return not observed.deletes
    return any(job.final not in TRUSTED_ENDS for job in given.rayjobs)


def _watch(given: ReconcileInput, observed: Observed, verdict: Pending | Decided | None) -> Step:
    """Follow a run that nobody wants stopped, up to its limits."""
    run, now = given.run, given.now
    if observed.started_at is None and not observed.ended:
        if run.snapshot.native:
            return native.waiting(given, observed, _why_no_runner(given))
        return _wait_for_runner(given)
    githubs = run.snapshot.native and not observed.ended  # its own limits hold till then
    limit = native.lost(given) if githubs else _limit(given, observed)
    if limit:
        return limit
    if isinstance(verdict, Pending):
        return _after_actions(given, verdict)
    look = run.snapshot.suite.rayjob and given.submitter and not given.rayjobs
    if look and not given.submitter_down:
        return FindRayJobs(now + LOOK_EVERY)
    return Wait(State.RUNNING, now + _SLOW_LOOK)


def _wait_for_runner(given: ReconcileInput) -> Step:
    now, since = given.now, given.run.dispatched_at or given.run.created_at
    if now - since >= NO_RUNNER_AFTER:
        return RequestStop(StopReason.NO_RUNNER, "no runner took the job within 24 h")
    look = max(since + OFFLINE_AFTER, now + LOOK_AT_LABEL)
    until = min(look, since + NO_RUNNER_AFTER)
    return Wait(State.WAITING_FOR_RUNNER, until, _why_no_runner(given))


def _why_no_runner(given: ReconcileInput) -> str:
    offline, label = given.offline, given.run.label
    if offline:
        since = clock(offline.since, given.now)
        return f"{offline.label} looks offline: no job started on it since {since}"
    return f"waiting for a runner with the label {label}" if label else "waiting for a runner"


def _limit(given: ReconcileInput, observed: Observed) -> Step | None:
    """Return the step at the time limit or at the stall limit, None before both."""
    run, now = given.run, given.now
    if _over_time(given, observed):
        return _at_time_limit(given, observed)
    alive = [job for job in given.rayjobs if job.final is None]
    lines = [job.last_line_at for job in alive if job.last_line_at]
    stalled = timedelta(minutes=run.snapshot.suite.stall_minutes)
    if lines and now - max(lines) >= stalled and not _any_silent(given):
        return RequestStop(
            StopReason.STALL,
            f"no output for {run.snapshot.suite.stall_minutes} min: the job hangs",
        )
    return None


def _over_time(given: ReconcileInput, observed: Observed) -> bool:
    run = given.run
    started_at = observed.started_at or run.dispatched_at or run.created_at
    return given.now - started_at >= timedelta(minutes=run.snapshot.suite.timeout_minutes)


def _any_silent(given: ReconcileInput) -> bool:
    """Tell whether the silence may be the submitter's and not the job's."""
    return any(job.silent_since for job in given.rayjobs)


def _at_time_limit(given: ReconcileInput, observed: Observed) -> Step:
    verdict = _judged(given, observed)
    if isinstance(verdict, Pending) and verdict.unknown:
        # It may live on, unseen, and hold its NPUs.
        step = delete_rayjobs(given, observed, verdict.why)
        if step:
            return step
        why = f"{verdict.why}; the time limit was reached{left_over(observed)}"
        return End(Outcome.BROKEN, why, retry=_retry(given, observed, Outcome.BROKEN))
    minutes = given.run.snapshot.suite.timeout_minutes
    return RequestStop(StopReason.TIME_OUT, f"the time limit of {minutes} min was reached")


def _after_actions(given: ReconcileInput, verdict: Pending) -> Step:
    """Look for more evidence after the Actions run's end."""
    now = given.now
    if verdict.read_log:
        return ReadLog()
    look = given.submitter and not given.rayjobs and not given.submitter_down
    if look:
        return FindRayJobs(now + LOOK_EVERY)
    return Wait(State.RUNNING, now + LOOK_EVERY, verdict.why)


def _finishing(given: ReconcileInput, observed: Observed) -> Step:
    """Read the logs that explain the verdict, at most ten minutes long, then end."""
    assert observed.verdict is not None
    outcome, why = observed.verdict.outcome, observed.verdict.why
    if outcome is Outcome.FAILURE and observed.ended:
        why = _said_since(given, observed, why)
    since = observed.verdict_at or given.now
    if given.now - since >= FINISH_FOR:
        return End(outcome, why, retry=_retry(given, observed, outcome))
    if observed.log is None and observed.ended:
        return ReadLog()
    reading = [job for job in given.rayjobs if job.confirmed and not job.complete]
    if any(job.final != "NOT_FOUND" for job in reading):
        return Wait(State.FINISHING, since + FINISH_FOR, "reading the log")
    return End(outcome, why, retry=_retry(given, observed, outcome))


def _said_since(given: ReconcileInput, observed: Observed, why: str) -> str:
    """Return the reason again: a RayJob's end may be heard after that of its workflow."""
    verdict = _judged(given, observed)
    if isinstance(verdict, Decided) and verdict.outcome is Outcome.FAILURE:
        return verdict.why + left_over(observed)
    return why


def _retry(given: ReconcileInput, observed: Observed, outcome: Outcome) -> str:
    """Return why another attempt is worth its cost, "" when it is not."""
    run = given.run
    snapshot = run.snapshot
    spent = run.retries >= snapshot.suite.infra_retries or not snapshot.retryable
    cancelled = run.stop_request is not None and run.stop_request.kind is StopReason.CANCEL
    if spent or cancelled or not given.wanted:
        return ""
    if outcome is Outcome.BROKEN:
        return "it was not the change's fault"
    if (
        outcome is Outcome.TIMED_OUT
        and run.stop_request
        and run.stop_request.kind is StopReason.STALL
    ):
        return "the job hung"
    if outcome is Outcome.FAILURE and _infra(given, observed):
        return "the infrastructure failed, not the change"
    return ""


def _infra(given: ReconcileInput, observed: Observed) -> bool:
    """Tell whether the digest of the failed job says that the infrastructure was at fault."""
    digests = [job.digest for job in given.rayjobs if job.digest]
    if observed.log and observed.log.digest:
        digests.append(observed.log.digest)
    known = [digest for digest in digests if digest.failure_class != UNKNOWN] or digests
    return bool(known) and all(digest.infra for digest in known)
