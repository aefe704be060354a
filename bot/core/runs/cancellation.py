"""How a run is stopped: its Actions run cancelled, its RayJobs deleted."""

from datetime import datetime, timedelta

from bot.core.model.runs import Outcome, State, Wish, WishKind
from bot.core.runs.observed import Evidence
from bot.core.runs.situation import Situation
from bot.core.runs.steps import Conclude, DeleteRayJobs, End, ReadEnd, SendCancel, Step, Wait

FORCE_AFTER = timedelta(minutes=6)  # GitHub forces a cancel at 5 min
DELETE_AFTER = timedelta(seconds=60)  # the submit job's own clean-up gets this long
DELETE_FOR = timedelta(hours=1)
SLOW_READ = timedelta(minutes=1)  # of a run whose end has been due for minutes: it may take hours


def why_to_stop(situation: Situation) -> Wish | None:
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


def end_stopped(situation: Situation, wish: Wish, leftover: str = "") -> End:
    """End a stopped run; one that is wanted again goes on as the next attempt."""
    why = f"{wish.reason}; RayJobs may be left: {leftover}" if leftover else wish.reason
    again = wish.kind is WishKind.SUPERSEDE and situation.wanted
    retry = "this commit is wanted again" if again else ""
    return End(_outcome(wish), why, retry=retry, counts=False)


def cancel(situation: Situation, evidence: Evidence, wish: Wish) -> Step:
    """Cancel the Actions run, then the RayJobs; a leftover holds its place for an hour."""
    now = situation.now
    if not evidence.ended:
        if evidence.cancel_at is None:
            return SendCancel(force=False)
        if evidence.force_at is None and now - evidence.cancel_at >= FORCE_AFTER:
            return SendCancel(force=True)
    deleting = None
    if _must_delete(situation, evidence):
        deleting = delete_rayjobs(situation, evidence, wish.reason)
    if evidence.ended:
        return deleting or _conclude_stopped(situation, evidence, wish)
    if isinstance(deleting, DeleteRayJobs):
        return deleting
    return _await_cancel(evidence, now, deleting)


def _conclude_stopped(situation: Situation, evidence: Evidence, wish: Wish) -> Step:
    """Conclude a stopped run, so that its logs are read; one that nobody wants just ends."""
    leftover = "" if evidence.deleted else evidence.leftover
    end = end_stopped(situation, wish, leftover)
    if end.outcome is Outcome.SUPERSEDED:
        return end
    return Conclude(end.outcome, end.why)


def _await_cancel(evidence: Evidence, now: datetime, deleting: Wait | None) -> Step:
    """Wait for the end of a cancelled run; look for it in case its webhook is lost.

    A delete that has to wait must not put off the force-cancel.
    """
    since = evidence.force_at or evidence.cancel_at or now
    if now - since >= FORCE_AFTER:
        return ReadEnd(SLOW_READ)
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


def delete_rayjobs(
    situation: Situation, evidence: Evidence, why: str
) -> DeleteRayJobs | Wait | None:
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


def left_over(evidence: Evidence) -> str:
    """Return the words that name what could not be deleted."""
    left = evidence.leftover and not evidence.deleted
    return f"; RayJobs may be left: {evidence.leftover}" if left else ""
