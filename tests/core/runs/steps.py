"""A run asked for its next step, in words: for the tables of the tests of its life."""

from typing import Any

import pytest

from bot.core.digest.result import Digest
from bot.core.messages import NOTHING
from bot.core.model.run_events import CancelSent, ForceCancelSent, RayJobsDeleted, RunEvent
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.runs.reconcile import decide
from bot.core.runs.reconcile_input import ReconcileInput
from bot.core.runs.steps import (
    Conclude,
    End,
    FindRayJobs,
    ReadEnd,
    RequestStop,
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
    given,
    learned,
    log,
    started,
)

RAY = dispatched(rayjob=True)
PLAIN = dispatched()
CANCEL, FORCE = learned(CancelSent(), at(10)), learned(ForceCancelSent(), at(16))
NOTHING_TO_CANCEL = learned(CancelSent(taken=False), at(10))
DELETED = learned(RayJobsDeleted(1), at(11))
INFRA, CHANGE = Digest(failure_class="hccl_comm", infra=True), Digest(failure_class="assertion")
UNKNOWN = Digest()

GREEN = (started(), ended("success"))
LIVE, DONE = a_rayjob(), a_rayjob("SUCCEEDED")
LOST = a_rayjob("NOT_FOUND", last_line_at=at(5))
UNKNOWN_END = (*GREEN, asked(), log())


def failed_delete(number: int, minutes: float) -> RunEvent:
    return learned(RayJobsDeleted(number, "503"), at(minutes))


def step_of(run: Run, *known: RunEvent, at_min: float, **changes: Any) -> Step:
    """Return the step, and see that asking twice answers the same."""
    asked_with: ReconcileInput = given(run, *known, now=at(at_min), **changes)
    step = decide(asked_with)
    assert decide(asked_with) == step
    return step


class _Any:
    """Equals every value, or every value that is not empty: for what a row does not claim."""

    def __init__(self, *, filled: bool = False) -> None:
        self._filled = filled

    def __eq__(self, other: object) -> bool:
        return bool(other) or not self._filled

    def __repr__(self) -> str:
        return "FILLED" if self._filled else "ANY"

    __hash__ = None  # type: ignore[assignment]


ANY: Any = _Any()
FILLED: Any = _Any(filled=True)


def waits(state: State) -> Wait:
    return Wait(state, ANY, ANY)


def ends(outcome: Outcome, *, retried: bool = False, cleans_up: bool = False) -> End:
    retry = FILLED if retried else NOTHING
    return End(outcome, ANY, retry=retry, counts=ANY, cleans_up=cleans_up)


def concludes(outcome: Outcome) -> Conclude:
    return Conclude(outcome, ANY)


def stops(kind: StopReason) -> RequestStop:
    return RequestStop(kind, FILLED)


def finds_rayjobs(*, last: bool = False) -> FindRayJobs:
    return FindRayJobs(ANY, last)


def reads_end() -> ReadEnd:
    return ReadEnd(ANY)


def row(expected: Step, why: str, run: Run, *known: RunEvent, at_min: float, **changes: Any) -> Any:
    """Return a row of a table: the step that is expected, and in which case."""
    return pytest.param(run, known, at_min, changes, expected, id=why)


def stopping(kind: StopReason = StopReason.CANCEL, *, rayjob: bool = True) -> Run:
    return dispatched(rayjob=rayjob, stop_request=a_stop_request(kind))


STOP = stopping()
