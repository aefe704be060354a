"""The digest that tells the most is shown, and of it what a reader can use."""

import dataclasses

import pytest
from msgspec.structs import replace

from bot.core.digest.result import Digest, Found, Location, Progress
from bot.core.messages import quote
from bot.core.model.run_events import LogRead, WorkflowRunEnded
from bot.core.model.runs import Outcome
from bot.core.report.digest import (
    Pace,
    Shown,
    annotations_of,
    best,
    cause_of,
    excerpt_of,
    failed_tests_of,
    infra_of,
    metrics_of,
    pace,
    title_of,
)
from tests.core import views as s
from tests.core.building import with_changes


def test_failed_tests_are_those_of_the_one_job_that_failed() -> None:
    unit = replace(s.OOM, failed_tests=("a.py::t",))
    plain = with_changes(s.SNAPSHOT, rayjob=False)
    run = dataclasses.replace(s.done(Outcome.FAILURE, "x"), snapshot=plain)
    log = LogRead(1, digest=unit)
    assert failed_tests_of(s.suite(run, s.run_event("14:20", log))) == ("a.py::t",)
    several = replace(log, partial=True)
    assert failed_tests_of(s.suite(run, s.run_event("14:20", several))) == ()
    assert failed_tests_of(s.suite(run)) == ()
    events = [s.run_event("14:20", log), s.run_event("14:19", WorkflowRunEnded(1, "failure"))]
    assert failed_tests_of(s.suite(run, *events)) == ("a.py::t",)
    of_another = s.run_event("14:19", WorkflowRunEnded(1, "failure", needed="build"))
    assert failed_tests_of(s.suite(run, *events, of_another)) == ()
    of_rayjob = dataclasses.replace(run, snapshot=s.SNAPSHOT)
    assert failed_tests_of(s.suite(of_rayjob, s.run_event("14:20", log))) == ()


def test_a_run_is_the_infrastructures_fault_if_its_log_proves_that() -> None:
    run = s.done(Outcome.FAILURE, "x")
    host = replace(s.HCCL, codes=("EJ0001",))
    logs = [s.run_event("14:20", LogRead(1, digest=one)) for one in (host, s.OOM)]
    proofs = [infra_of(s.suite(run, log)) for log in logs]
    assert (proofs, infra_of(s.suite(run))) == ([True, False], False)


PLACE = Location("a.py", 3, "too big")


def test_a_reader_sees_numbered_lines_sane_metrics_and_files_of_the_checkout() -> None:
    assert excerpt_of(s.OOM).splitlines()[1] == " 10813      loss.backward()"
    assert metrics_of(s.OOM.progress) == (
        ("actor/perf/max_memory_allocated_gb", 59.1),
        ("odd|name", 0.0123),
    )
    assert [item.path for item in annotations_of(s.OOM)] == [
        "verl/workers/engine/fsdp/transformer_impl.py"
    ]


def test_a_reader_sees_as_much_as_a_report_has_room_for() -> None:
    progress = Progress(1, metrics={f"m{n}": 1.0 for n in range(20)})
    digest = Digest(progress=progress, annotations=(PLACE,) * 60)
    assert (len(metrics_of(progress)), len(annotations_of(digest))) == (8, 50)
    assert metrics_of(None) == ()


def test_the_metrics_that_tell_most_come_first() -> None:
    names = (
        "timing_s/gen",
        "actor/lr",
        "perf/max_memory_gb",
        "actor/pg_loss",
        "critic/rewards/mean",
    )
    found = metrics_of(Progress(1, metrics=dict.fromkeys(names, 1.0)))
    assert [name for name, _ in found] == [*reversed(names[2:]), *names[:2]]


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (Progress(7, 15, 41.0), Pace(7, 15, 41.0, 328.0)),
        (Progress(16, 15, 41.0), Pace(16, 15, 41.0, 0.0)),
        (Progress(7), Pace(7)),
        (Progress(7, 15, -1.0), Pace(7, 15)),
        (Progress(7, 15, 0.2), Pace(7, 15)),
        (Progress(7, 15, 1e200), Pace(7, 15)),
        (None, None),
    ],
)
def test_progress(progress: Progress | None, expected: Pace | None) -> None:
    assert pace((s.rayjob(), s.rayjob(progress=progress))) == expected
    assert pace((s.rayjob(digest=Digest(progress=progress)),)) == expected


def test_a_known_cause_goes_before_an_unknown_one_whatever_its_source() -> None:
    log = s.run_event("14:25", LogRead(1, digest=s.HCCL))
    assert best(s.suite(s.run(), log, jobs=(s.rayjob(digest=s.NOTHING),))) == Shown(s.HCCL)


def test_a_cause_without_a_class_goes_before_none() -> None:
    told = Digest(root_cause_line=1, title="A Ray worker died")
    view = s.suite(s.run(), jobs=(s.rayjob(digest=s.NOTHING), s.rayjob(digest=told)))
    assert best(view) == Shown(told, of_rayjob=True)


@pytest.mark.parametrize(
    ("digest", "cause"),
    [
        (Digest(title="E in a.py:3: too big", root_cause_line=7, annotations=(PLACE,)), "too big"),
        (Digest(title="No room", root_cause_line=7, annotations=(PLACE,)), "No room"),
        (Digest(title="No room", root_cause_line=7), "No room"),
        (Digest(title="Nothing in this log failed"), ""),
        (Digest(title="loading", root_cause_line=7, found=Found.NOTHING), ""),
        (Digest(title="3 differ", root_cause_line=7, found=Found.EXIT_CODE), "3 differ"),
        (None, ""),
    ],
)
def test_a_table_names_the_cause_without_its_place(digest: Digest | None, cause: str) -> None:
    assert cause_of(s.suite(s.run(), jobs=(s.rayjob(digest=digest),))) == cause


def test_a_log_in_which_nothing_failed_has_no_title() -> None:
    assert title_of(s.HCCL) == "HCCL link set-up timed out"
    assert title_of(replace(s.HCCL, root_cause_line=None)) == ""


def test_the_last_look_into_the_log_counts() -> None:
    old = s.run_event("14:01", LogRead(1, problem=quote("not there yet")))
    new = s.run_event("14:02", LogRead(2, problem=quote("expired")))
    assert best(s.suite(s.run(), new, old)) == Shown(problem="expired")
    assert best(s.suite(s.run())) == Shown()
