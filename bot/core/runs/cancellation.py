"""Stops a run: cancels its Actions run and deletes its RayJobs."""

from dataclasses import replace
from datetime import datetime, timedelta

from bot.core.messages import NOTHING, Message
from bot.core.model.runs import Outcome, State, StopReason, StopRequest
from bot.core.runs.observed import Observed
from bot.core.runs.reconcile_input import ReconcileInput
from bot.core.runs.steps import (
    CleanedUp,
    Conclude,
    DeleteRayJobs,
    End,
    ReadEnd,
    ReadLog,
    SendCancel,
    Step,
    Wait,
)
from bot.core.runs.verdict import TRUSTED_ENDS

FORCE_AFTER = timedelta(minutes=6)  # GitHub forces a cancel at 5 min
DELETE_AFTER = timedelta(seconds=60)  # the submit job first has so long to clean up itself
DELETE_FOR = timedelta(hours=1)
# A run that reached a limit ends so soon: what it leaves is stopped beside its finished check run.
_VERDICT_WITHIN = timedelta(seconds=30)
_LIMITS = {StopReason.TIME_OUT, StopReason.STALL, StopReason.NO_RUNNER}
READ_FOR = timedelta(minutes=10)  # how long after its end a run waits for its log
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


def verdict_due(given: ReconcileInput) -> datetime | None:
    """Return when a run that reached a limit ends at the latest, None if it reached none."""
    stop = given.run.stop_request
    return stop.at + _VERDICT_WITHIN if stop and stop.kind in _LIMITS else None


def end_stopped(given: ReconcileInput, stop_request: StopRequest) -> End:
    """End a stopped run; a run that is wanted again goes on as the next attempt."""
    again = stop_request.kind is StopReason.SUPERSEDE and given.wanted
    retry = Message("again_wanted") if again else NOTHING
    outcome = _OUTCOMES[stop_request.kind]
    return End(outcome, stop_request.reason, retry=retry, counts=False)


def cancel(given: ReconcileInput, observed: Observed, stop_request: StopRequest) -> Step:
    """Cancel the Actions run, then delete the RayJobs; their place is held for an hour at most."""
    if not observed.ended and (step := _send_cancel(given, observed)):
        return step
    deleting = None
    if _must_delete(given, observed):
        deleting = delete_rayjobs(given, observed, stop_request.reason)
    if observed.ended:
        return deleting or _conclude_stopped(given, observed, stop_request)
    if isinstance(deleting, DeleteRayJobs):
        return deleting
    return _await_cancel(observed, given.now, deleting)


def _send_cancel(given: ReconcileInput, observed: Observed) -> SendCancel | None:
    if observed.cancel_at is None:
        return SendCancel(force=False)
    late = given.now - observed.cancel_at >= FORCE_AFTER
    return SendCancel(force=True) if late and observed.force_at is None else None


def _conclude_stopped(given: ReconcileInput, observed: Observed, stop_request: StopRequest) -> Step:
    """Conclude a stopped run, so that its logs are read; a superseded run ends at once."""
    end = end_stopped(given, stop_request)
    if end.outcome is Outcome.SUPERSEDED:
        return replace(end, why=with_leftover(end.why, given, observed))
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
    if observed.deletes and _have_ended(given):
        return False
    asked = observed.cancel_at
    return observed.ended or (asked is not None and given.now - asked >= DELETE_AFTER)


def delete_rayjobs(
    given: ReconcileInput, observed: Observed, why: Message
) -> DeleteRayJobs | Wait | None:
    """Return the next step of deleting RayJobs, None if an hour has passed."""
    deletes = observed.deletes
    if not deletes:
        return DeleteRayJobs(1)
    if given.now - deletes[0] >= DELETE_FOR:
        return None
    due = deletes[-1] + timedelta(seconds=min(5 * 2 ** len(deletes), 300))
    if given.now < due:
        return Wait(State.CANCELLING, due, Message("run_deleting", why=why, left=observed.leftover))
    return DeleteRayJobs(len(deletes) + 1)


def rayjobs_may_live(given: ReconcileInput, observed: Observed) -> bool:
    """Return True if RayJobs may live on after a bad end, and deleting them was not given up.

    The submitter deletes by our run and attempt, so an unconfirmed id is safe. An unseen RayJob of
    a run that failed by itself gets a single try, because most such runs have none.
    """
    if not (given.run.snapshot.suite.rayjob and given.submitter) or observed.deleted:
        return False
    if observed.deletes and given.now - observed.deletes[0] >= DELETE_FOR:
        return False
    if not given.rayjobs:
        return not observed.deletes or verdict_due(given) is not None
    return not _have_ended(given)


def _have_ended(given: ReconcileInput) -> bool:
    return bool(given.rayjobs) and all(job.final in TRUSTED_ENDS for job in given.rayjobs)


def must_clean_up(given: ReconcileInput, observed: Observed) -> bool:
    """Return True if a run that ends badly leaves something that has to be stopped."""
    return not observed.ended or rayjobs_may_live(given, observed)


def clean_up(given: ReconcileInput, observed: Observed) -> Step:
    """Stop what an ended run has left, beside its finished check run, for an hour at most."""
    run, now = given.run, given.now
    step: Step | None = None
    if now - (run.ended_at or now) < DELETE_FOR:
        step = _stop_rest(given, observed)
    why = with_leftover(_plain(run.why), given, observed)
    if step is None:
        return CleanedUp(why)
    if isinstance(step, ReadEnd) and why != run.why:
        step = Wait(State.DONE, now + step.again)  # tells why first
    return replace(step, state=State.DONE, why=why) if isinstance(step, Wait) else step


def _stop_rest(given: ReconcileInput, observed: Observed) -> Step | None:
    """Stop the Actions run and the RayJobs of an ended run; None if nothing is left of both."""
    if not observed.ended and (step := _send_cancel(given, observed)):
        return step
    deleting = None
    if rayjobs_may_live(given, observed):
        deleting = delete_rayjobs(given, observed, given.run.why)
    if isinstance(deleting, DeleteRayJobs):
        return deleting
    if not observed.ended:
        return ReadEnd(SLOW_READ)
    unread = observed.log is None and given.now - (observed.seen_end_at or given.now) < READ_FOR
    return ReadLog() if unread else deleting


def _plain(why: Message) -> Message:
    """Return a reason without the words on RayJobs that were being deleted."""
    plain = why.fields["why"] if why.key == "run_deleting" else why
    assert isinstance(plain, Message)
    return plain


def with_leftover(why: Message, given: ReconcileInput, observed: Observed) -> Message:
    """Return a reason that also names the RayJobs that could not be deleted, if any live on."""
    if not observed.leftover or _have_ended(given):
        return why
    key = "run_deleting" if rayjobs_may_live(given, observed) else "run_leftover"
    return Message(key, why=why, left=observed.leftover)
