"""A run up to the end of its Actions run, and its limits: one row a case."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from bot.core.messages import quote
from bot.core.model.run_events import (
    DispatchAccepted,
    DispatchRefused,
    DispatchSearched,
    DispatchStarted,
    DispatchUnsent,
    RunEvent,
)
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.policy.models import Start
from bot.core.runs.offline import OfflineLabel
from bot.core.runs.steps import Acquire, Dispatch, Search, Step, Wait
from tests.core.building import (
    LABEL,
    a_rayjob,
    a_run,
    a_stop_request,
    at,
    dispatched,
    learned,
    started,
    told,
    with_changes,
)
from tests.core.runs.steps import (
    PLAIN,
    RAY,
    ends,
    finds_rayjobs,
    reads_end,
    row,
    step_of,
    stops,
    waits,
)

QUEUED = [
    row(Acquire(), "no place yet", a_run(), at_min=0),
    row(Dispatch(1), "a place taken", a_run(label=LABEL), at_min=0),
    row(waits(State.QUEUED), "debounce", a_run(not_before=at(1)), at_min=0),
    row(Acquire(), "debounce over", a_run(not_before=at(1)), at_min=1),
    row(waits(State.QUEUED), "submitter down", a_run(rayjob=True), at_min=0, submitter_down="down"),
    row(Acquire(), "submitter down, no RayJob", a_run(), at_min=0, submitter_down="down"),
    row(ends(Outcome.CANCELLED), "cancelled", a_run(stop_request=a_stop_request()), at_min=11),
    row(ends(Outcome.SUPERSEDED), "nobody wants it", a_run(label=LABEL), at_min=1, wanted=False),
    row(
        Acquire(),
        "wanted again",
        a_run(stop_request=a_stop_request(StopReason.SUPERSEDE)),
        at_min=11,
    ),
    row(
        ends(Outcome.SUPERSEDED),
        "superseded",
        a_run(stop_request=a_stop_request(StopReason.SUPERSEDE)),
        at_min=11,
        wanted=False,
    ),
]


def lost(number: int, searches: int) -> tuple[RunEvent, ...]:
    """Return ``number`` dispatches a minute apart; the last was looked for so often."""
    intents = [learned(DispatchStarted(n + 1), at(n)) for n in range(number)]
    looks = [
        learned(DispatchSearched(n + 1, look + 1), at(n))
        for n in range(number)
        for look in range(searches if n == number - 1 else 4)
    ]
    return (*intents, *looks)


SENT = a_run(label=LABEL, state=State.DISPATCHING, dispatched_at=at(0))
STOPPED = a_run(label=LABEL, state=State.DISPATCHING, stop_request=a_stop_request())
AGAIN = a_run(label=LABEL, state=State.DISPATCHING, rerun_of=7)
ACCEPTED = learned(DispatchAccepted(1))
NOT_TAKEN = learned(DispatchUnsent(1, quote("limit")))
DISPATCHING = [
    row(waits(State.DISPATCHING), "lost, 1 s", SENT, *lost(1, 0), at_min=1 / 60),
    row(Search(1, 1), "lost, 2 s", SENT, *lost(1, 0), at_min=2.1 / 60),
    row(waits(State.DISPATCHING), "lost, 4 s", SENT, *lost(1, 1), at_min=4 / 60),
    row(Search(1, 2), "lost, 5 s", SENT, *lost(1, 1), at_min=5.1 / 60),
    row(waits(State.DISPATCHING), "lost, 14 s", SENT, *lost(1, 2), at_min=14 / 60),
    row(Search(1, 3), "lost, 15 s", SENT, *lost(1, 2), at_min=15.1 / 60),
    row(waits(State.DISPATCHING), "lost, 39 s", SENT, *lost(1, 3), at_min=39 / 60),
    row(Search(1, 4), "lost, 40 s", SENT, *lost(1, 3), at_min=40.1 / 60),
    row(Dispatch(2), "not found in four", SENT, *lost(1, 4), at_min=0.7),
    row(waits(State.DISPATCHING), "lost again", SENT, *lost(2, 0), at_min=1),
    row(Search(2, 1), "lost again", SENT, *lost(2, 0), at_min=1.1),
    row(Dispatch(2), "surely not taken", SENT, *lost(1, 0), NOT_TAKEN, at_min=0.1),
    row(Dispatch(11), "just before 10 min", SENT, *lost(10, 4), at_min=9.9),
    row(ends(Outcome.BROKEN, retried=True), "10 min", SENT, *lost(10, 4), at_min=10),
    row(waits(State.DISPATCHING), "10 min, looking first", SENT, *lost(11, 0), at_min=10.01),
    row(Search(1, 4), "accepted, 40 s", SENT, *lost(1, 3), ACCEPTED, at_min=40.1 / 60),
    row(waits(State.DISPATCHING), "never sent again", SENT, *lost(1, 4), ACCEPTED, at_min=0.9),
    row(Search(1, 5), "but looked for", SENT, *lost(1, 4), ACCEPTED, at_min=1.1),
    row(Search(1, 5), "cancelled, and looked for", STOPPED, *lost(1, 4), ACCEPTED, at_min=9.9),
    row(ends(Outcome.CANCELLED), "cancelled", STOPPED, *lost(1, 4), ACCEPTED, at_min=10),
    row(ends(Outcome.BROKEN), "accepted, not shown", SENT, *lost(1, 4), ACCEPTED, at_min=10),
    row(ends(Outcome.BROKEN), "re-run, not shown", AGAIN, *lost(1, 4), ACCEPTED, at_min=10),
    row(
        ends(Outcome.BROKEN),
        "refused",
        SENT,
        *lost(1, 0),
        learned(DispatchRefused(quote("x"))),
        at_min=0.1,
    ),
    row(
        ends(Outcome.BROKEN), "no job of it", AGAIN, learned(DispatchRefused(quote("x"))), at_min=1
    ),
    row(Search(1, 1), "cancelled: found first", STOPPED, *lost(1, 0), at_min=0.1),
    row(ends(Outcome.CANCELLED), "cancelled: not found", STOPPED, *lost(1, 4), at_min=1),
    row(
        ends(Outcome.CANCELLED), "cancelled: never sent", STOPPED, *lost(1, 0), NOT_TAKEN, at_min=1
    ),
    row(ends(Outcome.SUPERSEDED), "nobody wants it", SENT, *lost(1, 4), at_min=1, wanted=False),
]

NATIVE = replace(PLAIN, snapshot=with_changes(PLAIN.snapshot, start=Start.NATIVE))
QUIET = a_rayjob(last_line_at=at(5))
SILENT = a_rayjob(last_line_at=at(5), silent_since=at(6))
OVER = a_rayjob("SUCCEEDED", last_line_at=at(5))
WATCHED = [
    row(waits(State.WAITING_FOR_RUNNER), "no runner yet", PLAIN, at_min=5),
    row(waits(State.WAITING_FOR_RUNNER), "nearly a day", PLAIN, at_min=1439),
    row(stops(StopReason.NO_RUNNER), "a day", PLAIN, at_min=1440),
    row(
        waits(State.WAITING_FOR_RUNNER),
        "not told",
        dispatched(label=None, dispatched_at=None),
        at_min=5,
    ),
    row(waits(State.RUNNING), "on its runner", PLAIN, started(), at_min=5),
    row(
        waits(State.WAITING_FOR_RUNNER),
        "another attempt began",
        PLAIN,
        told("in_progress", at(), attempt=2),
        at_min=5,
    ),
    row(finds_rayjobs(), "its RayJob is looked for", RAY, started(), at_min=5),
    row(
        waits(State.RUNNING),
        "not while the submitter is down",
        RAY,
        started(),
        at_min=5,
        submitter_down="x",
    ),
    row(waits(State.RUNNING), "no submitter", RAY, started(), at_min=5, submitter=False),
    row(waits(State.RUNNING), "its RayJob is known", RAY, started(), at_min=5, rayjobs=(QUIET,)),
    row(waits(State.RUNNING), "nearly the limit", PLAIN, started(), at_min=59.9),
    row(stops(StopReason.TIME_OUT), "the limit", PLAIN, started(), at_min=60),
    row(
        stops(StopReason.TIME_OUT), "the limit counts from the start", PLAIN, started(30), at_min=90
    ),
    row(waits(State.RUNNING), "nearly stalled", RAY, started(), at_min=24.9, rayjobs=(QUIET,)),
    row(stops(StopReason.STALL), "stalled", RAY, started(), at_min=25, rayjobs=(QUIET,)),
    row(
        waits(State.RUNNING), "silent is not stalled", RAY, started(), at_min=25, rayjobs=(SILENT,)
    ),
    row(
        waits(State.RUNNING),
        "an ended RayJob cannot stall",
        RAY,
        started(),
        at_min=25,
        rayjobs=(OVER,),
    ),
    row(
        waits(State.RUNNING),
        "no line yet is no stall",
        RAY,
        started(),
        at_min=25,
        rayjobs=(a_rayjob(),),
    ),
    row(reads_end(), "an end is said", PLAIN, started(), told("completed", at(9)), at_min=9),
]


@pytest.mark.parametrize(
    ("run", "known", "at_min", "changes", "expected"),
    [*QUEUED, *DISPATCHING, *WATCHED],
)
def test_a_step(
    run: Run, known: tuple[RunEvent, ...], at_min: float, changes: dict[str, Any], expected: Step
) -> None:
    assert step_of(run, *known, at_min=at_min, **changes) == expected


@pytest.mark.parametrize(
    ("run", "at_min", "changes", "until"),
    [
        pytest.param(PLAIN, 5, {}, at(20), id="no limit is near"),
        pytest.param(PLAIN, 50, {}, at(60), id="the time limit"),
        pytest.param(RAY, 6, {"rayjobs": (QUIET,)}, at(21), id="no line for 1 min"),
        pytest.param(RAY, 20, {"rayjobs": (QUIET,)}, at(25), id="the stall limit"),
        pytest.param(RAY, 26, {"rayjobs": (SILENT,)}, at(41), id="nobody knows of lines"),
        pytest.param(RAY, 5, {"rayjobs": (QUIET,), "submitter_down": "x"}, at(6), id="trouble"),
        pytest.param(NATIVE, 50, {}, at(65), id="GitHub's own limits"),
    ],
)
def test_a_running_run_is_looked_at_when_a_limit_nears_or_after_15_min(
    run: Run, at_min: float, changes: dict[str, Any], until: datetime
) -> None:
    step = step_of(run, started(), at_min=at_min, **changes)
    assert isinstance(step, Wait)
    assert (step.state, step.until) == (State.RUNNING, until)


def test_waiting_says_why_and_until_when() -> None:
    assert step_of(a_run(not_before=at(1)), at_min=0) == Wait(
        State.QUEUED, at(1), quote("it starts in a moment unless another push comes")
    )
    down = step_of(a_run(rayjob=True), at_min=0, submitter_down="submitter unreachable since 11:59")
    assert down == Wait(State.QUEUED, at(seconds=15), quote("submitter unreachable since 11:59"))
    waits = f"waiting for a runner with the label {LABEL}"
    for at_min, until in ((5, 30), (28, 33), (1437, 1440)):  # a look at the label is due by then
        step = step_of(PLAIN, at_min=at_min)
        assert step == Wait(State.WAITING_FOR_RUNNER, at(until), quote(waits))
    offline = step_of(PLAIN, at_min=40, offline=OfflineLabel(LABEL, at(2)))
    why = f"no job has started on {LABEL} since 12:02 UTC, so its runners may be offline"
    assert offline == Wait(State.WAITING_FOR_RUNNER, at(45), quote(why))
