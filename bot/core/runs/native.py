"""Suites that GitHub starts by its own path filters: which run is whose, and what it waits for.

The row of a selected one is made with the plan and waits; the Actions run that GitHub makes of its
workflow at that commit is bound to it. One that was not selected is adopted when it shows up.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.core.github.events import WorkflowRunEvent
from bot.core.model.ids import Sha
from bot.core.model.run_events import NativeRunSeen, WorkflowRunChanged
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.model.snapshot import Snapshot
from bot.core.policy import Policy, Start
from bot.core.runs.cancellation import end_stopped, why_to_stop
from bot.core.runs.observed import Observed
from bot.core.runs.offline import LOOK_AT_LABEL
from bot.core.runs.reconcile_input import ReconcileInput
from bot.core.runs.steps import Bind, End, ReadEnd, Step, Wait

# Two more could be of a pull request: `workflow_run` has another commit, `merge_group` its own.
EVENTS = ("pull_request", "pull_request_target", "push")
START_WITHIN = timedelta(minutes=10)  # of the push; GitHub takes seconds, under load minutes
LATE_PULL = timedelta(minutes=2)  # a pull request's webhook may come so long after its run's
LOST_AFTER = timedelta(hours=24)  # then the end is looked for: every word of it may be lost
LOOK_EVERY = timedelta(hours=1)
WAITS = "waiting for GitHub to start it"
TO_APPROVE = "somebody has to approve it on GitHub"
UNREQUESTED = "GitHub started it by its own filters"
ORIGIN = "GitHub, on {event}"
_NOT_STARTED = (
    "GitHub has not started it: the workflow's own filters differ, it is disabled, or the pull "
    "request conflicts with its base"
)
_FOLDER = ".github/workflows/"


@dataclass(frozen=True, slots=True)
class WorkflowRunInfo:
    """An Actions run as a webhook or a list tells of it."""

    run_id: int
    attempt: int
    event: str
    path: str
    sha: Sha
    status: str
    conclusion: str | None
    url: str
    created_at: datetime | None


def info_from_webhook(event: WorkflowRunEvent) -> WorkflowRunInfo:
    """Return the Actions run of a webhook; its action is ahead of its status."""
    return WorkflowRunInfo(
        run_id=event.run_id,
        attempt=event.attempt,
        event=event.event,
        path=event.path,
        sha=event.head_sha,
        status=event.action,
        conclusion=event.conclusion,
        url=event.html_url,
        created_at=event.created_at,
    )


def as_seen(seen: WorkflowRunInfo) -> NativeRunSeen:
    """Return what binds a row to the Actions run."""
    return NativeRunSeen(seen.run_id, seen.attempt, seen.url, seen.event)


def as_change(seen: WorkflowRunInfo) -> WorkflowRunChanged:
    """Return how far the Actions run is."""
    return WorkflowRunChanged(seen.attempt, seen.status, seen.conclusion)


def native_suites(policy: Policy, path: str) -> tuple[str, ...]:
    """Return the suites whose workflow GitHub has started; a path may end in ``@branch``."""
    name = path.partition("@")[0].removeprefix(_FOLDER)
    return tuple(
        key
        for key, suite in policy.suites.items()
        if suite.start is Start.NATIVE and suite.workflow == name
    )


def may_adopt(seen: WorkflowRunInfo, attempts: Iterable[Run]) -> bool:
    """Tell whether an Actions run is the one to follow, among a suite's attempts at its commit.

    As in GitHub's own list of checks the newest counts. While one is followed another is left
    alone; a push's is followed only where no other has been.
    """
    runs = sorted(attempts, key=lambda run: run.attempt)
    if not runs:
        return True
    latest = runs[-1]
    if latest.state is not State.DONE:
        return latest.actions_run_id is None and latest.rerun_of is None
    bound = [run.actions_run_id for run in runs if run.actions_run_id is not None]
    if not bound:
        return True
    return seen.event != "push" and seen.run_id > max(bound)


def unstarted(given: ReconcileInput, observed: Observed) -> Step:
    """Return the step of a run whose Actions run is not bound yet."""
    run, stop = given.run, why_to_stop(given)
    if stop and (stop.kind is StopReason.SUPERSEDE or observed.native is None):
        return end_stopped(given, stop)
    if observed.native is not None:
        found = observed.native
        return Bind(found.actions_run_id, found.attempt, found.url, found.event)
    until = run.created_at + START_WITHIN
    if given.now >= until:
        return End(Outcome.BROKEN, _NOT_STARTED)
    return Wait(State.QUEUED, until, WAITS)


def let_go(given: ReconcileInput) -> End | None:
    """End a run that nobody wants; GitHub's own goes on, unless its concurrency ends it."""
    stop = why_to_stop(given)
    if stop and stop.kind is StopReason.SUPERSEDE:
        return end_stopped(given, stop)
    return None


def waiting(given: ReconcileInput, observed: Observed, why: str) -> Step:
    """Return the step of a run that no runner has taken: GitHub's limits hold, not ours."""
    late = lost(given)
    if late:
        return late
    until = given.now + LOOK_AT_LABEL
    if observed.to_approve:
        return Wait(State.NEEDS_APPROVAL, until, TO_APPROVE)
    return Wait(State.WAITING_FOR_RUNNER, until, why)


def lost(given: ReconcileInput) -> ReadEnd | None:
    """Return a look at a run that goes on for so long that its end may have been missed."""
    run = given.run
    since = run.dispatched_at or run.created_at
    return ReadEnd(LOOK_EVERY) if given.now - since >= LOST_AFTER else None


def on_github(snapshot: Snapshot, state: State) -> bool:
    """Tell whether a run waits for an approval that is given on GitHub's own pages."""
    return snapshot.native and state is State.NEEDS_APPROVAL
