"""Facts in any order, doubled, of other attempts, add up to one evidence."""

import random
from datetime import datetime

import pytest

from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Run
from bot.core.runs import observed
from bot.core.runs.observed import Observed, fold
from tests.core.building import RUN, asked, at, dispatched, ended, log, started, told

LATER = dispatched(actions_attempt=2)
JOB = {"id": 1, "attempt": 1, "status": "in_progress", "runner": "r"}


@pytest.mark.parametrize(
    ("known", "run", "expected"),
    [
        pytest.param((), RUN, Observed(), id="nothing known"),
        pytest.param(
            (observed.dispatching(RUN, 1, at(1)), observed.dispatching(RUN, 2, at(3))),
            RUN,
            Observed(intents=(at(1), at(3))),
            id="intents in order",
        ),
        pytest.param(
            (
                observed.dispatching(RUN, 1, at(1)),
                observed.searched(RUN, 1, 1, at(2)),
                observed.dispatching(RUN, 2, at(3)),
                observed.searched(RUN, 2, 1, at(4)),
                observed.searched(RUN, 2, 2, at(5)),
            ),
            RUN,
            Observed(intents=(at(1), at(3)), searches=2),
            id="searches since the last intent",
        ),
        pytest.param(
            (observed.unsent(RUN, 3, at(1), "limit"), observed.refused(RUN, at(2), "no ref")),
            RUN,
            Observed(unsent=frozenset({3}), refused="no ref"),
            id="not taken, refused",
        ),
        pytest.param(
            (started(2), observed.job("webhook", RUN.id, at(1), JOB)),
            RUN,
            Observed(started_at=at(1)),
            id="started by the first word",
        ),
        pytest.param(
            (told("completed", at(2)), told("completed", at(1), source="poll")),
            RUN,
            Observed(seen_end_at=at(1)),
            id="a webhook's end is seen, not believed",
        ),
        pytest.param(
            (ended("failure", 3),),
            RUN,
            Observed(seen_end_at=at(3), ended=True, conclusion="failure"),
            id="read: believed",
        ),
        pytest.param(
            (started(1), ended("success", 2), log("SUCCEEDED"), asked()),
            LATER,
            Observed(),
            id="another attempt's facts are not ours",
        ),
        pytest.param(
            (asked(), log("SUCCEEDED")),
            RUN,
            Observed(asked=True, log={"final": "SUCCEEDED", "digest": None}),
            id="witnesses asked",
        ),
        pytest.param(
            (
                observed.cancel_sent(RUN, at(1), force=False),
                observed.cancel_sent(RUN, at(7), force=True),
                observed.rayjobs_deleted(RUN, 1, at(2), "503"),
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
            (observed.cancel_sent(RUN, at(1), force=False, taken=False),),
            RUN,
            Observed(cancel_at=at(1)),
            id="nothing to cancel",
        ),
        pytest.param(
            (
                observed.rayjobs_deleted(RUN, 10, at(9), ""),
                observed.rayjobs_deleted(RUN, 9, at(8), "503"),
            ),
            RUN,
            Observed(deletes=(at(8), at(9)), deleted=True),
            id="the last delete counts, by number",
        ),
        pytest.param(
            (observed.decided(RUN, at(3), "failure", "it failed"),),
            RUN,
            Observed(verdict={"outcome": "failure", "why": "it failed"}, verdict_at=at(3)),
            id="decided",
        ),
        pytest.param(
            observed.announced(RUN, at(2), "log:1"),
            RUN,
            Observed(started_at=at(2)),
            id="a workflow that announces its RayJob has begun",
        ),
        pytest.param(
            (
                RunEvent(RUN.id, "watch", "log:1", at(1), {"final": "SUCCEEDED"}),
                RunEvent(RUN.id, "watch", "verdict", at(1), {"outcome": "success", "why": ""}),
                RunEvent(RUN.id, "webhook", "job:1:queued", at(1), {"attempt": 1}),
            ),
            RUN,
            Observed(),
            id="keys like ours from another source say nothing",
        ),
    ],
)
def test_facts_add_up(known: tuple[RunEvent, ...], run: Run, expected: Observed) -> None:
    assert fold(run, known) == expected
    mixed = [*known, *known]
    random.Random(1).shuffle(mixed)
    assert fold(run, tuple(mixed)) == expected


def text(run_event: RunEvent) -> str:
    return str(run_event.data["text"])


@pytest.mark.parametrize(
    ("run_event", "expected"),
    [
        (observed.dispatching(RUN, 1, at()), "dispatching"),
        (observed.dispatching(RUN, 2, at()), "dispatching again (try 2)"),
        (observed.dispatched(RUN, at(), found=False), "dispatched"),
        (observed.dispatched(RUN, at(), found=True), "found by its id after a lost answer"),
        (ended("success"), "Actions run ended: success"),
        (ended(None), "Actions run ended: no conclusion"),
        (observed.rayjob_seen(RUN, at(), "j-1"), "RayJob `j-1`"),
        (observed.announced(RUN, at(), "j-1")[1], "RayJob `j-1`, announced by the workflow"),
        (observed.cancel_sent(RUN, at(), force=False), "asked GitHub to cancel"),
        (observed.cancel_sent(RUN, at(), force=True), "asked GitHub to cancel by force"),
        (
            observed.cancel_sent(RUN, at(), force=False, taken=False),
            "asked GitHub to cancel: nothing to cancel any more",
        ),
        (observed.rayjobs_deleted(RUN, 1, at(), ""), "RayJobs deleted"),
        (observed.rayjobs_deleted(RUN, 1, at(), "503"), "deleting the RayJobs failed: 503"),
    ],
)
def test_a_fact_reads_as_a_line_of_the_timeline(run_event: RunEvent, expected: str) -> None:
    assert text(run_event) == expected


@pytest.mark.parametrize(
    ("status", "runner", "shown"),
    [("in_progress", "npu-3", True), ("in_progress", "", False), ("completed", "npu-3", False)],
)
def test_a_job_is_shown_when_it_gets_its_runner(status: str, runner: str, shown: bool) -> None:
    when: datetime = at()
    data = {"id": 1, "attempt": 1, "status": status, "runner": runner}
    assert ("text" in observed.job("webhook", RUN.id, when, data).data) is shown
