"""A run's events in the order in which a run goes, and the line that people read for each.

Events come from several sources, each with a lag of its own, and people see whole minutes. So
within a minute the natural order counts, and only then the order of arrival.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import assert_never

from bot.core.messages import NOTHING, Message
from bot.core.model import run_events as ev
from bot.core.model.views import SuiteView
from bot.core.rayjob.words import state_word
from bot.core.runs.verdict import TRUSTED_ENDS

_BEGIN, _SENT, _APPROVAL, _RUNNER, _RAYJOB, _ENDING, _END, _AFTER, _NEXT = range(0, 90, 10)
_RANKS: dict[type[ev.What], int] = {
    ev.DispatchStarted: _BEGIN,
    ev.DispatchUnsent: _BEGIN,
    ev.DispatchAccepted: _BEGIN,
    ev.DispatchSearched: _BEGIN,
    ev.NativeRunSeen: _BEGIN,
    ev.NativeRunUnclear: _BEGIN,
    ev.DispatchRefused: _SENT,
    ev.Dispatched: _SENT,
    ev.StartedByGitHub: _SENT,
    ev.WorkflowRunChanged: _APPROVAL,
    ev.JobChanged: _RUNNER,
    ev.RayJobSeen: _RAYJOB,
    ev.RayJobAnnounced: _RAYJOB,
    ev.CancelSent: _ENDING,
    ev.ForceCancelSent: _ENDING,
    ev.WorkflowRunEnded: _END,
    ev.NextAttemptMade: _NEXT,
}
# What a phase, the title or the verdict says already.
_OF_PHASES = (
    ev.DispatchRefused
    | ev.StartedByGitHub
    | ev.JobChanged
    | ev.WorkflowRunEnded
    | ev.RayJobSeen
    | ev.RayJobAnnounced
    | ev.RayJobChanged
    | ev.NextAttemptMade
)
_STATES = ("", "new", "pending", "initializing", "waiting", "running")  # of a RayJob, then its end


def in_order(run_events: Iterable[ev.RunEvent]) -> tuple[ev.RunEvent, ...]:
    """Return the events by minute, then as a run goes, then as they were heard."""
    return tuple(sorted(run_events, key=_place))


def remarks(view: SuiteView) -> tuple[tuple[datetime, Message], ...]:
    """Return the times and lines of what is no phase of a run, and that its state does not say."""
    shown = [item for item in in_order(view.run_events) if _is_remark(item.what, view)]
    lines = [(item.at, line_of(item.what)) for item in shown]
    return tuple((at, line) for at, line in lines if line)


def _is_remark(what: ev.What, view: SuiteView) -> bool:
    """Return True for an event that people should hear of beside the phases."""
    match what:
        case ev.DispatchStarted(number=number):
            return number > 1
        case ev.Dispatched(found=found):
            accepted = any(isinstance(item.what, ev.DispatchAccepted) for item in view.run_events)
            return found and not accepted  # else no answer was lost: GitHub named no run
        case ev.CancelSent(taken=taken) | ev.ForceCancelSent(taken=taken):
            return taken
        case ev.RayJobsDeleted():
            told = view.run.why.key in {"run_leftover", "run_deleting"}
            return not told and what == _last_delete(view) and _was_deleted(view)
        case _:
            return not isinstance(what, _OF_PHASES)


def _last_delete(view: SuiteView) -> ev.RayJobsDeleted | None:
    tries = [item.what for item in view.run_events if isinstance(item.what, ev.RayJobsDeleted)]
    return max(tries, key=lambda what: what.number, default=None)


def _was_deleted(view: SuiteView) -> bool:
    """Return True if there was a RayJob to delete: one that is known and had not ended."""
    return any(job.final not in TRUSTED_ENDS for job in view.rayjobs)


def line_of(what: ev.What) -> Message:
    """Return the line that people read, or nothing."""
    if isinstance(what, ev.OfDispatch):
        return _line_of_dispatch(what)
    if isinstance(what, ev.OfWorkflowRun):
        return _line_of_workflow_run(what)
    if isinstance(what, ev.OfRayJob):
        return _line_of_rayjob(what)
    return _line_of_end(what)


def _line_of_dispatch(what: ev.OfDispatch) -> Message:
    match what:
        case ev.DispatchStarted(number=number):
            return (
                Message("line_dispatching") if number == 1 else Message("line_again", number=number)
            )
        case ev.DispatchUnsent() | ev.DispatchAccepted() | ev.DispatchSearched():
            return NOTHING
        case ev.DispatchRefused():
            return Message("line_refused")
        case ev.Dispatched(found=found):
            return Message("line_found") if found else Message("line_dispatched")
        case ev.StartedByGitHub(event=event):
            return Message("line_by_github", event=event)
        case _:
            assert_never(what)


def _line_of_workflow_run(what: ev.OfWorkflowRun) -> Message:
    match what:
        case ev.WorkflowRunChanged(status="action_required"):
            return Message("line_approval")
        case ev.JobChanged(status="in_progress", runner=runner) if runner:
            return Message("line_runner", runner=runner)
        case ev.WorkflowRunEnded(conclusion=conclusion):
            return Message("line_ended", conclusion=conclusion or Message("line_no_conclusion"))
        case ev.NativeRunUnclear(why=why):
            return why
        case ev.NativeRunSeen() | ev.WorkflowRunChanged() | ev.JobChanged() | ev.LogRead():
            return NOTHING
        case _:
            assert_never(what)


def _line_of_rayjob(what: ev.OfRayJob) -> Message:
    match what:
        case ev.RayJobSeen(job_id=job_id):
            return Message("line_rayjob", job=job_id)
        case ev.RayJobAnnounced(job_id=job_id):
            return Message("line_announced", job=job_id)
        case ev.RayJobChanged(job_id=job_id, deployment=deployment, status=status):
            return Message("line_state", job=job_id, state=state_word(deployment, status))
        case ev.RayJobForeign() | ev.RayJobUnrecorded() | ev.RayJobContested():
            return _line_of_owner(what)
        case ev.RayJobLogLost(problem=problem):
            return Message("line_log_lost", problem=problem)
        case ev.RayJobsDeleted(problem=problem):
            return (
                Message("line_not_deleted", problem=problem) if problem else Message("line_deleted")
            )
        case ev.RayJobsListed():
            return NOTHING
        case _:
            assert_never(what)


def _line_of_owner(what: ev.RayJobForeign | ev.RayJobUnrecorded | ev.RayJobContested) -> Message:
    match what:
        case ev.RayJobForeign(job_id=job_id):
            return Message("line_foreign", job=job_id)
        case ev.RayJobUnrecorded(job_id=job_id):
            return Message("line_unrecorded", job=job_id)
        case ev.RayJobContested(job_id=job_id):
            return Message("line_contested", job=job_id)
        case _:
            assert_never(what)


def _line_of_end(what: ev.OfEnd) -> Message:
    match what:
        case ev.CancelSent(taken=taken) | ev.ForceCancelSent(taken=taken):
            forced = isinstance(what, ev.ForceCancelSent)
            asked = Message("line_forced") if forced else Message("line_cancel")
            return asked if taken else Message("line_not_taken", asked=asked)
        case ev.NextAttemptMade(attempt=attempt, why=why):
            return Message("line_next", attempt=attempt, why=why)
        case ev.VerdictReached():
            return NOTHING
        case _:
            assert_never(what)


def _place(run_event: ev.RunEvent) -> tuple[datetime, int, datetime, str]:
    minute = run_event.at.replace(second=0, microsecond=0)
    return minute, _rank(run_event.what), run_event.at, run_event.key


def _rank(what: ev.What) -> int:
    """Return where an event stands among those of its minute."""
    match what:
        case ev.WorkflowRunChanged(status="completed") | ev.JobChanged(status="completed"):
            return _ENDING
        case ev.RayJobChanged(deployment=deployment, status=status):
            return _RAYJOB + _progress(deployment or status)
        case ev.RayJobForeign() | ev.RayJobUnrecorded() | ev.RayJobContested():
            return _RAYJOB + len(_STATES)
        case _:
            return _RANKS.get(type(what), _AFTER)


def _progress(state: str) -> int:
    """Return how far a RayJob is; its deployment's state says more than its status."""
    word = state.lower()
    return _STATES.index(word) if word in _STATES else len(_STATES)
