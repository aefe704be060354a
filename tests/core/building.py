"""Values for the tests of the decisions: a run, its events, its RayJobs, a pull request."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.core.digest.result import Digest
from bot.core.messages import quote
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.pulls import Pull
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import (
    LogRead,
    RayJobsListed,
    RunEvent,
    Source,
    What,
    WorkflowRunChanged,
    WorkflowRunEnded,
)
from bot.core.model.runs import Run, State, StopReason, StopRequest
from bot.core.model.snapshot import Label, Snapshot
from bot.core.planning.trust import Person
from bot.core.policy.levels import Level
from bot.core.policy.models import Limits, Log, OnHiddenFailure, Suite
from bot.core.runs.reconcile_input import ReconcileInput
from tests.accounts import account

T0 = datetime(2026, 8, 22, 12, 0, tzinfo=UTC)
REPO = RepoId(7)
SHA = Sha("9" * 40)
OLD_SHA = Sha("8" * 40)
LABEL = "npu-8"


def at(minutes: float = 0, *, seconds: float = 0) -> datetime:
    """Return a time so long after the start of a test."""
    return T0 + timedelta(minutes=minutes, seconds=seconds)


def a_snapshot(**changes: Any) -> Snapshot:
    suite = Suite(
        title="Unit",
        workflow="unit.yml",
        runners=(LABEL,),
        timeout_minutes=60,
        stall_minutes=20,
        on_hidden_failure=OnHiddenFailure.WARN,
    )
    made = Snapshot(
        name="unit",
        suite=suite,
        ref="main",
        labels=(Label(LABEL, 8, 2),),
        policy_ref="main",
        policy_sha="p" * 40,
        limits=Limits(),
        log=Log(),
    )
    return with_changes(made, **changes)


def with_changes(frozen: Snapshot, **changes: Any) -> Snapshot:
    """Return a snapshot with fields of its own, of its suite, limits or log replaced."""
    own = {field.name for field in fields(Snapshot)}
    parts: dict[str, Any] = {}
    for part in ("suite", "limits", "log"):
        before = getattr(frozen, part)
        names = [key for key in changes if key in type(before).model_fields and key not in own]
        parts[part] = before.model_copy(update={key: changes.pop(key) for key in names})
    return replace(frozen, **{**parts, **changes})


def a_run(*, rayjob: bool = False, **changes: Any) -> Run:
    """Return a run; keys of a snapshot go to its snapshot."""
    frozen = {key: changes.pop(key) for key in tuple(changes) if key in _FROZEN}
    made = Run(
        id=RunId("01J5"),
        repo_id=REPO,
        sha=SHA,
        suite="unit",
        attempt=1,
        snapshot=a_snapshot(rayjob=rayjob, **frozen),
        created_at=T0,
        number=5,
    )
    return replace(made, **changes)


_FROZEN = {
    "infra_retries",
    "inputs",
    "min_minutes",
    "retryable",
    "stall_minutes",
    "timeout_minutes",
    "workflow",
}


def dispatched(*, rayjob: bool = False, **changes: Any) -> Run:
    """Return a run that GitHub has taken."""
    base = {
        "state": State.WAITING_FOR_RUNNER,
        "label": LABEL,
        "actions_run_id": 99,
        "dispatched_at": T0,
    }
    return a_run(rayjob=rayjob, **{**base, **changes})


RUN = a_run()


def learned(what: What, when: datetime = T0, source: Source = Source.RUNNER) -> RunEvent:
    """Return an event of the run."""
    return RunEvent(RUN.id, source, when, what)


def told(
    status: str, when: datetime, *, attempt: int = 1, source: Source = Source.WEBHOOK
) -> RunEvent:
    """Return what was said of the Actions run."""
    return learned(WorkflowRunChanged(attempt, status), when, source)


def started(minutes: float = 0) -> RunEvent:
    return told("in_progress", at(minutes))


def ended(conclusion: str | None, minutes: float = 30) -> RunEvent:
    return learned(WorkflowRunEnded(1, conclusion), at(minutes))


def log(final: str | None = None, minutes: float = 30, digest: Digest | None = None) -> RunEvent:
    return learned(LogRead(1, final, digest), at(minutes))


def asked(minutes: float = 30) -> RunEvent:
    return learned(RayJobsListed(1), at(minutes))


def a_stop_request(kind: StopReason = StopReason.CANCEL, minutes: float = 10) -> StopRequest:
    return StopRequest(kind, "ann", quote(f"{kind} it"), at(minutes))


def a_rayjob(final: str | None = None, *, confirmed: bool = True, **changes: Any) -> RayJob:
    made = RayJob("job-1", RUN.id, "workflow", confirmed=confirmed, final=final)
    return replace(made, final_from="watch" if final else "", **changes)


def given(run: Run, *known: RunEvent, now: datetime, **changes: Any) -> ReconcileInput:
    """Return what `decide` is asked with: wanted, without RayJobs, a submitter that answers."""
    base: dict[str, Any] = {"wanted": True, "rayjobs": ()}
    return ReconcileInput(run=run, run_events=known, now=now, **{**base, **changes})


def a_pull(**changes: Any) -> Pull:
    made = Pull(REPO, 5, SHA, REPO, "main", account("ann"), updated_at=T0)
    return replace(made, **changes)


def person(login: str, level: Level, *, listed: bool = False) -> Person:
    return Person(account(login), level, listed)
