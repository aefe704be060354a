"""Stops a run: cancels its Actions run and deletes its RayJobs."""

from datetime import datetime, timedelta

from bot.core.messages import NOTHING, Message
from bot.core.model.runs import Outcome, State, StopReason, StopRequest
from bot.core.runs.observed import Observed
from bot.core.runs.reconcile_input import ReconcileInput
from bot.core.runs.steps import Conclude, DeleteRayJobs, End, ReadEnd, SendCancel, Step, Wait

FORCE_AFTER = timedelta(minutes=6)  # GitHub forces a cancel at 5 min
DELETE_AFTER = timedelta(seconds=60)  # the submit job first has so long to clean up itself
DELETE_FOR = timedelta(hours=1)
SLOW_READ = timedelta(minutes=1)  # after an end that is minutes late: it may take hours
_OUTCOMES = {
    StopReason.CANCEL: Outcome.CANCELLED,
    StopReason.SUPERSEDE: Outcome.SUPERSEDED,
    StopReason.TIME_OUT: Outcome.TIMED_OUT,
    StopReason.STALL: Outcome.TIMED_OUT,
    StopReason.NO_RUNNER: Outcome.BROKEN,
}


def why_to_stop(given: ReconcileInput) -> StopRequest | None:
    """Return why the run should stop: a stop request, or it has no claimant any more."""
    stop_request = given.run.stop_request
    if stop_request and (stop_request.kind is not StopReason.SUPERSEDE or not given.wanted):
        return stop_request
    if not given.wanted:
        return StopRequest(StopReason.SUPERSEDE, "", Message("run_unwanted"), given.now)
    return None


def end_stopped(given: ReconcileInput, stop_request: StopRequest, leftover: str = "") -> End:
    """End a stopped run; a run that is wanted again goes on as the next attempt."""
    why = stop_request.reason
    if leftover:
        why = Message("run_leftover", why=why, left=leftover)
    again = stop_request.kind is StopReason.SUPERSEDE and given.wanted
    retry = Message("again_wanted") if again else NOTHING
    return End(_OUTCOMES[stop_request.kind], why, retry=retry, counts=False)


def cancel(given: ReconcileInput, observed: Observed, stop_request: StopRequest) -> Step:
    """Cancel the Actions run, then delete the RayJobs; their place is held for an hour at most."""
    now = given.now
    if not observed.ended:
        if observed.cancel_at is None:
            return SendCancel(force=False)
        if observed.force_at is None and now - observed.cancel_at >= FORCE_AFTER:
            return SendCancel(force=True)
    deleting = None
    if _must_delete(given, observed):
        deleting = delete_rayjobs(given, observed, stop_request.reason)
    if observed.ended:
        return deleting or _conclude_stopped(given, observed, stop_request)
    if isinstance(deleting, DeleteRayJobs):
        return deleting
    return _await_cancel(observed, now, deleting)


def _conclude_stopped(given: ReconcileInput, observed: Observed, stop_request: StopRequest) -> Step:
    """Conclude a stopped run, so that its logs are read; a superseded run ends at once."""
    leftover = "" if observed.deleted else observed.leftover
    end = end_stopped(given, stop_request, leftover)
    if end.outcome is Outcome.SUPERSEDED:
        return end
    return Conclude(end.outcome, end.why)


def _await_cancel(observed: Observed, now: datetime, deleting: Wait | None) -> Step:
    """Wait for the end of a cancelled run, and look for it in case its webhook is lost.

    A delete that has to wait must not delay the force-cancel.
    """
    since = observed.force_at or observed.cancel_at or now
    if now - since >= FORCE_AFTER:
        return ReadEnd(SLOW_READ)
    ticks = (since + DELETE_AFTER, since + FORCE_AFTER)
    until = min(tick for tick in ticks if tick > now)
    if deleting and deleting.until and deleting.until < until:
        return deleting
    return Wait(State.CANCELLING, until, Message("waits_cancel"))


def _must_delete(given: ReconcileInput, observed: Observed) -> bool:
    """Return True if RayJobs should be deleted now: the Actions run ended, or 60 s passed."""
    if not (given.run.snapshot.suite.rayjob and given.submitter) or observed.deleted:
        return False
    asked = observed.cancel_at
    return observed.ended or (asked is not None and given.now - asked >= DELETE_AFTER)


def delete_rayjobs(
    given: ReconcileInput, observed: Observed, why: Message
) -> DeleteRayJobs | Wait | None:
    """Return the next step of deleting RayJobs, None if all are gone or an hour has passed."""
    deletes = observed.deletes
    if observed.deleted or not given.submitter:
        return None
    if not deletes:
        return DeleteRayJobs(1)
    if given.now - deletes[0] >= DELETE_FOR:
        return None
    due = deletes[-1] + timedelta(seconds=min(5 * 2 ** len(deletes), 300))
    if given.now < due:
        return Wait(State.CANCELLING, due, Message("run_deleting", why=why, left=observed.leftover))
    return DeleteRayJobs(len(deletes) + 1)


def with_leftover(why: Message, observed: Observed) -> Message:
    """Return a reason that also names the RayJobs that could not be deleted."""
    if observed.deleted or not observed.leftover:
        return why
    return Message("run_leftover", why=why, left=observed.leftover)
