"""Suites that GitHub starts by its own path filters.

The row of a selected one is made with the plan and waits; the Actions run that GitHub makes of its
workflow at that commit is bound to it. One that was not selected is adopted when it shows up.
"""

from collections.abc import Iterable
from datetime import timedelta

from bot.core.messages import Message
from bot.core.model.ids import Sha
from bot.core.model.own_jobs import OwnJob
from bot.core.model.run_events import NativeRunSeen, WorkflowRunChanged
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.model.snapshot import Snapshot
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.policy.models import Policy, Start
from bot.core.runs.attribution import STARTS_WITHIN
from bot.core.runs.cancellation import end_stopped, why_to_stop
from bot.core.runs.not_started import ASK_AFTER, UNKNOWN, ask_again, is_not_started
from bot.core.runs.observed import Observed
from bot.core.runs.offline import LOOK_AT_LABEL
from bot.core.runs.reconcile_input import ReconcileInput
from bot.core.runs.steps import AskWhyNotStarted, Bind, End, ReadEnd, Step, Wait

# `workflow_run` runs on another commit, and a `merge_group` has a commit of its own.
EVENTS = ("pull_request", "pull_request_target", "push")
# Of no pull request: at a time, by hand, or after another workflow.
APART = ("schedule", "workflow_dispatch", "workflow_run")
# The webhook of a pull request may come so long after that of its run.
LATE_PULL = timedelta(minutes=2)
LOST_AFTER = timedelta(hours=24)  # then its end is looked for, in case every webhook was lost
LOOK_EVERY = timedelta(hours=1)
WAITS = Message("waits_github")
TO_APPROVE = Message("waits_approval_github")
UNREQUESTED = Message("selected_by_github")
_FOLDER = ".github/workflows/"


def as_seen(
    seen: WorkflowRun, quiet: tuple[int, ...] = (), own_jobs: tuple[OwnJob, ...] = ()
) -> NativeRunSeen:
    """Return the event that lets a run follow this Actions run."""
    return NativeRunSeen(
        actions_run_id=seen.id,
        attempt=seen.attempt,
        url=seen.html_url,
        event=seen.event,
        created_at=seen.created_at,
        head_repo_id=seen.head_repo_id,
        head_branch=seen.head_branch,
        pulls=seen.pulls,
        quiet=quiet,
        own_jobs=own_jobs,
    )


def as_it_was(told: NativeRunSeen, sha: Sha) -> WorkflowRun:
    """Return the Actions run that a run began to follow."""
    return WorkflowRun(
        id=told.actions_run_id,
        attempt=told.attempt,
        status="",
        event=told.event,
        head_sha=sha,
        html_url=told.url,
        created_at=told.created_at,
        head_repo_id=told.head_repo_id,
        head_branch=told.head_branch,
        pulls=told.pulls,
    )


def as_change(seen: WorkflowRun) -> WorkflowRunChanged:
    """Return the event that tells the status of this Actions run."""
    return WorkflowRunChanged(seen.attempt, seen.status, seen.conclusion)


def events_of(snapshots: Iterable[Snapshot]) -> tuple[str, ...]:
    """Return the events whose Actions runs are listed for native runs."""
    found = {snapshot.apart.partition(":")[0] for snapshot in snapshots}
    return (*(EVENTS if "" in found else ()), *(event for event in APART if event in found))


def apart(seen: WorkflowRun) -> str:
    """Return what tells the runs of an Actions run without a pull request from all others."""
    return f"{seen.event}:{seen.id}"


def apart_source(seen: WorkflowRun) -> str:
    """Return the claimant of such runs."""
    return f"github:{apart(seen)}"


def native_suites(policy: Policy, path: str, *, apart: bool = False) -> tuple[str, ...]:
    """Return the native suites of a workflow's path, which may end in ``@branch``.

    Those that only schedules start are left out, unless no pull request is behind it (``apart``).
    """
    name = path.partition("@")[0].removeprefix(_FOLDER)
    return tuple(
        key
        for key, suite in policy.suites.items()
        if suite.start is Start.NATIVE and suite.workflow == name
        if apart or suite.for_pulls
    )


def may_adopt(seen: WorkflowRun, attempts: Iterable[Run]) -> bool:
    """Return True if a suite's next attempt at this commit should follow this Actions run.

    As in GitHub's own list of checks the newest counts. While one is followed another is left
    alone; a push's is followed only where no other has been.
    """
    runs = sorted(attempts, key=lambda run: run.attempt)
    if not runs:
        return True
    if runs[-1].state is not State.DONE:
        return is_waiting(runs[-1])
    bound = [run.actions_run_id for run in runs if run.actions_run_id is not None]
    if not bound:
        return True
    return seen.event != "push" and seen.id > max(bound)


def is_waiting(run: Run) -> bool:
    """Return True if a run waits for GitHub to start its Actions run."""
    return run.state is not State.DONE and run.actions_run_id is None and run.rerun_of is None


def wait_for_start(given: ReconcileInput, observed: Observed) -> Step:
    """Wait until GitHub starts the Actions run, then follow it."""
    run, stop = given.run, why_to_stop(given)
    if stop and (stop.kind is StopReason.SUPERSEDE or observed.native is None):
        return end_stopped(given, stop)
    if observed.native is not None:
        found = observed.native
        about = (found.url, found.event, found.own_jobs)
        return Bind(found.actions_run_id, found.attempt, *about)
    until, now = run.created_at + STARTS_WITHIN, given.now
    if observed.unclear is not None:
        told_at, unclear = observed.unclear
        until = min(until, told_at + LATE_PULL)
        if now >= until:
            return End(Outcome.BROKEN, unclear.why)
        return Wait(State.QUEUED, until, WAITS)
    ask_at = run.created_at + ASK_AFTER
    if now < ask_at:
        return Wait(State.QUEUED, ask_at, WAITS)
    again = ask_again(run, now)
    if now >= until:
        return AskWhyNotStarted(Wait(State.QUEUED, again, UNKNOWN))
    return AskWhyNotStarted(Wait(State.QUEUED, min(again, until), WAITS))


def end_if_unwanted(given: ReconcileInput) -> End | None:
    """End a run whose Actions run goes on: nobody wants it, or a person cancels one of many suites.

    GitHub started it, and it can't cancel a job alone.
    """
    stop = why_to_stop(given)
    if stop and (stop.kind is StopReason.SUPERSEDE or given.shared):
        return end_stopped(given, stop)
    return None


def wait_for_runner(given: ReconcileInput, observed: Observed, why: Message) -> Step:
    """Wait until a runner takes the job: GitHub's limits hold, not ours."""
    late = look_for_missed_end(given)
    if late:
        return late
    until = given.now + LOOK_AT_LABEL
    if observed.waits_for_approval:
        return Wait(State.NEEDS_APPROVAL, until, TO_APPROVE)
    return Wait(State.WAITING_FOR_RUNNER, until, why)


def look_for_missed_end(given: ReconcileInput) -> ReadEnd | None:
    """Read a run that goes on for a day: its end may have been missed."""
    run = given.run
    since = run.dispatched_at or run.created_at
    return ReadEnd(LOOK_EVERY) if given.now - since >= LOST_AFTER else None


def on_github(run: Run) -> bool:
    """Return True if somebody has to do something on GitHub before a run can go on."""
    asks = run.state is State.NEEDS_APPROVAL or is_not_started(run)
    return run.snapshot.native and asks
