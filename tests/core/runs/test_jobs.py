"""What the jobs of a green Actions run say, row by row."""

from dataclasses import replace

import pytest

from bot.core.model.own_jobs import OwnJob, WorkflowJob, unknown_job
from bot.core.model.run_events import (
    JobChanged,
    RunEvent,
    Source,
    WorkflowRunChanged,
    WorkflowRunEnded,
)
from bot.core.policy.models import Start
from bot.core.runs.jobs import (
    JobEnd,
    deleted_end,
    green_end,
    npus_held,
    own_end,
    own_jobs_over,
    told_end,
)
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


BUILD = WorkflowJob("build", ("Build it",))
UNIT = OwnJob(WorkflowJob("unit", ("Unit",)), (WorkflowJob("lint", ("lint",)), BUILD))
OWN = replace(
    RUN,
    snapshot=replace(
        with_changes(RUN.snapshot, start=Start.NATIVE, jobs=("unit", "more*")), own_jobs=(UNIT,)
    ),
)


def ends(**jobs: str | None) -> list[JobEnd]:
    names = {"unit": "Unit", "build": "Build it", "a2": "Unit (a2)", "a3": "Unit (a3)"}
    return [JobEnd(names.get(key, key), OURS, end) for key, end in jobs.items()]


@pytest.mark.parametrize(
    ("jobs", "over", "end"),
    [
        (ends(unit="success", build=None), None, WorkflowRunEnded(1, "success")),
        (ends(unit="success", lint="failure"), "failure", WorkflowRunEnded(1, "success")),
        (ends(a2="success", a3=None), None, None),
        (ends(a2="success", a3="failure"), None, WorkflowRunEnded(1, "failure")),
        (ends(a2="timed_out", a3="cancelled"), None, WorkflowRunEnded(1, "timed_out")),
        (ends(a2="success", a3="cancelled"), None, WorkflowRunEnded(1, "cancelled")),
        (ends(a2="success", a3="stale"), None, WorkflowRunEnded(1, "stale")),
        (ends(a2="success", a3="skipped"), None, WorkflowRunEnded(1, "success")),
        (ends(unit="skipped", build="success"), None, WorkflowRunEnded(1, "skipped")),
        (ends(unit="neutral"), None, WorkflowRunEnded(1, "skipped")),
        (
            ends(unit="skipped", build="failure"),
            None,
            WorkflowRunEnded(1, "failure", needed="build"),
        ),
        (
            ends(more="success", unit="skipped", lint="timed_out"),
            None,
            WorkflowRunEnded(1, "failure", needed="lint"),
        ),
        (
            ends(unit="skipped", build="success", lint="skipped", other="failure"),
            None,
            WorkflowRunEnded(1, "skipped"),
        ),
        (ends(unit="skipped", build=None, lint="success"), None, None),  # its job comes again
        (  # a need under no known name may be any
            ends(unit="skipped", build="success", other="failure"),
            None,
            WorkflowRunEnded(1, "failure", needed="other"),
        ),
        (
            ends(unit="skipped", build="cancelled", lint="success"),
            None,
            WorkflowRunEnded(1, "cancelled", needed="build"),
        ),
        (
            ends(unit="skipped", build="startup_failure", lint="cancelled"),
            None,
            WorkflowRunEnded(1, "failure", needed="build"),
        ),
        (ends(more="success"), None, None),  # the file says that there is another one
        (ends(more="success"), "success", WorkflowRunEnded(1, "success")),
        (ends(unit=None), "cancelled", WorkflowRunEnded(1, "cancelled")),
        ([], None, None),
        ([], "success", WorkflowRunEnded(1, "absent")),
        ([], "failure", WorkflowRunEnded(1, "absent")),
        (ends(build="skipped"), "skipped", WorkflowRunEnded(1, "absent")),
        ([], "startup_failure", WorkflowRunEnded(1, "startup_failure")),
    ],
)
def test_the_jobs_that_a_suite_names_say_how_it_ended(
    jobs: list[JobEnd], over: str | None, end: WorkflowRunEnded | None
) -> None:
    assert own_end(OWN, jobs, over) == end


@pytest.mark.parametrize("own", [(), (unknown_job("unit"),)])
def test_of_a_job_that_no_file_tells_nothing_is_green_before_all_jobs_have_ended(
    own: tuple[OwnJob, ...],
) -> None:
    run = replace(OWN, snapshot=replace(OWN.snapshot, own_jobs=own))
    passed, left_out = [JobEnd("unit / a", OURS, "success")], [JobEnd("unit", OURS, "skipped")]
    assert not own_jobs_over(run, passed)
    assert own_end(run, passed, None) is None
    assert own_end(run, passed, "success") == WorkflowRunEnded(1, "success")
    assert own_end(run, left_out, "success") == WorkflowRunEnded(1, "skipped")
    bad = WorkflowRunEnded(1, "cancelled", needed="x")
    assert own_end(run, [*left_out, JobEnd("x", HOST, "cancelled")], "success") == bad


def test_jobs_of_one_name_count_all() -> None:
    fake = [*ends(unit="success"), *ends(unit="failure")]
    assert own_end(OWN, fake, None) == WorkflowRunEnded(1, "failure")


@pytest.mark.parametrize(
    ("jobs", "over"),
    [
        (ends(unit="success"), True),
        (ends(unit=None), False),
        (ends(a2="success", a3=None), False),
        (ends(build="success"), False),
        ([], False),
    ],
)
def test_a_suite_is_over_when_all_its_jobs_are(jobs: list[JobEnd], over: bool) -> None:
    assert own_jobs_over(OWN, jobs) is over
    assert not own_jobs_over(RUN, jobs)  # this one names none


@pytest.mark.parametrize(
    ("events", "npus"),
    [
        ((), 8),
        ((told(1, "queued"),), 8),
        ((told(1, "in_progress"),), 8),
        ((told(1, "in_progress"), told(2, "in_progress")), 16),
        ((told(1, "in_progress"), told(1, "completed", "success"), told(2, "in_progress")), 8),
        ((told(1, "completed", "skipped"), told(2, "in_progress")), 8),
        ((told(1, "in_progress"), told(2, "in_progress", labels=HOST)), 8),
        ((learned(JobChanged(1, 2, "in_progress", None, "r", "x", OURS), at(1)),), 8),
    ],
)
def test_jobs_at_once_hold_the_npus_of_each(events: tuple[RunEvent, ...], npus: int) -> None:
    assert npus_held(OWN, events) == npus
