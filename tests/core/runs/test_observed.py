"""Events in any order, doubled or of other attempts, add up to the same observation."""

import random
from dataclasses import replace
from datetime import datetime

import pytest

from bot.core.messages import quote
from bot.core.model.own_jobs import OwnJob, WorkflowJob
from bot.core.model.run_events import (
    CancelSent,
    DispatchRefused,
    DispatchSearched,
    DispatchStarted,
    DispatchUnsent,
    ForceCancelSent,
    JobChanged,
    LogRead,
    RayJobAnnounced,
    RayJobLogLost,
    RayJobsDeleted,
    RayJobSeen,
    RunEvent,
    Source,
    VerdictReached,
    WorkflowRunChanged,
    WorkflowRunEnded,
)
from bot.core.model.runs import Outcome, Run
from bot.core.runs.observed import Observed, fold
from tests.core.building import (
    RUN,
    asked,
    at,
    dispatched,
    ended,
    learned,
    log,
    started,
    told,
    with_changes,
)

LATER = dispatched(actions_attempt=2)
VERDICT = VerdictReached(Outcome.FAILURE, quote("it failed"))


def job(status: str) -> JobChanged:
    return JobChanged(1, 1, status, None, "npu-3", "test")


@pytest.mark.parametrize(
    ("known", "run", "expected"),
    [
        pytest.param((), RUN, Observed(), id="nothing known"),
        pytest.param(
            (learned(DispatchStarted(1), at(1)), learned(DispatchStarted(2), at(3))),
            RUN,
            Observed(intents=(at(1), at(3))),
            id="intents in order",
        ),
        pytest.param(
            (
                learned(DispatchStarted(1), at(1)),
                learned(DispatchSearched(1, 1), at(2)),
                learned(DispatchStarted(2), at(3)),
                learned(DispatchSearched(2, 1), at(4)),
                learned(DispatchSearched(2, 2), at(5)),
            ),
            RUN,
            Observed(intents=(at(1), at(3)), searches=2),
            id="searches since the last intent",
        ),
        pytest.param(
            (
                learned(DispatchUnsent(3, quote("limit")), at(1)),
                learned(DispatchRefused(quote("no ref")), at(2)),
            ),
            RUN,
            Observed(unsent=frozenset({3}), refused=quote("no ref")),
            id="not taken, refused",
        ),
        pytest.param(
            (started(2), learned(job("in_progress"), at(1), Source.WEBHOOK)),
            RUN,
            Observed(started_at=at(1)),
            id="started by the first word",
        ),
        pytest.param(
            (told("completed", at(2)), told("completed", at(1), source=Source.POLL)),
            RUN,
            Observed(seen_end_at=at(1)),
            id="a webhook's end is seen, not believed",
        ),
        pytest.param(
            (ended("failure", 3),),
            RUN,
            Observed(
                seen_end_at=at(3),
                ended=True,
                conclusion="failure",
                end=WorkflowRunEnded(1, "failure"),
            ),
            id="read: believed",
        ),
        pytest.param(
            (started(1), ended("success", 2), log("SUCCEEDED"), asked()),
            LATER,
            Observed(),
            id="events of another attempt do not count",
        ),
        pytest.param(
            (asked(), log("SUCCEEDED")),
            RUN,
            Observed(rayjobs_listed=True, log=LogRead(1, "SUCCEEDED")),
            id="RayJobs listed, log read",
        ),
        pytest.param(
            (
                learned(CancelSent(), at(1)),
                learned(ForceCancelSent(), at(7)),
                learned(RayJobsDeleted(1, "503"), at(2)),
            ),
            RUN,
            Observed(
                cancel_at=at(1),
                force_at=at(7),
                cancel_taken=True,
                deletes=(at(2),),
                leftover="503",
            ),
            id="cancelled, a delete that failed",
        ),
        pytest.param(
            (learned(CancelSent(taken=False), at(1)),),
            RUN,
            Observed(cancel_at=at(1)),
            id="nothing to cancel",
        ),
        pytest.param(
            (
                learned(RayJobsDeleted(10), at(9)),
                learned(RayJobsDeleted(9, "503"), at(8)),
            ),
            RUN,
            Observed(deletes=(at(8), at(9)), deleted=True),
            id="the last delete counts, by number",
        ),
        pytest.param(
            (learned(VERDICT, at(3)),),
            RUN,
            Observed(verdict=VERDICT, verdict_at=at(3)),
            id="decided",
        ),
        pytest.param(
            (
                learned(WorkflowRunChanged(1, "in_progress"), at(2), Source.ANNOUNCEMENT),
                learned(RayJobAnnounced("j-1"), at(2), Source.ANNOUNCEMENT),
            ),
            RUN,
            Observed(started_at=at(2)),
            id="a workflow that announces its RayJob has begun",
        ),
        pytest.param(
            (
                learned(RayJobLogLost("1", "disk full"), at(1), Source.WATCH),
                learned(RayJobSeen("verdict"), at(1), Source.ANNOUNCEMENT),
                learned(job("queued"), at(1), Source.WEBHOOK),
            ),
            RUN,
            Observed(),
            id="names from outside that look like our keys say nothing",
        ),
    ],
)
def test_events_add_up(known: tuple[RunEvent, ...], run: Run, expected: Observed) -> None:
    assert fold(run, known) == expected
    mixed = [*known, *known]
    random.Random(1).shuffle(mixed)
    assert fold(run, tuple(mixed)) == expected


UNIT = OwnJob(WorkflowJob("unit", ("unit",)))
OF_JOBS = replace(
    dispatched(), snapshot=replace(with_changes(RUN.snapshot, jobs=("unit",)), own_jobs=(UNIT,))
)


def own(job_id: int, status: str, minutes: float, attempt: int = 1) -> RunEvent:
    end = "success" if status == "completed" else None
    return learned(JobChanged(job_id, attempt, status, end, "r", f"unit ({job_id})"), at(minutes))


@pytest.mark.parametrize(
    ("known", "started_at", "seen_end_at"),
    [
        ((started(1),), None, None),  # a job of another suite began
        ((own(1, "in_progress", 2),), at(2), None),
        ((own(1, "in_progress", 2), own(1, "completed", 5)), at(2), at(5)),
        ((own(1, "completed", 5), own(2, "queued", 3)), None, None),
        ((own(1, "completed", 5), own(2, "completed", 7)), None, at(7)),
        ((own(1, "completed", 5, attempt=2),), None, None),
        ((own(1, "queued", 3), told("completed", at(9))), None, at(9)),
    ],
)
def test_a_suite_that_names_jobs_begins_and_ends_with_them(
    known: tuple[RunEvent, ...], started_at: datetime | None, seen_end_at: datetime | None
) -> None:
    observed = fold(OF_JOBS, known)
    assert (observed.started_at, observed.seen_end_at) == (started_at, seen_end_at)
