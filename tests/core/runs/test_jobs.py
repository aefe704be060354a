"""What the jobs of a green Actions run say, row by row."""

from dataclasses import replace

import pytest

from bot.core.model.run_events import (
    JobChanged,
    RunEvent,
    Source,
    WorkflowRunChanged,
    WorkflowRunEnded,
)
from bot.core.runs.jobs import JobEnd, deleted_end, green_end, told_end
from tests.core.building import LABEL, at, dispatched, learned, with_changes

RUN = dispatched()
HOST = ("ubuntu-latest",)
OURS = (LABEL.upper(),)  # labels are compared without case


@pytest.mark.parametrize(
    ("jobs", "idle", "failed"),
    [
        ([JobEnd("unit", OURS, "success")], False, ""),
        ([JobEnd("unit", OURS, "skipped")], True, ""),
        ([JobEnd("build", HOST, "success")], True, ""),
        ([], True, ""),
        ([JobEnd("unit", OURS, "success"), JobEnd("more", OURS, "failure")], False, "more"),
        ([JobEnd("unit", OURS, "success"), JobEnd("lint", HOST, "failure")], False, ""),
    ],
)
def test_a_job_on_the_label_must_have_passed(jobs: list[JobEnd], idle: bool, failed: str) -> None:
    assert green_end(RUN, jobs) == WorkflowRunEnded(1, "success", idle, failed)


def test_a_run_without_a_label_yet_has_all_of_its_suite() -> None:
    run = dispatched(label=None)
    labels = tuple(label.name for label in run.snapshot.labels)
    assert not green_end(run, [JobEnd("unit", labels, "success")]).idle


def told(
    job_id: int, status: str, conclusion: str | None = None, labels: tuple[str, ...] = OURS
) -> RunEvent:
    what = JobChanged(job_id, 1, status, conclusion, "r1", f"job {job_id}", labels)
    return learned(what, at(job_id))


PASSED = (told(1, "completed", "success"), told(1, "queued"))


@pytest.mark.parametrize(
    ("events", "end"),
    [
        (PASSED, WorkflowRunEnded(1, "success")),
        (PASSED[::-1], WorkflowRunEnded(1, "success")),
        (
            (*PASSED, told(2, "completed", "failure")),
            WorkflowRunEnded(1, "success", False, "job 2"),
        ),
        ((*PASSED, told(2, "queued")), None),
        ((told(1, "completed", "success", HOST),), None),
        ((learned(JobChanged(1, 2, "completed", "success", "r", "x", OURS), at(1)),), None),
        ((), None),
    ],
)
def test_webhooks_tell_the_end_if_they_tell_all(
    events: tuple[RunEvent, ...], end: WorkflowRunEnded | None
) -> None:
    assert told_end(RUN, events) == end


def over(conclusion: str | None, attempt: int = 1, source: Source = Source.WEBHOOK) -> RunEvent:
    return learned(WorkflowRunChanged(attempt, "completed", conclusion), at(9), source)


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ((), WorkflowRunEnded(1, "deleted")),
        ((over(None),), WorkflowRunEnded(1, "deleted")),
        ((over("failure", attempt=2),), WorkflowRunEnded(1, "deleted")),
        ((over("failure", source=Source.POLL),), WorkflowRunEnded(1, "deleted")),
        ((over("failure"),), WorkflowRunEnded(1, "failure")),
        ((over("success"), *PASSED), WorkflowRunEnded(1, "success")),
        ((over("success"), told(1, "queued")), WorkflowRunEnded(1, "success", idle=True)),
    ],
)
def test_the_end_of_a_deleted_run_is_what_webhooks_told(
    events: tuple[RunEvent, ...], end: WorkflowRunEnded
) -> None:
    assert deleted_end(RUN, events) == end


def test_a_deleted_run_with_a_rayjob_is_judged_by_it() -> None:
    run = replace(RUN, snapshot=with_changes(RUN.snapshot, rayjob=True))
    assert deleted_end(run, (over("success"),)) == WorkflowRunEnded(1, "success")
