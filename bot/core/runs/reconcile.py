"""The next step of a run, decided from its row, its events and its RayJobs.

The decision depends only on what is stored. Asked twice, or after a crash, it is the same, so a
step is safe to take again.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from bot.core.digest.result import UNKNOWN
from bot.core.messages import NOTHING, Message
from bot.core.messages.words import clock
from bot.core.model.runs import Outcome, State, StopReason, StopRequest
from bot.core.runs import cancellation, native, steps
from bot.core.runs.hidden import is_looked_for, judge_hidden
from bot.core.runs.jobs import ABSENT
from bot.core.runs.observed import Observed, fold
from bot.core.runs.offline import LOOK_AT_LABEL, OFFLINE_AFTER
from bot.core.runs.reconcile_input import ReconcileInput
from bot.core.runs.verdict import UNSEEN_AFTER, Decided, Pending, judge

# When to search for a lost dispatch: GitHub's lists lag 1 to 3 s, and more under load.
SEARCH_AFTER_S = (2, 5, 15, 40)
DISPATCH_FOR = timedelta(minutes=10)
NO_RUNNER_AFTER = timedelta(hours=24)  # GitHub itself gives up a queued job after a day
DOUBT_AFTER = timedelta(minutes=5)  # GitHub's own answer lags its webhook by seconds
LOOK_EVERY = timedelta(seconds=15)  # for RayJobs: the submit job takes minutes to prepare
_SAFETY_LOOK = timedelta(minutes=15)  # in case an event got lost
_LOOK_IN_TROUBLE = timedelta(minutes=1)  # whether it is over


def decide(given: ReconcileInput) -> steps.Step:
    """Return the next step of a run."""
    observed = fold(given.run, given.run_events)
    if given.run.state is State.DONE:
        return cancellation.clean_up(given, observed)
    step = _next(given, observed)
    due = cancellation.verdict_due(given)
    return _in_time(given, observed, step, due) if due else step


def _next(given: ReconcileInput, observed: Observed) -> steps.Step:
    if observed.verdict is not None:
        return _finishing(given, observed)
    if given.run.actions_run_id is not None:
        return _following(given, observed)
    if observed.intents or observed.refused is not None:
        return _dispatching(given, observed)
    if given.run.snapshot.native and given.run.rerun_of is None:
        return native.wait_for_start(given, observed)
    return _before_dispatch(given)


def _in_time(
    given: ReconcileInput, observed: Observed, step: steps.Step, due: datetime
) -> steps.Step:
    """Let a run that reached a limit end in time, whoever does not answer."""
    if isinstance(step, steps.End):
        return step
    if given.now >= due:
        assert given.run.stop_request is not None
        stopped = cancellation.end_stopped(given, given.run.stop_request)
        verdict = observed.verdict or (step if isinstance(step, steps.Conclude) else stopped)
        return _end(given, observed, verdict.outcome, verdict.why)
    if isinstance(step, steps.Wait):
        return replace(step, until=min(step.until or due, due))
    if isinstance(step, steps.ReadEnd):
        return replace(step, again=min(step.again, due - given.now))
    return step


def _end(given: ReconcileInput, observed: Observed, outcome: Outcome, why: Message) -> steps.End:
    """End a run that did not pass, and begin to clean up what it leaves."""
    return steps.End(
        outcome,
        cancellation.with_leftover(why, given, observed),
        retry=_retry(given, observed, outcome),
        cleans_up=cancellation.must_clean_up(given, observed),
    )


def _before_dispatch(given: ReconcileInput) -> steps.Step:
    run, now = given.run, given.now
    stop = cancellation.why_to_stop(given)
    if stop:
        return cancellation.end_stopped(given, stop)
    if run.not_before and now < run.not_before:
        return steps.Wait(State.QUEUED, run.not_before, Message("waits_push"))
    if run.snapshot.suite.rayjob and given.submitter_down:
        return steps.Wait(State.QUEUED, now + LOOK_EVERY, given.submitter_down)
    placed = run.label or run.snapshot.native  # what GitHub started holds no place of ours
    return steps.Dispatch(1) if placed else steps.Acquire()


def _dispatching(given: ReconcileInput, observed: Observed) -> steps.Step:
    """Find the run of the last dispatch, before it is dispatched again or stopped."""
    if observed.refused is not None:
        return steps.End(Outcome.BROKEN, observed.refused)
    if observed.accepted:
        return _find_accepted(given, observed)
    number, now = len(observed.intents), given.now
    if number not in observed.unsent and observed.searches < len(SEARCH_AFTER_S):
        return _search(given, observed, timedelta(seconds=SEARCH_AFTER_S[observed.searches]))
    stop = cancellation.why_to_stop(given)
    if stop:
        return cancellation.end_stopped(given, stop)
    # A re-run of its jobs alone waits for those of other suites, however often it was refused.
    patience = NO_RUNNER_AFTER if given.run.snapshot.suite.jobs else DISPATCH_FOR
    if now - observed.intents[0] >= patience:
        why = Message("run_not_taken", tries=number)
        return steps.End(Outcome.BROKEN, why, retry=_retry(given, observed, Outcome.BROKEN))
    return steps.Dispatch(number + 1)


def _find_accepted(given: ReconcileInput, observed: Observed) -> steps.Step:
    """Find the run of a dispatch that GitHub took: another one would start a second run."""
    if given.now - observed.intents[-1] >= DISPATCH_FOR:
        if stop := cancellation.why_to_stop(given):
            return cancellation.end_stopped(given, stop)
        key = "run_hidden_rerun" if given.run.rerun_of else "run_hidden"
        why = Message(key, workflow=given.run.snapshot.suite.workflow)
        return steps.End(Outcome.BROKEN, why)
    later = observed.searches - len(SEARCH_AFTER_S)
    if later >= 0:
        return _search(given, observed, timedelta(minutes=1 + later))
    return _search(given, observed, timedelta(seconds=SEARCH_AFTER_S[observed.searches]))


def _search(given: ReconcileInput, observed: Observed, after: timedelta) -> steps.Step:
    """Search for the run of the last dispatch when the time for it has come."""
    due = observed.intents[-1] + after
    if given.now < due:
        failed = given.run.why.key == "waits_dispatch"
        why = given.run.why if failed else Message("waits_dispatched")
        return steps.Wait(State.DISPATCHING, due, why)
    return steps.Search(len(observed.intents), observed.searches + 1)


def _following(given: ReconcileInput, observed: Observed) -> steps.Step:
    """Follow an Actions run, from its start to its verdict."""
    if given.run.snapshot.native and (over := native.end_if_unwanted(given)):
        return over
    if observed.seen_end_at and not observed.ended:
        return _read_end(given, observed, observed.seen_end_at)
    if _must_list_rayjobs(given, observed):
        return _list_rayjobs(given, observed)
    verdict = _verdict(given, observed)
    stop = cancellation.why_to_stop(given)
    if isinstance(verdict, Decided) and not _stopped_by_us(observed, stop):
        return _conclude(given, observed, verdict)
    if stop is None and not (observed.cancel_at or observed.deletes):
        return _keep_running(given, observed, verdict)
    return cancellation.cancel(given, observed, stop or _reason_of_cancel(given))


def _read_end(given: ReconcileInput, observed: Observed, said_at: datetime) -> steps.Step:
    """Read the end that an event told; limits and cancels go on while GitHub denies it."""
    if given.now - said_at < DOUBT_AFTER:
        return steps.ReadEnd()
    stop = cancellation.why_to_stop(given)
    if stop or observed.cancel_at:
        step = cancellation.cancel(given, observed, stop or _reason_of_cancel(given))
    else:
        step = _keep_running(given, observed, None)
    return (
        steps.ReadEnd(cancellation.SLOW_READ)
        if isinstance(step, steps.Wait | steps.FindRayJobs)
        else step
    )


def _stopped_by_us(observed: Observed, stop: StopRequest | None) -> bool:
    """Return True if our cancel may have caused the end: a deleted RayJob can end as FAILED."""
    deleting = bool(observed.deletes) and observed.conclusion == "success"
    return observed.cancel_taken or (deleting and stop is not None)


def _must_list_rayjobs(given: ReconcileInput, observed: Observed) -> bool:
    """Return True if unseen RayJobs may exist: a green run needs all of them."""
    green = observed.ended and observed.conclusion == "success"
    return (
        green
        and given.run.snapshot.suite.rayjob
        and not observed.rayjobs_listed
        and observed.log is None
    )


def _list_rayjobs(given: ReconcileInput, observed: Observed) -> steps.Step:
    """Ask the submitter for all RayJobs, or the log if the submitter does not answer in time."""
    waited = given.now - (observed.seen_end_at or given.now)
    if given.submitter_answers and waited < UNSEEN_AFTER:
        return steps.FindRayJobs(given.now + LOOK_EVERY, last=True)
    return steps.ReadLog()  # it names every submitted RayJob, too


def _reason_of_cancel(given: ReconcileInput) -> StopRequest:
    """Return why a cancel is under way, although the run is wanted again."""
    return given.run.stop_request or StopRequest(
        StopReason.SUPERSEDE, "", Message("run_unwanted_for"), given.now
    )


def _verdict(given: ReconcileInput, observed: Observed) -> Pending | Decided | None:
    """Judge a run whose Actions run has ended; None before."""
    if not observed.ended:
        return None
    return judge(given.run, observed, given.rayjobs, given.now)


def _conclude(given: ReconcileInput, observed: Observed, verdict: Decided) -> steps.Step:
    """Save the verdict; a RayJob that may live on after a bad end is deleted first.

    One that can't be deleted now does not hold up the verdict.
    """
    if verdict.outcome is Outcome.SKIPPED:
        return steps.End(verdict.outcome, verdict.why)
    if verdict.outcome is Outcome.SUCCESS:
        end = steps.Conclude if is_looked_for(given.run) else steps.End
        return end(verdict.outcome, verdict.why)
    if not observed.deletes and cancellation.rayjobs_may_live(given, observed):
        return steps.DeleteRayJobs(1)
    return steps.Conclude(verdict.outcome, verdict.why)


def _keep_running(
    given: ReconcileInput, observed: Observed, verdict: Pending | Decided | None
) -> steps.Step:
    """Let a run go on up to its limits."""
    run, now = given.run, given.now
    if observed.started_at is None and not observed.ended:
        if run.snapshot.native:
            return native.wait_for_runner(given, observed, _why_no_runner(given))
        return _wait_for_runner(given)
    if run.snapshot.native and not observed.ended:  # until then GitHub's own limits hold
        limit: steps.Step | None = native.look_for_missed_end(given)
    else:
        limit = _limit(given, observed)
    if limit:
        return limit
    if isinstance(verdict, Pending):
        return _look_for_evidence(given, verdict)
    if given.rayjobs_missing:
        return steps.FindRayJobs(now + LOOK_EVERY)
    return steps.Wait(State.RUNNING, _next_look(given, observed), given.submitter_down)


def _next_look(given: ReconcileInput, observed: Observed) -> datetime:
    """Return when a running run is looked at if no event comes: when a limit may be reached.

    Thousands may run for hours, so they are not looked at for nothing.
    """
    now = given.now
    if given.submitter_down:
        return now + _LOOK_IN_TROUBLE
    looks = [now + _SAFETY_LOOK]
    if not given.run.snapshot.native or observed.ended:
        looks += [_time_limit(given, observed), _stall_limit(given) or now]
    return min(look for look in looks if look > now)


def _wait_for_runner(given: ReconcileInput) -> steps.Step:
    now, since = given.now, given.run.dispatched_at or given.run.created_at
    if now - since >= NO_RUNNER_AFTER:
        return steps.RequestStop(StopReason.NO_RUNNER, Message("run_no_runner"))
    look = max(since + OFFLINE_AFTER, now + LOOK_AT_LABEL)
    until = min(look, since + NO_RUNNER_AFTER)
    return steps.Wait(State.WAITING_FOR_RUNNER, until, _why_no_runner(given))


def _why_no_runner(given: ReconcileInput) -> Message:
    offline, label = given.offline, given.run.label
    if offline:
        since = clock(offline.since, given.now)
        return Message("waits_offline", label=offline.label, since=since)
    return Message("waits_label", label=label) if label else Message("waits_runner")


def _limit(given: ReconcileInput, observed: Observed) -> steps.Step | None:
    """Return the step at the time limit or the stall limit, None before both."""
    run, now = given.run, given.now
    if _over_time(given, observed):
        return _at_time_limit(given, observed)
    stalled_at = _stall_limit(given)
    if stalled_at and now >= stalled_at:
        return steps.RequestStop(
            StopReason.STALL, Message("run_stalled", minutes=run.snapshot.suite.stall_minutes)
        )
    return None


def _stall_limit(given: ReconcileInput) -> datetime | None:
    """Return when the run has stalled if its RayJobs print nothing more; None: it can't be told."""
    alive = [job for job in given.rayjobs if job.final is None]
    lines = [job.last_line_at for job in alive if job.last_line_at]
    silent = any(job.silent_since for job in given.rayjobs)  # the job may still print lines
    if silent or not lines:
        return None
    return max(lines) + timedelta(minutes=given.run.snapshot.suite.stall_minutes)


def _over_time(given: ReconcileInput, observed: Observed) -> bool:
    return given.now >= _time_limit(given, observed)


def _time_limit(given: ReconcileInput, observed: Observed) -> datetime:
    run = given.run
    started_at = observed.started_at or run.dispatched_at or run.created_at
    return started_at + timedelta(minutes=run.snapshot.suite.timeout_minutes)


def _at_time_limit(given: ReconcileInput, observed: Observed) -> steps.Step:
    """Stop a run at its time limit; a run whose end stays unknown is broken."""
    verdict = _verdict(given, observed)
    if isinstance(verdict, Pending) and verdict.unknown:
        why = Message("run_limit_unknown", why=verdict.why)
        return _end(given, observed, Outcome.BROKEN, why)
    minutes = given.run.snapshot.suite.timeout_minutes
    return steps.RequestStop(StopReason.TIME_OUT, Message("run_limit_stop", minutes=minutes))


def _look_for_evidence(given: ReconcileInput, verdict: Pending) -> steps.Step:
    """Look for the end of the RayJob after that of the Actions run."""
    now = given.now
    if verdict.read_log:
        return steps.ReadLog()
    if given.rayjobs_missing:
        return steps.FindRayJobs(now + LOOK_EVERY)
    return steps.Wait(State.RUNNING, now + LOOK_EVERY, verdict.why)


def _finishing(given: ReconcileInput, observed: Observed) -> steps.Step:
    """Read the logs that explain the verdict, for ten minutes at most, then end the run."""
    assert observed.verdict is not None
    outcome, why = observed.verdict.outcome, observed.verdict.why
    if outcome is Outcome.FAILURE and observed.ended:
        why = _reason_now(given, observed, why)
    is_green = outcome is Outcome.SUCCESS
    if is_green:
        judged = judge_hidden(given.run, observed, given.rayjobs, Decided(outcome, why))
        outcome, why = judged.outcome, judged.why
    since = observed.verdict_at or given.now
    if given.now - since >= cancellation.READ_FOR:
        return _end(given, observed, outcome, why)
    by_rayjob = is_green and given.run.snapshot.suite.rayjob
    if observed.log is None and observed.ended and not by_rayjob:
        return steps.ReadLog()
    reading = [job for job in given.rayjobs if job.confirmed and not job.complete]
    if any(job.final != "NOT_FOUND" for job in reading):
        return steps.Wait(State.FINISHING, since + cancellation.READ_FOR, Message("waits_log"))
    return _end(given, observed, outcome, why)


def _reason_now(given: ReconcileInput, observed: Observed, why: Message) -> Message:
    """Return the reason as known now: the end of the RayJob may be told after the verdict."""
    verdict = _verdict(given, observed)
    if isinstance(verdict, Decided) and verdict.outcome is Outcome.FAILURE:
        return verdict.why
    return why


def _retry(given: ReconcileInput, observed: Observed, outcome: Outcome) -> Message:
    """Return why another attempt follows, nothing if none does."""
    run = given.run
    snapshot = run.snapshot
    spent = run.retries >= snapshot.suite.infra_retries or not snapshot.retryable
    cancelled = run.stop_request is not None and run.stop_request.kind is StopReason.CANCEL
    if spent or cancelled or not given.wanted or observed.conclusion == ABSENT:
        return NOTHING
    if outcome is Outcome.BROKEN:
        return Message("again_broken")
    if (
        outcome is Outcome.TIMED_OUT
        and run.stop_request
        and run.stop_request.kind is StopReason.STALL
    ):
        return Message("again_hung")
    return _retry_of_failure(given, observed) if outcome is Outcome.FAILURE else NOTHING


def _retry_of_failure(given: ReconcileInput, observed: Observed) -> Message:
    """Return why a failed run is retried: every digest that knows a cause says that it helps."""
    digests = [job.digest for job in given.rayjobs if job.digest]
    if observed.log and observed.log.digest:
        digests.append(observed.log.digest)
    known = [digest for digest in digests if digest.failure_class != UNKNOWN]
    if not all(digest.infra for digest in known or digests):
        return NOTHING
    silent = Message("again_silent") if digests else NOTHING
    return Message("again_infra") if known else silent
