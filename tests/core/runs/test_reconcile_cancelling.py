"""A run that should stop, in each of its states: one row a case."""

from typing import Any

import pytest

from bot.core.messages import quote
from bot.core.model.run_events import RunEvent, VerdictReached
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.runs.steps import (
    Conclude,
    DeleteRayJobs,
    End,
    SendCancel,
    Step,
    Wait,
)
from tests.core.building import (
    a_rayjob,
    a_stop_request,
    asked,
    at,
    dispatched,
    ended,
    learned,
    log,
    started,
    told,
)
from tests.core.runs.steps import (
    CANCEL,
    DELETED,
    DONE,
    FORCE,
    GREEN,
    LIVE,
    NOTHING_TO_CANCEL,
    PLAIN,
    RAY,
    STOP,
    concludes,
    ends,
    failed_delete,
    reads_end,
    row,
    step_of,
    stopping,
    stops,
    waits,
)

SAID = told("completed", at(9))
SAID_UNTRUE = [
    row(reads_end(), "said to have ended: looked at first", STOP, SAID, at_min=13.9),
    row(SendCancel(force=False), "said 5 min ago and untrue", STOP, SAID, at_min=14),
    row(reads_end(), "cancelled, not forced yet", STOP, SAID, CANCEL, DELETED, at_min=15),
    row(SendCancel(force=True), "untrue, 6 min", STOP, SAID, CANCEL, DELETED, at_min=16),
    row(reads_end(), "wanted again", PLAIN, SAID, CANCEL, at_min=15),
    row(reads_end(), "nobody stops it", PLAIN, started(), SAID, at_min=59),
    row(
        stops(StopReason.TIME_OUT),
        "the limit comes all the same",
        PLAIN,
        started(),
        SAID,
        at_min=60,
    ),
]
CANCELLING = [
    row(SendCancel(force=False), "waiting for a runner", STOP, at_min=10),
    row(SendCancel(force=False), "running", STOP, started(), at_min=10),
    row(reads_end(), "an end is said: read first", STOP, told("completed", at(9)), at_min=10),
    row(
        concludes(Outcome.FAILURE),
        "the result was in",
        stopping(rayjob=False),
        ended("failure", 9),
        at_min=10,
    ),
    row(
        concludes(Outcome.FAILURE),
        "ended by itself before the cancel",
        stopping(rayjob=False),
        NOTHING_TO_CANCEL,
        ended("failure", 10),
        at_min=10,
    ),
    row(
        concludes(Outcome.SUCCESS),
        "passed before the cancel",
        STOP,
        NOTHING_TO_CANCEL,
        ended("success", 10),
        asked(),
        at_min=10,
        rayjobs=(DONE,),
    ),
    row(
        DeleteRayJobs(1),
        "its RayJob lives on",
        STOP,
        NOTHING_TO_CANCEL,
        ended("success", 10),
        asked(),
        at_min=10,
        rayjobs=(LIVE,),
    ),
    row(
        concludes(Outcome.CANCELLED),
        "the force was taken",
        stopping(rayjob=False),
        NOTHING_TO_CANCEL,
        FORCE,
        ended("cancelled", 17),
        at_min=17,
    ),
    row(waits(State.CANCELLING), "asked", STOP, CANCEL, at_min=10.5),
    row(DeleteRayJobs(1), "60 s later", STOP, CANCEL, at_min=11),
    row(DeleteRayJobs(1), "Actions ended", STOP, CANCEL, ended("cancelled", 10.2), at_min=10.2),
    row(waits(State.CANCELLING), "deleted, not ended", STOP, CANCEL, DELETED, at_min=12),
    row(
        waits(State.CANCELLING), "not ended, no RayJobs", stopping(rayjob=False), CANCEL, at_min=12
    ),
    row(waits(State.CANCELLING), "delete failed", STOP, CANCEL, failed_delete(1, 11), at_min=11.1),
    row(SendCancel(force=True), "6 min", STOP, CANCEL, DELETED, at_min=16),
    row(
        SendCancel(force=True), "6 min, deletes fail", STOP, CANCEL, failed_delete(1, 11), at_min=16
    ),
    row(waits(State.CANCELLING), "forced", STOP, CANCEL, FORCE, DELETED, at_min=17),
    row(reads_end(), "forced 6 min ago: look", STOP, CANCEL, FORCE, DELETED, at_min=22),
    row(
        concludes(Outcome.CANCELLED),
        "all gone",
        STOP,
        CANCEL,
        DELETED,
        ended("cancelled", 12),
        at_min=12,
    ),
    row(
        waits(State.CANCELLING),
        "a leftover",
        STOP,
        CANCEL,
        failed_delete(1, 12),
        ended("cancelled", 12),
        at_min=12.1,
    ),
    row(
        concludes(Outcome.CANCELLED),
        "a delete failed, but its RayJob ended",
        STOP,
        CANCEL,
        failed_delete(1, 12),
        ended("cancelled", 12),
        at_min=12.1,
        rayjobs=(a_rayjob("FAILED"),),
    ),
    row(
        concludes(Outcome.CANCELLED),
        "a leftover for 1 h",
        STOP,
        CANCEL,
        failed_delete(1, 12),
        ended("cancelled", 12),
        at_min=72,
    ),
    row(
        concludes(Outcome.CANCELLED),
        "no submitter",
        STOP,
        CANCEL,
        ended("cancelled", 12),
        at_min=12,
        submitter=False,
    ),
    row(
        concludes(Outcome.CANCELLED),
        "green too late",
        STOP,
        CANCEL,
        DELETED,
        ended("success", 12),
        asked(),
        at_min=12,
        rayjobs=(DONE,),
    ),
    row(DeleteRayJobs(1), "detached", STOP, *GREEN, asked(), at_min=31, rayjobs=(LIVE,)),
    row(
        concludes(Outcome.CANCELLED),
        "detached, deleted as FAILED",
        STOP,
        *GREEN,
        asked(),
        DELETED,
        at_min=31,
        rayjobs=(a_rayjob("FAILED"),),
    ),
    row(
        concludes(Outcome.TIMED_OUT),
        "time limit, in time",
        stopping(StopReason.TIME_OUT),
        CANCEL,
        DELETED,
        ended("cancelled", 10.4),
        at_min=10.4,
    ),
    row(
        concludes(Outcome.TIMED_OUT),
        "stall, in time",
        stopping(StopReason.STALL),
        CANCEL,
        DELETED,
        ended("cancelled", 10.4),
        at_min=10.4,
    ),
    row(
        concludes(Outcome.BROKEN),
        "no runner, in time",
        stopping(StopReason.NO_RUNNER),
        CANCEL,
        DELETED,
        ended("cancelled", 10.4),
        at_min=10.4,
    ),
    row(SendCancel(force=False), "superseded", PLAIN, at_min=5, wanted=False),
    row(
        ends(Outcome.SUPERSEDED),
        "superseded",
        PLAIN,
        CANCEL,
        ended("cancelled", 12),
        at_min=12,
        wanted=False,
    ),
    row(
        ends(Outcome.SUPERSEDED, retried=True),
        "wanted again, cancel sent",
        PLAIN,
        CANCEL,
        ended("cancelled", 12),
        at_min=12,
    ),
    row(
        waits(State.WAITING_FOR_RUNNER),
        "wanted again, nothing sent",
        dispatched(stop_request=a_stop_request(StopReason.SUPERSEDE)),
        at_min=12,
    ),
    row(
        ends(Outcome.SUPERSEDED, retried=True),
        "wanted again, RayJob deleted",
        RAY,
        *GREEN,
        asked(),
        DELETED,
        at_min=31,
        rayjobs=(a_rayjob("STOPPED"),),
    ),
]


@pytest.mark.parametrize(
    ("run", "known", "at_min", "changes", "expected"),
    [*CANCELLING, *SAID_UNTRUE],
)
def test_a_step(
    run: Run, known: tuple[RunEvent, ...], at_min: float, changes: dict[str, Any], expected: Step
) -> None:
    assert step_of(run, *known, at_min=at_min, **changes) == expected


def test_a_delete_that_waits_never_puts_off_the_force_cancel() -> None:
    failed = [failed_delete(n, 15) for n in range(1, 8)]
    step = step_of(STOP, CANCEL, *failed, at_min=15.5)
    assert isinstance(step, Wait)
    assert step.until == at(16)


def test_deletes_back_off_to_five_minutes() -> None:
    waits = []
    for tries in (1, 2, 3, 7, 20):
        known = [failed_delete(n + 1, 12) for n in range(tries)]
        step = step_of(STOP, CANCEL, *known, ended("cancelled", 12), at_min=12)
        assert isinstance(step, Wait)
        assert step.until
        waits.append((step.until - at(12)).total_seconds())
    assert waits == [10, 20, 40, 300, 300]


FAILED_JOB = a_rayjob("FAILED")
FAILED_DELETE, OVER = failed_delete(1, 12), ended("cancelled", 12)
VERDICT = learned(VerdictReached(Outcome.CANCELLED, quote("cancelled by ann")), at(73))


@pytest.mark.parametrize(
    ("step", "left"),
    [
        (step_of(STOP, CANCEL, FAILED_DELETE, OVER, VERDICT, log(), at_min=73), True),
        (step_of(RAY, CANCEL, FAILED_DELETE, OVER, at_min=72, wanted=False), True),
        (
            step_of(
                STOP, CANCEL, FAILED_DELETE, OVER, VERDICT, log(), at_min=84, rayjobs=(LIVE, DONE)
            ),
            True,
        ),
        (
            step_of(STOP, CANCEL, FAILED_DELETE, OVER, VERDICT, log(), at_min=84, rayjobs=(DONE,)),
            False,
        ),
        (
            step_of(
                RAY, CANCEL, FAILED_DELETE, OVER, at_min=72, wanted=False, rayjobs=(FAILED_JOB,)
            ),
            False,
        ),
    ],
)
def test_a_leftover_is_named_unless_its_end_is_known(step: Step, left: bool) -> None:
    assert isinstance(step, End)
    assert step.why.endswith("deleting its RayJobs failed (503): they may still run") == left


def test_a_next_attempt_because_it_is_wanted_again_costs_no_retry() -> None:
    step = step_of(PLAIN, CANCEL, ended("cancelled", 12), at_min=12)
    assert isinstance(step, End)
    assert not step.counts


def test_who_cancelled_is_what_the_run_says() -> None:
    step = step_of(STOP, CANCEL, DELETED, ended("cancelled", 12), at_min=12)
    assert step == Conclude(
        Outcome.CANCELLED, quote(STOP.stop_request.reason if STOP.stop_request else "")
    )
