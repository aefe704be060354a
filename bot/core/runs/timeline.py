"""A run's events in the order in which a run goes, and the line that people read for each.

Events come from several sources, each with a lag of its own, and people see whole minutes. So
within a minute the natural order counts, and only then the order of arrival.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import assert_never

from bot.core.messages import NOTHING, Message
from bot.core.model.run_events import (
    CancelSent,
    Dispatched,
    DispatchRefused,
    DispatchSearched,
    DispatchStarted,
    DispatchUnsent,
    ForceCancelSent,
    JobChanged,
    LogRead,
    NativeRunSeen,
    NextAttemptMade,
    OfDispatch,
    OfEnd,
    OfRayJob,
    OfWorkflowRun,
    RayJobAnnounced,
    RayJobChanged,
    RayJobForeign,
    RayJobLogLost,
    RayJobsDeleted,
    RayJobSeen,
    RayJobsListed,
    RayJobUnrecorded,
    RunEvent,
    StartedByGitHub,
    VerdictReached,
    What,
    WorkflowRunChanged,
    WorkflowRunEnded,
)
from bot.core.rayjob.words import state_word

_BEGIN, _SENT, _APPROVAL, _RUNNER, _RAYJOB, _ENDING, _END, _AFTER, _NEXT = range(0, 90, 10)
_RANKS: dict[type[What], int] = {
    DispatchStarted: _BEGIN,
    DispatchUnsent: _BEGIN,
    DispatchSearched: _BEGIN,
    NativeRunSeen: _BEGIN,
    DispatchRefused: _SENT,
    Dispatched: _SENT,
    StartedByGitHub: _SENT,
    WorkflowRunChanged: _APPROVAL,
    JobChanged: _RUNNER,
    RayJobSeen: _RAYJOB,
    RayJobAnnounced: _RAYJOB,
    CancelSent: _ENDING,
    ForceCancelSent: _ENDING,
    WorkflowRunEnded: _END,
    NextAttemptMade: _NEXT,
}
_STATES = ("", "new", "pending", "initializing", "waiting", "running")  # of a RayJob, then its end


def in_order(run_events: Iterable[RunEvent]) -> tuple[RunEvent, ...]:
    """Return the events by minute, then as a run goes, then as they were heard."""
    return tuple(sorted(run_events, key=_place))


def told(run_events: Iterable[RunEvent]) -> tuple[tuple[datetime, Message], ...]:
    """Return the times and lines of the events that have a line, in order.

    The first try of a dispatch that was taken has no line: the dispatch itself has one.
    """
    known = in_order(run_events)
    sent = any(isinstance(item.what, Dispatched | StartedByGitHub) for item in known)
    shown = [item for item in known if not (sent and item.what == DispatchStarted(1))]
    lines = [(item.at, line_of(item.what)) for item in shown]
    return tuple((at, line) for at, line in lines if line)


def line_of(what: What) -> Message:
    """Return the line that people read, or nothing."""
    if isinstance(what, OfDispatch):
        return _line_of_dispatch(what)
    if isinstance(what, OfWorkflowRun):
        return _line_of_workflow_run(what)
    if isinstance(what, OfRayJob):
        return _line_of_rayjob(what)
    return _line_of_end(what)


def _line_of_dispatch(what: OfDispatch) -> Message:
    match what:
        case DispatchStarted(number=number):
            return (
                Message("line_dispatching") if number == 1 else Message("line_again", number=number)
            )
        case DispatchUnsent() | DispatchSearched():
            return NOTHING
        case DispatchRefused():
            return Message("line_refused")
        case Dispatched(found=found):
            return Message("line_found") if found else Message("line_dispatched")
        case StartedByGitHub(event=event):
            return Message("line_by_github", event=event)
        case _:
            assert_never(what)


def _line_of_workflow_run(what: OfWorkflowRun) -> Message:
    match what:
        case WorkflowRunChanged(status="action_required"):
            return Message("line_approval")
        case JobChanged(status="in_progress", runner=runner) if runner:
            return Message("line_runner", runner=runner)
        case WorkflowRunEnded(conclusion=conclusion):
            return Message("line_ended", conclusion=conclusion or Message("line_no_conclusion"))
        case NativeRunSeen() | WorkflowRunChanged() | JobChanged() | LogRead():
            return NOTHING
        case _:
            assert_never(what)


def _line_of_rayjob(what: OfRayJob) -> Message:
    match what:
        case RayJobSeen(job_id=job_id):
            return Message("line_rayjob", job=job_id)
        case RayJobAnnounced(job_id=job_id):
            return Message("line_announced", job=job_id)
        case RayJobChanged(job_id=job_id, deployment=deployment, status=status):
            return Message("line_state", job=job_id, state=state_word(deployment, status))
        case RayJobForeign(job_id=job_id):
            return Message("line_foreign", job=job_id)
        case RayJobUnrecorded(job_id=job_id):
            return Message("line_unrecorded", job=job_id)
        case RayJobLogLost(problem=problem):
            return Message("line_log_lost", problem=problem)
        case RayJobsDeleted(problem=problem):
            return (
                Message("line_not_deleted", problem=problem) if problem else Message("line_deleted")
            )
        case RayJobsListed():
            return NOTHING
        case _:
            assert_never(what)


def _line_of_end(what: OfEnd) -> Message:
    match what:
        case CancelSent(taken=taken) | ForceCancelSent(taken=taken):
            forced = isinstance(what, ForceCancelSent)
            asked = Message("line_forced") if forced else Message("line_cancel")
            return asked if taken else Message("line_not_taken", asked=asked)
        case NextAttemptMade(attempt=attempt, why=why):
            return Message("line_next", attempt=attempt, why=why)
        case VerdictReached():
            return NOTHING
        case _:
            assert_never(what)


def _place(run_event: RunEvent) -> tuple[datetime, int, datetime, str]:
    minute = run_event.at.replace(second=0, microsecond=0)
    return minute, _rank(run_event.what), run_event.at, run_event.key


def _rank(what: What) -> int:
    """Return where an event stands among those of its minute."""
    match what:
        case WorkflowRunChanged(status="completed") | JobChanged(status="completed"):
            return _ENDING
        case RayJobChanged(deployment=deployment, status=status):
            return _RAYJOB + _progress(deployment or status)
        case RayJobForeign() | RayJobUnrecorded():
            return _RAYJOB + len(_STATES)
        case _:
            return _RANKS.get(type(what), _AFTER)


def _progress(state: str) -> int:
    """Return how far a RayJob is; its deployment's state says more than its status."""
    word = state.lower()
    return _STATES.index(word) if word in _STATES else len(_STATES)
