"""A run at one of its limits: its verdict comes in time; what it leaves is stopped afterwards."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.core.messages import NOTHING, Message, quote
from bot.core.model.run_events import RunEvent, VerdictReached
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.runs.steps import (
    CleanedUp,
    DeleteRayJobs,
    ReadEnd,
    ReadLog,
    SendCancel,
    Step,
    Wait,
)
from tests.core.building import (
    a_rayjob,
    at,
    ended,
    learned,
    log,
    told,
)
from tests.core.runs.steps import (
    CANCEL,
    DELETED,
    DONE,
    FORCE,
    LIVE,
    NOTHING_TO_CANCEL,
    ends,
    failed_delete,
    reads_end,
    row,
    step_of,
    stopping,
    waits,
)

FAILED_JOB = a_rayjob("FAILED")
FAILED_DELETE, OVER = failed_delete(1, 12), ended("cancelled", 12)
LATE = stopping(StopReason.TIME_OUT)  # asked to stop in minute 10
IN_TIME = [
    row(waits(State.CANCELLING), "asked", LATE, CANCEL, at_min=10.4),
    row(
        ends(Outcome.TIMED_OUT, cleans_up=True),
        "GitHub does not end it",
        LATE,
        CANCEL,
        at_min=10.5,
    ),
    row(
        ends(Outcome.TIMED_OUT, cleans_up=True),
        "the submitter does not answer",
        LATE,
        CANCEL,
        ended("cancelled", 10.1),
        failed_delete(1, 10.1),
        log(),
        at_min=10.5,
    ),
    row(
        ends(Outcome.TIMED_OUT),
        "its RayJob is known to have ended",
        LATE,
        CANCEL,
        ended("cancelled", 10.1),
        failed_delete(1, 10.1),
        log(),
        at_min=10.5,
        rayjobs=(FAILED_JOB,),
    ),
    row(
        ends(Outcome.FAILURE),
        "it failed by itself before, and its log is not to be had",
        stopping(StopReason.TIME_OUT, rayjob=False),
        NOTHING_TO_CANCEL,
        ended("failure", 10.1),
        at_min=10.5,
    ),
    row(
        ends(Outcome.TIMED_OUT, cleans_up=True),
        "the verdict waits for a log",
        LATE,
        CANCEL,
        ended("cancelled", 10.1),
        failed_delete(1, 10.1),
        learned(VerdictReached(Outcome.TIMED_OUT, quote("so it is")), at(10.2)),
        log(),
        at_min=10.5,
        rayjobs=(LIVE,),
    ),
    row(
        ends(Outcome.TIMED_OUT, retried=True, cleans_up=True),
        "a hung job is tried again at once",
        stopping(StopReason.STALL),
        CANCEL,
        at_min=10.5,
    ),
]
OLD = replace(LATE, state=State.DONE, outcome=Outcome.TIMED_OUT, ended_at=at(10))
ALIVE = replace(OLD, why=Message("run_deleting", why=quote("so it is"), left="503"))
CLEANING = [
    row(SendCancel(force=False), "not asked yet", OLD, at_min=10),
    row(DeleteRayJobs(1), "asked", OLD, CANCEL, at_min=10.5),
    row(reads_end(), "its end is looked for", OLD, CANCEL, DELETED, at_min=12),
    row(
        waits(State.DONE),
        "tells that a delete failed",
        OLD,
        CANCEL,
        failed_delete(1, 11),
        at_min=11.1,
    ),
    row(reads_end(), "meanwhile a delete waits", ALIVE, CANCEL, failed_delete(1, 11), at_min=11.1),
    row(SendCancel(force=True), "not ended in 6 min", OLD, CANCEL, DELETED, at_min=16),
    row(ReadLog(), "ended", OLD, CANCEL, DELETED, ended("cancelled", 12), at_min=12),
    row(ReadLog(), "its log comes late", OLD, CANCEL, DELETED, OVER, at_min=21.9),
    row(CleanedUp(NOTHING), "its log never comes", OLD, CANCEL, DELETED, OVER, at_min=22),
    row(CleanedUp(NOTHING), "all gone", OLD, CANCEL, DELETED, OVER, log(), at_min=12),
    row(
        CleanedUp(quote("so it is")),
        "its RayJob ended",
        ALIVE,
        CANCEL,
        FAILED_DELETE,
        OVER,
        log(),
        at_min=13,
        rayjobs=(DONE,),
    ),
    row(waits(State.DONE), "deletes fail", ALIVE, CANCEL, FAILED_DELETE, OVER, log(), at_min=12.1),
    row(DeleteRayJobs(2), "and again", ALIVE, CANCEL, FAILED_DELETE, OVER, log(), at_min=13),
    row(
        CleanedUp(Message("run_leftover", why=quote("so it is"), left="503")),
        "for an hour",
        ALIVE,
        CANCEL,
        FAILED_DELETE,
        OVER,
        log(),
        at_min=72,
    ),
    row(CleanedUp(NOTHING), "GitHub never ends it", OLD, CANCEL, DELETED, FORCE, at_min=70),
]


@pytest.mark.parametrize(("run", "known", "at_min", "changes", "expected"), [*IN_TIME, *CLEANING])
def test_a_run_at_its_limit_ends_within_30_s_and_is_cleaned_up_beside_its_check_run(
    run: Run, known: tuple[RunEvent, ...], at_min: float, changes: dict[str, Any], expected: Step
) -> None:
    assert step_of(run, *known, at_min=at_min, **changes) == expected


def test_a_run_at_its_limit_is_looked_at_when_its_30_s_are_over() -> None:
    step = step_of(LATE, CANCEL, at_min=10.1)
    assert isinstance(step, Wait)
    assert step.until == at(10.5)
    step = step_of(LATE, CANCEL, told("completed", at(10.1)), at_min=10.45)
    assert isinstance(step, ReadEnd)
    assert step.again == timedelta(seconds=3)
