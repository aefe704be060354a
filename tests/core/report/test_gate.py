"""Where the gate stands, by table; which buttons it offers; what it replaces."""

from dataclasses import replace
from functools import partial

import pytest

from bot.core.messages import Message
from bot.core.model.ids import RunId
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.selections import Cost, StoredSelection
from bot.core.model.views import GateView
from bot.core.policy.models import Language, Mode, Tier
from bot.core.report.gate import gate_check
from bot.core.report.standing import GateState, gate_state
from tests.core import views as s
from tests.core.commands.commenting import offered

OPEN = GateState("in_progress", None)
GREEN = GateState("completed", "success")
RED = GateState("completed", "failure")
ASK = GateState("completed", "action_required")

ONE = s.selection(s.chosen())
TWO = s.selection(s.chosen(), s.UNIT)
UNTRUSTED = s.selection(s.chosen(), trusted=False)
BOTH_UNTRUSTED = s.selection(s.chosen(), s.UNIT, trusted=False)
NATIVE = s.chosen(native=True, auto=False)
REWRITTEN = s.selection(NATIVE, trusted=False, protected=(".github/x",))
PASSED = s.done(Outcome.SUCCESS, "passed")
LEFT_OUT = s.done(Outcome.SKIPPED, Message("run_not_in"))
FAILED = s.done(Outcome.FAILURE, "failed")
WAITS = s.run(state=State.NEEDS_APPROVAL)


WEAKER = replace(PASSED, snapshot=replace(s.SNAPSHOT, policy_ref="weak"))
SET = replace(PASSED, snapshot=replace(s.SNAPSHOT, altered=("script=x",)))


def again(run: Run, attempt: int) -> Run:
    return replace(run, attempt=attempt, id=RunId(f"01J5-{attempt}"))


def unit(run: Run) -> Run:
    return s.other("npu-unit", run)


TABLE: list[tuple[str, GateView, GateState]] = [
    ("nothing known is in progress", s.gate(), OPEN),
    ("none needed is green at once", s.gate(s.selection(s.OFF)), GREEN),
    ("closed is cancelled", s.gate(ONE, closed="closed"), GateState("completed", "cancelled")),
    ("a broken policy is red", s.gate(policy_errors=("line 1: no",)), RED),
    ("closed goes before a broken policy",
     s.gate(policy_errors=("x",), closed="closed"), GateState("completed", "cancelled")),
    ("a dry run is neutral",
     s.gate(s.selection(s.chosen(), mode=Mode.DRY_RUN)), GateState("completed", "neutral")),
    ("a dry run beside a real policy is none",
     s.gate(s.selection(s.OFF, mode=Mode.DRY_RUN), s.selection(s.chosen())), OPEN),
    ("not started yet is in progress", s.gate(ONE), OPEN),
    ("untrusted asks", s.gate(UNTRUSTED), ASK),
    ("untrusted in one pull request, trusted in another, goes on", s.gate(UNTRUSTED, ONE), OPEN),
    ("a draft asks", s.gate(s.selection(s.chosen(), draft=True)), ASK),
    ("a draft beside an open pull request goes on",
     s.gate(s.selection(s.chosen(), draft=True), ONE), OPEN),
    ("a draft whose runs go on follows them",
     s.gate(s.selection(s.chosen(), draft=True), runs=(s.live(),)), OPEN),
    ("a draft that needs nothing is green", s.gate(s.selection(s.OFF, draft=True)), GREEN),
    ("required by command asks", s.gate(s.selection(s.chosen(auto=False))), ASK),
    ("a run that needs approval asks", s.gate(UNTRUSTED, runs=(WAITS,)), ASK),
    ("an approval lets it go on", s.gate(ONE, runs=(WAITS,), approvals=(s.APPROVAL,)), OPEN),
    ("an approval before the run exists", s.gate(ONE, approvals=(s.APPROVAL,)), OPEN),
    ("an approval that does not count asks", s.gate(UNTRUSTED, approvals=(s.APPROVAL,)), ASK),
    ("all green is green", s.gate(TWO, runs=(PASSED, unit(PASSED))), GREEN),
    ("one missing is in progress", s.gate(TWO, runs=(PASSED,)), OPEN),
    ("red goes before in progress", s.gate(TWO, runs=(FAILED,)), RED),
    ("red goes before an approval", s.gate(BOTH_UNTRUSTED, runs=(FAILED,)), RED),
    ("an approval goes before in progress", s.gate(BOTH_UNTRUSTED, runs=(s.live(),)), ASK),
    ("an open next attempt reopens", s.gate(ONE, runs=(FAILED, again(s.live(), 2))), OPEN),
    ("the latest attempt counts", s.gate(ONE, runs=(FAILED, again(PASSED, 2))), GREEN),
    ("whatever the order of rows", s.gate(ONE, runs=(again(FAILED, 2), PASSED)), RED),
    ("superseded does not count",
     s.gate(ONE, runs=(PASSED, again(s.done(Outcome.SUPERSEDED, "x"), 2))), GREEN),
    ("only superseded is as good as none",
     s.gate(ONE, runs=(s.done(Outcome.SUPERSEDED, "x"),)), OPEN),
    ("done without an outcome is red", s.gate(ONE, runs=(s.live(state=State.DONE),)), RED),
    ("a suite that is not required does not count",
     s.gate(s.selection(s.chosen(required=False)), runs=(FAILED,)), GREEN),
    ("a suite that nobody selected does not count",
     s.gate(s.selection(s.OFF), runs=(FAILED,)), GREEN),
    ("a row without suites needs nothing", s.gate(s.selection()), GREEN),
    ("a pass by another policy says nothing", s.gate(ONE, runs=(WEAKER,)), ASK),
    ("it has to end before a command can start the suite",
     s.gate(ONE, runs=(replace(WEAKER, state=State.RUNNING, outcome=None),)), OPEN),
    ("where an approval is missing, it is asked for",
     s.gate(UNTRUSTED, runs=(WEAKER,)), ASK),
    ("it hides no failure", s.gate(ONE, runs=(FAILED, again(WEAKER, 2))), RED),
    ("and no pass on a runner that the suite has not",
     s.gate(s.selection(s.chosen(labels=("other",))), runs=(PASSED,)), ASK),
    ("what waits counts by the runners that it may take",
     s.gate(ONE, runs=(s.QUEUED,)), OPEN),
    ("inputs that a person set say nothing", s.gate(ONE, runs=(SET,)), ASK),
    ("what GitHub has not started is in progress", s.gate(s.selection(NATIVE)), OPEN),
    ("a stranger's pass on GitHub counts",
     s.gate(s.selection(NATIVE, trusted=False), runs=(PASSED,)), GREEN),
    ("but not of a workflow that the stranger may have rewritten",
     s.gate(REWRITTEN, runs=(PASSED,)), ASK),
    ("nor does a failure of it", s.gate(REWRITTEN, runs=(FAILED,)), ASK),
    ("it asks before GitHub starts it", s.gate(REWRITTEN), ASK),
    ("an approval of one's own does not make it count",
     s.gate(REWRITTEN, runs=(PASSED,), approvals=(s.APPROVAL,)), ASK),
    ("what the conditions of its jobs leave out is not waited for",
     s.gate(s.selection(NATIVE), runs=(LEFT_OUT,)), GREEN),
    ("but not if a stranger may have written them",
     s.gate(REWRITTEN, runs=(LEFT_OUT,)), ASK),
    ("who is trusted may rewrite it",
     s.gate(s.selection(NATIVE, protected=(".github/x",)), runs=(PASSED,)), GREEN),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "view", "claimant"), TABLE, ids=[row[0] for row in TABLE])
def test_the_gate_stands(claim: str, view: GateView, claimant: GateState) -> None:
    assert gate_state(view) == claimant, claim


@pytest.mark.parametrize("outcome", Outcome)
def test_no_outcome_but_success_is_green_and_one_that_github_leaves_out(outcome: Outcome) -> None:
    view = s.gate(ONE, runs=(s.done(outcome, "why"),))
    assert (gate_state(view) == GREEN) == (outcome in {Outcome.SUCCESS, Outcome.SKIPPED})


@pytest.mark.parametrize("state", [state for state in State if state is not State.DONE])
def test_no_open_run_is_green(state: State) -> None:
    assert gate_state(s.gate(UNTRUSTED, runs=(s.run(state=state),))) != GREEN


@pytest.mark.parametrize(("claim", "view", "claimant"), TABLE, ids=[row[0] for row in TABLE])
def test_the_check_run_shows_where_the_gate_stands(
    claim: str, view: GateView, claimant: GateState
) -> None:
    check = gate_check(view, s.CTX, s.NOW)
    assert GateState(check.status, check.conclusion) == claimant, claim
    assert (check.completed_at is None) == (claimant == OPEN)
    assert check.summary


def test_the_gate_is_named_as_the_policy_says() -> None:
    ctx = replace(s.CTX, gate="npu", external_id="gate:1")
    check = gate_check(s.gate(), ctx, s.NOW)
    assert (check.name, check.external_id, check.head_sha) == ("npu", "gate:1", s.SHA)


@pytest.mark.parametrize(
    ("view", "claimant"),
    [
        (s.gate(UNTRUSTED), ["approve"]),
        (s.gate(ONE, runs=(FAILED,)), ["rerun_failed"]),
        (s.gate(BOTH_UNTRUSTED, runs=(FAILED,)), ["approve", "rerun_failed"]),
        (s.gate(ONE, runs=(PASSED,)), []),
        (s.gate(ONE), []),
        (s.gate(UNTRUSTED, closed="closed"), []),
        (s.gate(UNTRUSTED, policy_errors=("x",)), []),
        (s.gate(s.selection(s.chosen(), mode=Mode.DRY_RUN, trusted=False)), []),
    ],
)
def test_buttons(view: GateView, claimant: list[str]) -> None:
    buttons = gate_check(view, s.CTX, s.NOW).buttons
    assert [button.identifier for button in buttons] == claimant
    assert all(len(b.label) <= 20 and len(b.description) <= 40 for b in buttons)


def test_the_policy_is_named_where_no_selection_does() -> None:
    ctx = replace(s.CTX, policy_ref="v0.4", policy_sha="abcdef1234")
    view = s.gate(s.selection(policy_ref=""))
    assert "Policy: `v0.4` at `abcdef1`." in gate_check(view, ctx, s.NOW).summary


def test_a_base_whose_own_policy_does_not_count_is_named_once() -> None:
    open_to_all = s.selection(s.chosen(), unprotected="v0.9")
    summary = gate_check(s.gate(ONE, open_to_all, open_to_all), s.CTX, s.NOW).summary
    assert summary.count("`v0.9` is listed in `branches:`, but GitHub does not protect it") == 1


def test_a_pull_request_that_does_not_count_is_named() -> None:
    others = tuple(replace(s.PULL, number=number) for number in (8, 9))
    view = s.gate(ONE, pulls=(*others, s.PULL), overruled=others)
    said = "Not counted: #8 and #9 (the same commit, but nobody trusts it there)."
    assert said in gate_check(view, s.CTX, s.NOW).summary


def test_a_suite_without_cost_is_listed_without() -> None:
    bare = s.chosen("b", cost=Cost(), auto=False, required=False, tier=Tier.HEAVY)
    native = s.chosen("native", auto=False, required=False)
    view = s.gate(s.selection(s.chosen(cost=Cost()), bare, native, trusted=False))
    summary = gate_check(view, s.CTX, s.NOW).summary
    assert "They start by command: `/ascend-e2e b`." in summary
    assert "NPU-hours" not in summary
    assert "native" not in summary


LATER = partial(s.chosen, "a", auto=False, by_command=False)


@pytest.mark.parametrize(
    ("view", "lines"),
    [
        (s.gate(s.selection(s.chosen(), draft=True)), ["/ascend-e2e run"]),
        (s.gate(s.selection(LATER(tier=Tier.HEAVY), draft=True)), []),
        (s.gate(s.selection(s.chosen("a", auto=False))), ["/ascend-e2e a"]),
        (s.gate(s.selection(s.chosen("reruns", auto=False))), ["/ascend-e2e run reruns"]),
        (s.gate(s.selection(LATER())), [f"/ascend-e2e rerun a --sha {s.SHA[:12]}"]),
        (s.gate(s.selection(LATER(tier=Tier.HEAVY, required=False))),
         ["/ascend-e2e explain"]),
    ],
)  # fmt: skip
def test_a_gate_offers_only_commands_that_start_something(view: GateView, lines: list[str]) -> None:
    assert offered(gate_check(view, s.CTX, s.NOW).summary) == lines


def test_a_result_that_does_not_count_yet_is_shown_with_the_file_that_is_to_blame() -> None:
    summary = gate_check(s.gate(REWRITTEN, runs=(PASSED,)), s.CTX, s.NOW).summary
    assert "the change edits `.github/x`" in summary
    assert "passed" in summary


def many(trusted: bool) -> StoredSelection:
    suites = [s.chosen(f"suite-{n}" + "x" * 90, reason="r" * 900) for n in range(400)]
    return s.selection(*suites, trusted=trusted)


@pytest.mark.parametrize("trusted", [True, False])
def test_hundreds_of_suites_fit(trusted: bool) -> None:
    check = gate_check(s.gate(many(trusted)), s.CTX, s.NOW)
    assert len(check.summary.encode()) <= 65_535
    assert " more." in check.summary


def test_a_gate_speaks_the_language_of_the_first_policy_that_judged_the_commit() -> None:
    said = s.selection(language=Language.ZH)
    assert s.gate(ONE, said).language is Language.ZH
    assert s.gate(ONE).language is None
