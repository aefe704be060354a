"""The timeline tells a run as it went, whoever was heard first."""

from datetime import timedelta

import pytest

from bot.core.messages import NOTHING, Message, quote
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import (
    CancelSent,
    DispatchAccepted,
    Dispatched,
    DispatchRefused,
    DispatchSearched,
    DispatchStarted,
    DispatchUnsent,
    ForceCancelSent,
    JobChanged,
    LogRead,
    NativeRunSeen,
    NativeRunUnclear,
    NextAttemptMade,
    RayJobAnnounced,
    RayJobChanged,
    RayJobContested,
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
from bot.core.model.runs import Outcome
from bot.core.runs.timeline import in_order, line_of, remarks
from tests.core import views
from tests.core.building import at, learned


def job(status: str, runner: str = "npu-3") -> JobChanged:
    return JobChanged(7, 1, status, None, runner, "test")


GOES = (
    DispatchStarted(1),
    Dispatched(1, found=False),
    WorkflowRunChanged(1, "completed", "action_required"),
    job("in_progress"),
    RayJobSeen("j"),
    RayJobChanged("j", "New", ""),
    RayJobChanged("j", "", "PENDING"),
    RayJobChanged("j", "Initializing", ""),
    RayJobChanged("j", "Running", "RUNNING"),
    RayJobChanged("j", "Complete", "SUCCEEDED"),
    RayJobForeign("j"),
    job("completed"),
    CancelSent(),
    WorkflowRunEnded(1, "success"),
    RayJobsDeleted(1),
    NextAttemptMade(2, quote("the job hung")),
)
HEARD = (8, 5, 11, 15, 6, 7, 14, 9, 10, 13, 3, 4, 1, 12, 2, 0)  # places in what goes before


def heard(what: What, second: int) -> RunEvent:
    return learned(what, at(0) + timedelta(seconds=second))


def test_within_a_minute_events_stand_as_a_run_goes() -> None:
    run_events = [heard(GOES[place], second) for second, place in enumerate(HEARD)]
    assert tuple(item.what for item in in_order(run_events)) == GOES


def test_between_minutes_time_decides() -> None:
    again, end = heard(DispatchStarted(2), 61), heard(WorkflowRunEnded(1, "success"), 59)
    assert in_order([again, end]) == (end, again)


def remarked(*whats: What, jobs: tuple[RayJob, ...] = (), why: str = "") -> list[str]:
    """Return the remarks on a run with these events."""
    events = tuple(heard(what, second) for second, what in enumerate(whats))
    run = views.run(why=Message(why, why=NOTHING, left="503") if why else "")
    return [line for _, line in remarks(views.suite(run, *events, jobs=jobs))]


def test_what_the_phases_and_the_title_say_is_no_remark() -> None:
    told = (DispatchStarted(1), Dispatched(1, found=False), job("in_progress"))
    assert remarked(*told, RayJobSeen("j"), WorkflowRunEnded(1, "success")) == []
    assert remarked(DispatchRefused(quote("no ref")), NextAttemptMade(2, quote("why"))) == []


def test_each_further_try_of_a_dispatch_is_a_remark() -> None:
    tries = (DispatchStarted(1), DispatchSearched(1, 1), DispatchStarted(2))
    assert remarked(*tries) == ["dispatching again (try 2)"]


@pytest.mark.parametrize(
    ("before", "lines"),
    [
        pytest.param((), ["found by its id after a lost answer"], id="lost"),
        pytest.param((DispatchAccepted(1),), [], id="GitHub took a re-run and named no run"),
    ],
)
def test_an_answer_is_called_lost_only_if_github_gave_none(
    before: tuple[What, ...], lines: list[str]
) -> None:
    assert remarked(DispatchStarted(1), *before, Dispatched(1, found=True)) == lines


def test_a_cancel_that_github_did_not_take_is_no_remark() -> None:
    assert remarked(CancelSent(), ForceCancelSent(taken=False)) == ["asked GitHub to cancel"]


@pytest.mark.parametrize(
    ("jobs", "lines"),
    [
        pytest.param((), [], id="there was no RayJob"),
        pytest.param((views.rayjob(final="FAILED"),), [], id="it had ended by itself"),
        pytest.param((views.rayjob(),), ["RayJobs deleted"], id="it lived"),
        pytest.param((views.rayjob(final="STOPPED"),), ["RayJobs deleted"], id="it was stopped"),
    ],
)
def test_rayjobs_are_called_deleted_only_if_one_lived(
    jobs: tuple[RayJob, ...], lines: list[str]
) -> None:
    assert remarked(RayJobsDeleted(1), jobs=jobs) == lines


def test_only_the_last_try_to_delete_is_a_remark_unless_the_summary_says_it() -> None:
    tries = (RayJobsDeleted(1, "503"), RayJobsDeleted(2, "504"))
    jobs = (views.rayjob(),)
    assert remarked(*tries, jobs=jobs) == ["deleting the RayJobs failed: 504"]
    assert remarked(*tries, RayJobsDeleted(3), jobs=jobs) == ["RayJobs deleted"]
    assert remarked(*tries, jobs=jobs, why="run_leftover") == []


@pytest.mark.parametrize(
    ("what", "key", "line"),
    [
        (DispatchStarted(1), "dispatch:1", "dispatching"),
        (DispatchStarted(2), "dispatch:2", "dispatching again (try 2)"),
        (DispatchUnsent(2, quote("limit")), "unsent:2", ""),
        (DispatchAccepted(2), "accepted:2", ""),
        (DispatchSearched(2, 3), "search:2:3", ""),
        (DispatchRefused(quote("no ref")), "refused", "dispatch refused"),
        (Dispatched(1, found=False), "dispatched:1", "dispatched"),
        (Dispatched(1, found=True), "dispatched:1", "found by its id after a lost answer"),
        (StartedByGitHub(1, "push"), "dispatched:1", "started by GitHub on push"),
        (NativeRunSeen(50, 1, "https://x/50", "push"), "native:50", ""),
        (NativeRunUnclear(50, quote("of #1 or #2")), "unclear:50", "of #1 or #2"),
        (WorkflowRunChanged(2, "completed", "failure"), "actions:2:completed", ""),
        (
            WorkflowRunChanged(2, "completed", "action_required"),
            "actions:2:action_required",
            "waits for an approval on GitHub",
        ),
        (job("in_progress"), "job:7:in_progress", "on runner `npu-3`"),
        (job("in_progress", ""), "job:7:in_progress", ""),
        (job("completed"), "job:7:completed", ""),
        (WorkflowRunEnded(1, "success"), "end:1", "Actions run ended: success"),
        (WorkflowRunEnded(1, None), "end:1", "Actions run ended: no conclusion"),
        (LogRead(1, "FAILED"), "log:1", ""),
        (RayJobSeen("j-1"), "rayjob:j-1", "RayJob `j-1`"),
        (RayJobAnnounced("j-1"), "rayjob:j-1", "RayJob `j-1`, announced by the workflow"),
        (RayJobsListed(1), "asked:1", ""),
        (
            RayJobChanged("j-1", "Running", "RUNNING"),
            "rayjob:j-1:Running:RUNNING",
            "RayJob `j-1` Running",
        ),
        (RayJobForeign("j-1"), "rayjob:j-1:foreign", "RayJob `j-1` is of another run: not read"),
        (
            RayJobUnrecorded("j-1"),
            "rayjob:j-1:recordless",
            "RayJob `j-1` taken as ours: the submitter keeps no records",
        ),
        (
            RayJobContested("j-1"),
            "rayjob:j-1:contested",
            "RayJob `j-1` is named by another run, too: not read until its owner is proven",
        ),
        (RayJobLogLost("j-1", "disk full"), "log:j-1", "its log is cut off: disk full"),
        (CancelSent(), "cancel", "asked GitHub to cancel"),
        (ForceCancelSent(), "force-cancel", "asked GitHub to cancel by force"),
        (
            CancelSent(taken=False),
            "cancel",
            "asked GitHub to cancel: nothing to cancel any more",
        ),
        (RayJobsDeleted(1), "delete:1", "RayJobs deleted"),
        (RayJobsDeleted(1, "503"), "delete:1", "deleting the RayJobs failed: 503"),
        (VerdictReached(Outcome.FAILURE, quote("it failed")), "verdict", ""),
        (NextAttemptMade(2, quote("the job hung")), "retried", "attempt 2 follows: the job hung"),
    ],
)
def test_an_event_has_a_key_and_a_line_of_the_timeline(what: What, key: str, line: str) -> None:
    assert (learned(what).key, line_of(what)) == (key, line)
