"""The maker of attempts: what a request becomes, as a run and its claimants."""

from dataclasses import replace
from itertools import count

import pytest

from bot.core.messages import quote
from bot.core.model.ids import RunId
from bot.core.model.runs import Claimant, Outcome, Rank, Run, State
from bot.core.model.snapshot import Label
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.planning.attempts import (
    AttemptMaker,
    AttemptRequest,
    Claim,
    audit_of,
    freeze,
    next_attempt,
)
from bot.core.planning.plan import BY_ITSELF, AuditEntry, Plan
from bot.core.policy.models import Gate, Start
from tests.accounts import account
from tests.core.building import REPO, SHA, T0, a_run, a_snapshot, at, with_changes
from tests.core.planning.heads import AT

LABELS = (Label("npu-8", 8, 2), Label("npu-16", 16, 1))
ENDED = a_run(
    id=RunId("BEFORE"),
    attempt=3,
    snapshot=a_snapshot(labels=LABELS),
    state=State.DONE,
    outcome=Outcome.FAILURE,
    label="npu-16",
    actions_run_id=99,
    actions_attempt=2,
)

RUNNING = replace(ENDED, state=State.RUNNING, outcome=None)


def maker() -> AttemptMaker:
    numbers = count(1)
    return AttemptMaker(at(5), lambda: f"NEW{next(numbers)}")


def made(request: AttemptRequest) -> Run:
    return maker().make(request)[0]


def test_a_first_attempt_has_all_that_was_asked_for() -> None:
    request = AttemptRequest(
        repo_id=REPO,
        sha=SHA,
        number=5,
        snapshot=a_snapshot(),
        origin=quote("a push"),
        claims=(Claim("pr:5", rank=Rank.RELEASE), Claim("pr:6", auto=False, by=account("kim"))),
        not_before=at(6),
        forced="kim",
        retries=1,
    )
    run, claimants = maker().make(request)
    assert run == Run(
        id=RunId("NEW1"),
        repo_id=REPO,
        sha=SHA,
        suite="unit",
        attempt=1,
        snapshot=a_snapshot(),
        created_at=at(5),
        origin=quote("a push"),
        number=5,
        not_before=at(6),
        forced="kim",
        retries=1,
    )
    assert claimants == (
        Claimant(RunId("NEW1"), "pr:5", rank=Rank.RELEASE),
        Claimant(RunId("NEW1"), "pr:6", auto=False, by=account("kim")),
    )


def test_a_next_attempt_does_the_same_work_and_shares_nothing_else() -> None:
    run = made(next_attempt(ENDED, quote("kim")))
    assert (run.attempt, run.snapshot, run.origin) == (4, ENDED.snapshot, "kim")
    assert (run.state, run.outcome, run.label, run.actions_run_id, run.rerun_of) == (
        State.QUEUED,
        None,
        None,
        None,
        None,
    )


def test_a_continued_actions_run_keeps_the_label_that_it_used() -> None:
    run = made(replace(next_attempt(ENDED, quote("kim")), continues=ENDED))
    assert (run.rerun_of, run.actions_attempt) == (99, 2)
    assert [label.name for label in run.snapshot.labels] == ["npu-16"]


@pytest.mark.parametrize("changes", [{"label": "gone"}, {"actions_run_id": None}])
def test_an_actions_run_that_does_not_fit_any_more_is_not_continued(
    changes: dict[str, object],
) -> None:
    before = replace(ENDED, **changes)  # type: ignore[arg-type]
    run = made(replace(next_attempt(before, quote("kim")), continues=before))
    assert (run.rerun_of, run.actions_attempt, run.snapshot.labels) == (None, 1, LABELS)


def test_github_chooses_the_label_of_what_it_starts_itself() -> None:
    before = replace(ENDED, snapshot=with_changes(ENDED.snapshot, start=Start.NATIVE), label=None)
    run = made(replace(next_attempt(before, quote("kim")), continues=before))
    assert (run.rerun_of, run.snapshot.labels) == (99, LABELS)


def test_an_adopted_actions_run_runs_already() -> None:
    adopts = WorkflowRun(99, 3, "queued", "x", SHA, "https://github.test/99", None)
    run = made(replace(next_attempt(ENDED, quote("kim in the Actions tab")), adopts=adopts))
    assert (run.state, run.label, run.dispatched_at) == (
        State.WAITING_FOR_RUNNER,
        "npu-16",
        at(5),
    )
    assert (run.actions_run_id, run.actions_attempt, run.actions_url) == (
        99,
        3,
        "https://github.test/99",
    )


@pytest.mark.parametrize(
    ("before", "counting", "runs_again", "started", "joined"),
    [
        (None, None, False, ["NEW1"], []),
        (ENDED, None, True, ["NEW1"], []),
        (ENDED, None, False, [], []),
        (RUNNING, RUNNING, True, [], ["BEFORE"]),
        (RUNNING, None, False, ["NEW1"], []),  # it is another pull request's, of another policy
        (RUNNING, ENDED, False, [], []),
        (RUNNING, ENDED, True, ["NEW1"], []),
    ],
)
def test_an_open_attempt_is_joined_and_an_ended_one_runs_again_if_its_result_does_not_count(
    before: Run | None,
    counting: Run | None,
    *,
    runs_again: bool,
    started: list[str],
    joined: list[str],
) -> None:
    asked = next_attempt(ENDED, quote("kim"))
    request = replace(asked, before=before, counting=counting, claims=(Claim("pr:5"),))
    plan = maker().make_or_join([request], lambda _run, _now: runs_again)
    assert [run.id for run, _ in plan.new_runs] == started
    assert [claimant.run_id for claimant in plan.add_claimants] == joined
    assert plan == Plan(new_runs=plan.new_runs, add_claimants=plan.add_claimants)


def test_a_result_that_counts_stands_beside_an_open_attempt_of_another_policy() -> None:
    other = replace(ENDED, attempt=2, state=State.RUNNING, outcome=None)
    request = replace(next_attempt(other, quote("kim")), counting=ENDED, claims=(Claim("pr:5"),))
    assert maker().make_or_join([request], lambda _run, _now: False) == Plan()


def test_a_native_suites_workflow_is_of_the_base_branch() -> None:
    native = with_changes(ENDED.snapshot, start=Start.NATIVE).suite
    policy = AT.policy.model_copy(update={"suites": {"unit": native}, "dispatch_ref": "ci"})
    for base, ref in (("v1", "v1"), ("", "main")):
        at_base = replace(AT, policy=policy, base=base)
        assert freeze(at_base, "unit", quote("")).ref == ref


def test_what_is_done_to_a_run_is_audited_with_its_place() -> None:
    entry = audit_of(ENDED, "cancel it", "limit", T0)
    assert entry == AuditEntry(T0, BY_ITSELF, "cancel it", True, "limit", REPO, 5, SHA)
    assert audit_of(ENDED, "retry it", "operator", T0, who="kim").who == "kim"


def test_the_policy_of_a_release_branch_has_the_default_branchs_gate() -> None:
    default = AT.policy.model_copy(update={"gate": Gate(name="npu")})
    release = AT.as_release(default)
    assert (release.policy.gate.name, release.release) == ("npu", True)
    assert release.policy.suites == AT.policy.suites
