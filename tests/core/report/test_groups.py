"""What check runs say on commits that no comment reaches: a merge group's, a push's, a night's."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bot.core.messages import Message
from bot.core.model.ids import Sha
from bot.core.model.runs import Outcome
from bot.core.model.selections import MergeGroup, StoredSelection, SuiteSelection
from bot.core.model.views import GateView
from bot.core.report.gate import gate_check
from bot.core.report.standing import GateState, gate_state
from bot.core.report.suite import suite_check
from tests.core import views as s

HERE = s.chosen(passed_at=Sha("1a2b3c4d5e6f" + "0" * 28))
UNIT_HERE = replace(s.UNIT, passed_at=HERE.passed_at)
PASSED = s.done(Outcome.SUCCESS, "passed")
FAILED = s.done(Outcome.FAILURE, "failed")
GREEN = GateState("completed", "success")


def of_group(*suites: SuiteSelection, over_at: datetime | None = None) -> StoredSelection:
    return s.selection(*suites, group=MergeGroup(7, over_at))


@pytest.mark.parametrize(
    ("view", "title"),
    [
        (s.gate(of_group(HERE)), "Same files as 1a2b3c4: 1 suite passed there"),
        (s.gate(of_group(HERE, UNIT_HERE)), "Same files as 1a2b3c4: 2 suites passed there"),
        (s.gate(of_group(HERE, s.UNIT), runs=(s.other("npu-unit", PASSED),)), "2 suites passed"),
        (s.gate(of_group(HERE), runs=(PASSED,)), "multinode-ppo passed"),
    ],
)
def test_what_passed_on_the_same_files_is_green(view: GateView, title: str) -> None:
    assert gate_state(view) == GREEN
    assert gate_check(view, s.CTX, s.NOW).title == title


def test_a_suite_that_passed_elsewhere_names_the_commit() -> None:
    view = s.gate(of_group(HERE, s.UNIT))
    check = gate_check(view, s.CTX, s.NOW)
    assert "passed on `1a2b3c4`, which has the same files" in check.summary
    assert check.title == "Starting: npu-unit, 1 passed"


def test_what_runs_here_counts_before_what_passed_elsewhere() -> None:
    assert gate_state(s.gate(of_group(HERE), runs=(FAILED,))) == GateState("completed", "failure")


def test_a_groups_gate_asks_for_no_comment() -> None:
    named = f"rerun --sha {s.SHA[:12]}`."
    for reports, words in ((of_group(s.chosen()), "above."), (s.selection(s.chosen()), named)):
        summary = gate_check(s.gate(reports, runs=(FAILED,)), s.CTX, s.NOW).summary
        line = next(line for line in summary.splitlines() if "Re-run what" in line)
        assert line.endswith(words)


def test_a_group_that_was_given_up_says_so() -> None:
    view = s.gate(of_group(s.chosen()), closed=Message("group_dequeued"))
    check = gate_check(view, s.CTX, s.NOW)
    assert (check.conclusion, check.title) == ("cancelled", "The pull request left the merge queue")
    assert check.summary == (
        "Nothing more runs for this merge group. To merge, add the pull request to the queue again."
    )


def test_what_comes_after_a_groups_end_does_not_change_its_gate() -> None:
    over_at = s.NOW - timedelta(hours=1)
    before = s.done(Outcome.SUCCESS, "passed", created_at=s.NOW - timedelta(hours=2))
    night = s.done(Outcome.FAILURE, "failed", created_at=s.NOW, attempt=2)
    runs = (before, night)
    assert gate_state(s.gate(of_group(s.chosen(), over_at=over_at), runs=runs)) == GREEN
    both = s.gate(of_group(s.chosen(), over_at=over_at), s.selection(s.chosen()), runs=runs)
    assert gate_state(both).conclusion == "failure"


@pytest.mark.parametrize("number", [7013, None])
def test_only_what_runs_for_a_pull_request_names_commands(number: int | None) -> None:
    live = suite_check(s.suite(s.live(number=number)), s.CTX, s.NOW).summary
    failed = suite_check(
        s.suite(s.done(Outcome.FAILURE, "failed", number=number)), s.CTX, s.NOW
    ).summary
    stopped = suite_check(
        s.suite(s.done(Outcome.CANCELLED, "x", number=number)), s.CTX, s.NOW
    ).summary
    named = number is not None
    assert ("/ascend-e2e cancel" in live) == named
    for summary in (failed, stopped):
        assert ("/ascend-e2e rerun" in summary) == named
        assert "Re-run: button above" in summary
