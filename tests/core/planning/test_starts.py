"""What a person may start, with which label, inputs and limits, and what becomes of it."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from bot.core.messages import Messages, quote
from bot.core.model.ids import RunId
from bot.core.model.pulls import Approval
from bot.core.model.runs import Claimant, Outcome, Rank, Run, State
from bot.core.model.views import GateDue
from bot.core.planning.attempts import PolicyAt, freeze
from bot.core.planning.permissions import Refusal, Requester
from bot.core.planning.plan import AuditEntry, DropClaimant, Plan, RunClaimants
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.pull_request import Evaluation, stored_selection
from bot.core.planning.starts import Starter, StartRequest
from bot.core.planning.trust import Authorship, Person, Trusted
from bot.core.policy.levels import Level
from bot.core.policy.selection import ChangedFile, select
from bot.core.queue.usage import Usage, spent
from tests.accounts import account
from tests.core.building import REPO, SHA, a_pull, a_run, a_stop_request, at
from tests.core.policies import loaded

POLICY = loaded("""\
version: 1
runners: {npu-8: {npus: 8}, npu-16: {npus: 16}}
limits: {npu_hours_per_day: 100}
suites:
  unit:
    workflow: unit.yml
    runners: [npu-8, npu-16]
    paths: ["src/**"]
    inputs: {mode: fast}
    settable: {script: "tests/**.sh"}
  big: {workflow: big.yml, runners: [npu-16], tier: heavy}
  own: {workflow: own.yml, runners: [npu-8], start: native}
""")
AT = PolicyAt(POLICY, "main", "p" * 40)
WEAK = replace(AT, ref="weak")
FILES = (ChangedFile("src/a.py"),)
FULL = spent((Usage(100, at(-60), at()),), at())


def a_request(
    *attempts: Run, level: Level = Level.WRITE, trusted: bool = True, **changes: Any
) -> StartRequest:
    """Return what bob asks for on the head of ann's pull request."""
    trust = Trusted(trusted, quote("why"))
    evaluation = Evaluation(
        pull=a_pull(),
        at=AT,
        selection=select(POLICY, FILES),
        files=FILES,
        trust=trust,
        origin=quote("a command"),
        fresh=False,
        pushed=False,
    )
    made = StartRequest(
        evaluation=evaluation,
        requester=Requester(
            Person(account("bob"), level), SHA, Authorship(frozenset({account("ann")})), trust
        ),
        source="pr:5",
        runs=tuple(RunClaimants(run, ()) for run in attempts),
    )
    return replace(made, **changes)


def an_attempt(suite: str = "unit", **changes: Any) -> Run:
    """Return an ended attempt of a suite."""
    made = a_run(
        id=RunId("BEFORE"),
        suite=suite,
        snapshot=freeze(AT, suite, quote("")),
        state=State.DONE,
        outcome=Outcome.FAILURE,
        label="npu-16",
        actions_run_id=99,
    )
    return replace(made, **changes)


RUNNING = an_attempt(state=State.RUNNING, outcome=None)


def started(request: StartRequest, *names: str) -> PlanBuilder:
    numbers, builder = count(1), PlanBuilder()
    starter = Starter(Messages(), lambda: f"NEW{next(numbers)}")
    starter.start(request, list(names or ("unit",)), builder, at())
    return builder


def test_a_started_suite_is_the_next_attempt_of_the_person() -> None:
    builder = started(a_request(an_attempt(attempt=2)))
    ((run, claimants),) = builder.new_runs
    assert (run.attempt, run.sha, run.number, run.origin) == (3, SHA, 5, "bob")
    assert (run.snapshot.reason, run.rerun_of) == ("`src/a.py` matches `src/**`", None)
    assert claimants == (
        Claimant(run.id, "pr:5", auto=False, by=account("bob"), rank=Rank.APPROVED),
    )
    assert builder.run_ids == [run.id]
    who = AuditEntry(at(), "bob", "start unit", True, "trust", REPO, 5, SHA)
    assert builder.audit == [replace(who, who_id=account("bob").id)]


def test_failed_jobs_of_another_policys_run_are_not_run_again_for_this_one() -> None:
    foreign = an_attempt(snapshot=freeze(WEAK, "unit", quote("")))
    for before, rerun_of in ((an_attempt(), 99), (foreign, None)):
        ((run, _),) = started(a_request(before, failed_only=True)).new_runs
        assert run.rerun_of == rerun_of


@pytest.mark.parametrize(("at_now", "counts"), [(AT, True), (WEAK, False)])
def test_what_a_person_starts_counts_if_the_policy_is_of_the_same_branch(
    at_now: PolicyAt, *, counts: bool
) -> None:
    request = a_request()
    row = stored_selection(request.evaluation)
    items = tuple(replace(item, essence="before") for item in row.data.suites)
    row = replace(row, data=replace(row.data, suites=items))
    evaluation = replace(request.evaluation, at=at_now)
    builder = started(replace(request, evaluation=evaluation, selection=row))
    ((run, _),) = builder.new_runs
    assert builder.restated
    found = {item.choice.suite: item for item in builder.restated.now.data.suites}
    labels = tuple(label.upper() for label in found["unit"].labels)
    assert run.speaks_for(found["unit"].essence, labels) is counts
    assert found["big"].essence == "before"
    assert builder.build(GateDue(REPO, SHA, 5)).restated == (builder.restated,)


def test_a_suite_that_no_file_selects_says_who_asked() -> None:
    ((run, _),) = started(a_request(), "big").new_runs
    assert run.snapshot.reason == "asked for by bob"


def test_an_open_attempt_is_joined_and_forced() -> None:
    builder = started(a_request(RUNNING, level=Level.MAINTAIN, force=True))
    assert builder.new_runs == []
    assert [claimant.run_id for claimant in builder.add_claimants] == ["BEFORE"]
    assert (builder.run_ids, builder.forced) == (["BEFORE"], [("BEFORE", "bob")])


def test_who_starts_a_suite_on_a_strangers_commit_approves_it() -> None:
    builder = started(a_request(trusted=False))
    assert builder.approval == Approval(REPO, SHA, account("bob"), Level.WRITE, "start", at())
    assert [entry.what for entry in builder.audit] == ["start unit", "approve"]


def test_the_label_and_the_inputs_that_were_asked_for_are_the_runs() -> None:
    request = a_request(runner="npu-16", settings=(("script", "tests/a.sh"),))
    builder = started(request)
    ((run, _),) = builder.new_runs
    assert [label.name for label in run.snapshot.labels] == ["npu-16"]
    assert run.snapshot.suite.inputs == {"mode": "fast", "script": "tests/a.sh"}
    assert run.snapshot.altered == ("script=tests/a.sh",)
    assert builder.audit[0].what == "start unit --set script=tests/a.sh"


def test_a_rerun_continues_the_actions_run_and_names_itself() -> None:
    builder = started(a_request(an_attempt(), failed_only=True))
    ((run, _),) = builder.new_runs
    assert (run.rerun_of, [label.name for label in run.snapshot.labels]) == (99, ["npu-16"])
    assert builder.audit[0].what == "rerun unit"


def test_what_github_starts_continues_the_last_attempt_that_it_has_started() -> None:
    waits = an_attempt("own", id=RunId("WAITS"), attempt=2, actions_run_id=None)
    request = a_request(an_attempt("own"), waits, failed_only=True)
    ((run, _),) = started(request, "own").new_runs
    assert (run.attempt, run.rerun_of) == (3, 99)


def of_weak(**changes: Any) -> Run:
    """Return an attempt by the policy of another base."""
    return an_attempt(snapshot=freeze(WEAK, "unit", quote("")), **changes)


def with_script(run: Run) -> Run:
    suite = run.snapshot.suite.model_copy(update={"inputs": {"mode": "fast", "script": "x"}})
    return replace(run, snapshot=replace(run.snapshot, suite=suite, altered=("script=x",)))


REFUSED = [
    ("a level too low", a_request(level=Level.READ), "unit", "trust", "needs triage permission"),
    ("another label", a_request(runner="npu-4"), "unit", "policy", "does not run on `npu-4`"),
    ("not started yet", a_request(), "own", "policy", "GitHub has not started `own`"),
    (
        "an input with another value",
        a_request(settings=(("script", "../x"),)),
        "unit",
        "policy",
        "Allowed: `script` (`tests/**.sh`)",
    ),
    (
        "no settable input",
        a_request(settings=(("script", "x"),)),
        "big",
        "policy",
        "`big` was not started: none of its inputs may be set",
    ),
    (
        "an open attempt with other inputs",
        a_request(RUNNING, settings=(("script", "tests/a.sh"),)),
        "unit",
        "policy",
        "is already queued or running on this commit, with other inputs",
    ),
    (
        "an open attempt on another label",
        a_request(RUNNING, runner="npu-8"),
        "unit",
        "policy",
        "is already queued or running on this commit, and not for `npu-8` alone",
    ),
    (
        "an open attempt that may get another label",
        a_request(replace(RUNNING, label=None), runner="npu-8"),
        "unit",
        "policy",
        "is already queued or running on this commit, and not for `npu-8` alone",
    ),
    (
        "an open attempt on another label, and a later one of another base",
        a_request(RUNNING, of_weak(attempt=2), runner="npu-8"),
        "unit",
        "policy",
        "is already queued or running on this commit, and not for `npu-8` alone",
    ),
    (
        "an open attempt with inputs that a person set, and a later one of another base",
        a_request(with_script(RUNNING), of_weak(attempt=2), settings=(("script", "tests/a.sh"),)),
        "unit",
        "policy",
        "is already queued or running on this commit, with other inputs",
    ),
    (
        "no NPU-hours left",
        a_request(spent=FULL),
        "unit",
        "limits.npu_hours_per_day",
        "`unit` was not started: this repository used 100 NPU-hours in the last 24 h",
    ),
    (
        "forced without the level",
        a_request(force=True),
        "unit",
        "limits.npu_hours_per_day",
        "`--force` needs maintain permission here, and you have write",
    ),
]


@pytest.mark.parametrize(
    ("request_", "suite", "rule", "text"),
    [row[1:] for row in REFUSED],
    ids=[row[0] for row in REFUSED],
)
def test_a_refusal_starts_nothing_and_names_its_rule(
    request_: StartRequest, suite: str, rule: str, text: str
) -> None:
    builder = started(request_, suite)
    assert (builder.new_runs, builder.add_claimants, builder.refusals) == ([], [], 1)
    [said], [entry] = builder.said, builder.audit
    assert text in said
    assert (entry.allowed, entry.rule) == (False, rule)


def test_a_day_without_any_npu_hours_names_no_time() -> None:
    none = POLICY.limits.model_copy(update={"npu_hours_per_day": 0})
    at_none = replace(AT, policy=POLICY.model_copy(update={"limits": none}))
    request = a_request()
    request = replace(request, evaluation=replace(request.evaluation, at=at_none))
    [said] = started(request).said
    assert "There is room" not in said


def test_the_same_label_as_the_open_attempts_joins_it() -> None:
    builder = started(a_request(RUNNING, runner="npu-16"))
    assert [claimant.run_id for claimant in builder.add_claimants] == ["BEFORE"]


@pytest.mark.parametrize(
    ("attempts", "asked"),
    [
        ((of_weak(state=State.RUNNING, outcome=None),), {"runner": "npu-8"}),
        (
            (of_weak(state=State.RUNNING, outcome=None),),
            {"settings": (("script", "tests/a.sh"),)},
        ),
        ((with_script(RUNNING),), {"runner": "npu-8"}),
    ],
)
def test_an_open_attempt_that_would_not_be_joined_refuses_nothing(
    attempts: tuple[Run, ...], asked: dict[str, Any]
) -> None:
    builder = started(a_request(*attempts, **asked))
    assert (len(builder.new_runs), builder.add_claimants, builder.refusals) == (1, [], 0)


def test_a_maintainer_overrides_the_hours_of_the_day() -> None:
    builder = started(a_request(level=Level.MAINTAIN, spent=FULL, force=True))
    ((run, _),) = builder.new_runs
    assert run.forced == "bob"
    assert builder.audit[0].what == "start unit --force"


def test_a_run_of_no_pull_request_is_run_again_for_its_claimants() -> None:
    before = an_attempt(number=None)
    candidate = RunClaimants(before, (Claimant(before.id, "push:main"),))
    run, claimants = Starter(Messages(), lambda: "NEW").again(candidate, account("bob"), at())
    assert (run.attempt, run.snapshot.suite, run.rerun_of) == (2, before.snapshot.suite, 99)
    assert claimants == (
        Claimant(run.id, "push:main", auto=False, by=account("bob"), rank=Rank.APPROVED),
    )


GATE = GateDue(REPO, SHA, 5, name="ascend-ci")


def test_the_gate_of_a_request_is_that_of_its_commit() -> None:
    assert a_request().gate == GATE


def test_a_builder_adds_what_it_collected_to_the_plan_of_an_approved_head() -> None:
    made, planned = (a_run(), ()), (a_run(id=RunId("PLANNED")), ())
    builder = PlanBuilder(new_runs=[made])
    assert builder.build(GATE) == Plan(new_runs=(made,), gates=(GATE,))
    builder.base = Plan(new_runs=(planned,), gates=(replace(GATE, name="other"),))
    plan = builder.build(GATE)
    assert plan.new_runs == (planned, made)
    assert plan.gates == builder.base.gates


def test_the_same_refusal_is_said_once() -> None:
    builder = PlanBuilder()
    for text in ("no", "no", "never"):
        builder.refuse(Refusal(text))
    assert (builder.said, builder.refusals) == (["no", "never"], 3)


def test_a_command_is_audited_as_refused_if_nothing_but_refusals_comes_of_it() -> None:
    entry = AuditEntry(at(), "bob", "cancel", True, "trust")
    builder = PlanBuilder(audit=[entry, entry])
    with builder.auditing(0):
        builder.refuse(Refusal("no"))
    with builder.auditing(1):
        builder.refuse(Refusal("no"))
        stop = a_stop_request()
        builder.drop_claimants.append(DropClaimant(RunId("R"), "pr:5", stop.reason, stop))
    assert [item.allowed for item in builder.audit] == [False, True]
    assert [(item.allowed, item.rule) for item in builder.all_refused("policy")] == [
        (False, "trust"),
        (False, "policy"),
    ]
