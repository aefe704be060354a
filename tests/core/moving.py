"""A run asked for its next step, in words: for the tables of the tests of its life."""

from typing import Any

import pytest

from bot.core.model.digests import Digest
from bot.core.model.run_events import CancelSent, ForceCancelSent, RayJobsDeleted, RunEvent
from bot.core.model.runs import Run, StopReason
from bot.core.runs.reconcile import decide
from bot.core.runs.reconcile_input import ReconcileInput
from bot.core.runs.steps import (
    Conclude,
    DeleteRayJobs,
    Dispatch,
    End,
    FindRayJobs,
    RequestStop,
    Search,
    SendCancel,
    Step,
    Wait,
)
from tests.core.building import (
    a_rayjob,
    a_wish,
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


def words(step: Step) -> str:
    """Return a step in short: its kind and what tells it from others of its kind."""
    match step:
        case Wait():
            return f"Wait {step.state}"
        case End():
            return f"End {step.outcome}" + (" retry" if step.retry else "")
        case Conclude():
            return f"Conclude {step.outcome}"
        case RequestStop():
            return f"RequestStop {step.kind}"
        case Dispatch() | DeleteRayJobs():
            return f"{type(step).__name__} {step.number}"
        case Search():
            return f"Search {step.number}.{step.search}"
        case _:
            return type(step).__name__ + _more(step)


def _more(step: Step) -> str:
    forced = isinstance(step, SendCancel) and step.force
    last = isinstance(step, FindRayJobs) and step.last
    return " force" * forced + " last" * last


def row(expected: str, why: str, run: Run, *known: RunEvent, at_min: float, **changes: Any) -> Any:
    return pytest.param(run, known, at_min, changes, expected, id=f"{why}: {expected}")


def stopping(kind: StopReason = StopReason.CANCEL, *, rayjob: bool = True) -> Run:
    return dispatched(rayjob=rayjob, stop_request=a_wish(kind))


STOP = stopping()
