"""Merge groups and pushes: what runs on their commits, what is taken over, what is dropped."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from bot.core.messages import quote
from bot.core.model.ids import RunId, Sha
from bot.core.model.runs import Claimant, Outcome, Rank, Run, State
from bot.core.model.selections import MergeGroup, SelectionDetails, StoredSelection
from bot.core.planning.attempts import AttemptMaker, Claim, PolicyAt
from bot.core.planning.commits import (
    UNLISTED,
    Commit,
    rerun_candidates,
    rerun_request,
    select_unlisted,
    suites_to_rerun,
)
from bot.core.planning.merge_group import (
    NOTHING_REUSED,
    Group,
    Reused,
    end_group,
    group_origin,
    group_source,
    needed_suites,
    plan_group,
    pull_of,
    suites_passed,
    waiting_group,
)
from bot.core.planning.plan import RunClaimants
from bot.core.planning.push import (
    left_behind,
    may_start_by_push,
    plan_push,
    push_source,
    selected_by_push,
)
from bot.core.policy.levels import Level
from bot.core.policy.models import Policy, Trigger
from bot.core.policy.selection import ChangedFile, Selection, select
from tests.accounts import account
from tests.core.building import OLD_SHA, REPO, SHA, T0, with_changes
from tests.core.policies import loaded

POLICY = """
version: 1
runners: {npu-8: {npus: 8}, npu-16: {npus: 16}}
suites:
  unit: {workflow: a.yml, runners: [npu-8, npu-16], paths: ["src/**"]}
  extra: {workflow: a.yml, runners: [npu-8], paths: ["src/**"], required: false}
  big: {workflow: a.yml, runners: [npu-16], paths: ["src/**"], tier: heavy}
  must: {workflow: a.yml, runners: [npu-16], paths: ["src/**"], tier: heavy, required: true}
  own: {workflow: b.yml, runners: [npu-8], paths: ["src/**"], start: native}
  docs: {workflow: a.yml, runners: [npu-8], paths: ["docs/**"]}
  pushed: {workflow: a.yml, runners: [npu-8], paths: ["src/**"], triggers: [push]}
  always: {workflow: a.yml, runners: [npu-8], triggers: [push]}
"""
FILES = (ChangedFile("src/a.py"),)
NEEDED = ["unit", "extra", "must"]


def maker() -> AttemptMaker:
    numbers = count(1)
    return AttemptMaker(T0, lambda: f"NEW{next(numbers)}")


def a_commit(text: str = POLICY, sha: Sha = SHA, source: str = "") -> Commit:
    at = PolicyAt(loaded(text), "main", "b" * 40)
    group = source or group_source(sha)
    return Commit(REPO, sha, at, group, Rank.GROUP, group_origin(7))


def a_group(text: str = POLICY) -> Group:
    commit = a_commit(text)
    return Group(commit, 7, select(commit.at.policy, FILES), 1)


def attempt(group: Group, suite: str, **changes: Any) -> RunClaimants:
    """Return an ended green attempt of a suite as the group's policy has it."""
    frozen = group.commit.freeze(suite, quote("for a reason of its own"))
    frozen = with_changes(frozen, **changes.pop("frozen", {}), runs_per_pr=1)
    made = Run(
        id=RunId(f"OLD-{suite}-{changes.get('attempt', 1)}"),
        repo_id=REPO,
        sha=OLD_SHA,
        suite=suite,
        attempt=1,
        snapshot=frozen,
        created_at=T0,
        state=State.DONE,
        outcome=Outcome.SUCCESS,
        label=frozen.labels[0].name,
    )
    run = replace(made, **changes)
    return RunClaimants(run, (Claimant(run.id, group_source(SHA)), Claimant(run.id, "pr:7")))


@pytest.mark.parametrize(
    ("ref", "number"),
    [
        (f"refs/heads/gh-readonly-queue/main/pr-12-{SHA}", 12),
        ("gh-readonly-queue/release/v1/pr-3-abc", 3),
        ("refs/heads/gh-readonly-queue/main/batch-12", None),
        ("refs/heads/mine/gh-readonly-queue/main/pr-1-abc", None),
        ("", None),
    ],
)
def test_a_groups_branch_names_its_pull_request(ref: str, number: int | None) -> None:
    assert pull_of(ref) == number
    assert group_origin(number) == (f"the merge group of #{number}" if number else "a merge group")


def test_a_group_needs_what_starts_by_itself_and_whatever_its_gate_requires() -> None:
    assert [choice.suite for choice in needed_suites(a_group())] == NEEDED


def test_a_group_starts_its_suites_before_all_others_and_names_no_pull_request() -> None:
    group = a_group()
    changes = plan_group(group, (), NOTHING_REUSED, maker())
    runs = [run for run, _ in changes.new_runs]
    assert [run.suite for run in runs] == NEEDED
    assert {(run.number, run.origin, run.attempt) for run in runs} == {
        (None, "the merge group of #7", 1)
    }
    claimants = {claimant for _, claimants in changes.new_runs for claimant in claimants}
    assert {(claimant.source, claimant.rank, claimant.auto) for claimant in claimants} == {
        (f"group:{SHA}", Rank.GROUP, True)
    }
    (gate,) = changes.gates
    assert (gate.sha, gate.number, gate.name) == (SHA, 0, "ascend-ci")


def test_the_row_of_a_group_holds_all_that_its_gate_says() -> None:
    reused = Reused(OLD_SHA, frozenset({"unit"}))
    row = plan_group(a_group(), (), reused, maker()).selection
    assert row is not None
    assert (row.number, row.policy_sha) == (0, "b" * 40)
    data = row.data
    assert (data.trusted, data.changed_files, data.group) == (True, 1, MergeGroup(7))
    suites = {item.choice.suite: item for item in data.suites}
    selected = {name: item for name, item in suites.items() if item.choice.selected}
    assert [name for name, item in suites.items() if item.auto] == [
        *NEEDED,
        "docs",
        "pushed",
        "always",
    ]
    assert [name for name, item in selected.items() if item.required] == ["unit", "must"]
    assert {name: item.passed_at for name, item in selected.items()} == {
        "unit": OLD_SHA,
        "extra": None,
        "big": None,
        "must": None,
        "own": None,
    }


def test_what_is_taken_over_does_not_run_again() -> None:
    reused = Reused(OLD_SHA, frozenset({"unit", "must"}))
    changes = plan_group(a_group(), (), reused, maker())
    assert [run.suite for run, _ in changes.new_runs] == ["extra"]


def test_a_request_that_comes_twice_starts_only_what_was_dropped_meanwhile() -> None:
    group = a_group()
    there = (
        attempt(group, "unit", sha=SHA, state=State.RUNNING, outcome=None),
        attempt(group, "extra", sha=SHA, outcome=Outcome.SUPERSEDED),
        attempt(group, "must", sha=SHA, outcome=Outcome.FAILURE),
    )
    changes = plan_group(group, there, NOTHING_REUSED, maker())
    assert [(run.suite, run.attempt) for run, _ in changes.new_runs] == [("extra", 2)]
    assert [claimant.run_id for claimant in changes.add_claimants] == [there[0].run.id]


def test_a_dry_run_starts_nothing_for_a_group() -> None:
    changes = plan_group(a_group(f"{POLICY}mode: dry_run\n"), (), NOTHING_REUSED, maker())
    assert (changes.new_runs, changes.selection is not None) == ((), True)


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({}, True),
        ({"label": "npu-16"}, True),
        ({"frozen": {"required": True, "policy_sha": "c" * 40}}, True),
        ({"label": "npu-4"}, False),
        ({"outcome": Outcome.FAILURE}, False),
        ({"state": State.RUNNING, "outcome": None}, False),
        ({"frozen": {"workflow": "other.yml"}}, False),
        ({"frozen": {"altered": ("script=x",)}}, False),
        ({"frozen": {"policy_ref": "weak"}}, False),  # another policy may judge it otherwise
        ({"outcome": Outcome.SUPERSEDED}, False),
    ],
)
def test_only_the_same_work_that_passed_is_taken_over(
    changes: dict[str, Any], counts: bool
) -> None:
    group = a_group()
    assert suites_passed(group, (attempt(group, "unit", **changes),)) == (
        {"unit"} if counts else set()
    )


def test_the_latest_attempt_that_counts_decides_what_is_taken_over() -> None:
    group = a_group()
    green = attempt(group, "unit")
    red = attempt(group, "unit", attempt=2, outcome=Outcome.FAILURE)
    gone = attempt(group, "unit", attempt=2, outcome=Outcome.SUPERSEDED)
    by_hand = attempt(group, "unit", attempt=2, frozen={"altered": ("script=x",)})
    assert suites_passed(group, (red, green)) == set()
    assert suites_passed(group, (by_hand, green)) == {"unit"}
    assert suites_passed(group, (gone, green)) == {"unit"}


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("merged", "the merge group was merged"),
        ("dequeued", "the pull request left the merge queue"),
        ("", "the merge queue gave this group up"),
    ],
)
def test_the_end_of_a_group_drops_its_wants_and_no_others(reason: str, why: str) -> None:
    group = a_group()
    row = plan_group(group, (), NOTHING_REUSED, maker()).selection
    assert row is not None
    item = attempt(group, "unit", sha=SHA)
    other = RunClaimants(item.run, (Claimant(item.run.id, "pr:7"),))
    changes = end_group(row, (item, other), reason, T0)
    assert [(drop.source, drop.reason) for drop in changes.drop_claimants] == [
        (f"group:{SHA}", why)
    ]
    (gate,) = changes.gates
    assert (gate.closed, gate.name) == (why, "")
    assert changes.selection is not None
    assert (row.is_over, changes.selection.is_over) == (False, True)
    assert waiting_group((row,)) is row
    assert (
        waiting_group((changes.selection, StoredSelection(REPO, SHA, 7, "p", SelectionDetails())))
        is None
    )


def test_a_change_that_no_comparison_lists_selects_all_suites_with_paths() -> None:
    found = select_unlisted(loaded(POLICY), Trigger.PUSH)
    reasons = {choice.suite: choice.reason for choice in found.choices if choice.selected}
    assert reasons == {
        "pushed": UNLISTED,
        "always": "it has no `paths`, so every push starts it",
    }


def pushed(policy: Policy) -> Selection:
    return select(policy, FILES, trigger=Trigger.PUSH)


def test_a_push_runs_what_it_selects_unless_it_counted_on_this_commit_before() -> None:
    group = a_group()
    commit = replace(group.commit, source=push_source("main"), rank=Rank.AUTOMATIC)
    reasons = selected_by_push(commit, pushed(commit.at.policy))
    assert list(reasons) == ["pushed", "always"]
    there = (
        attempt(group, "pushed", sha=SHA),
        attempt(group, "always", sha=SHA, outcome=Outcome.CANCELLED),
    )
    changes = plan_push(commit, reasons, there, maker())
    assert [(run.suite, run.attempt) for run, _ in changes.new_runs] == [("always", 2)]


def test_a_dry_run_selects_nothing_for_a_push() -> None:
    commit = a_commit(f"{POLICY}mode: dry_run\n")
    assert selected_by_push(commit, pushed(commit.at.policy)) == {}


def test_a_later_push_and_the_end_of_a_branch_leave_the_older_runs_behind() -> None:
    run = attempt(a_group(), "unit").run
    item = RunClaimants(run, (Claimant(run.id, "push:main"), Claimant(run.id, "pr:7")))
    told = [
        [(drop.source, drop.reason) for drop in left_behind((item,), "main", sha)]
        for sha in (SHA, OLD_SHA, None)
    ]
    assert told == [
        [("push:main", f"superseded by {SHA[:7]}")],
        [],
        [("push:main", "the branch main is gone")],
    ]


def test_what_runs_for_others_than_a_pull_request_may_be_run_again() -> None:
    run = attempt(a_group(), "unit", outcome=Outcome.FAILURE).run
    green = attempt(a_group(), "extra").run
    mine = attempt(a_group(), "must").run
    open_one = attempt(a_group(), "docs", state=State.QUEUED, outcome=None).run
    runs = (
        RunClaimants(
            run, (Claimant(run.id, f"group:{SHA}", rank=Rank.GROUP), Claimant(run.id, "pr:7"))
        ),
        RunClaimants(green, (Claimant(green.id, "nightly:a@b", rank=Rank.NIGHTLY),)),
        RunClaimants(mine, (Claimant(mine.id, "pin:4"),)),
        RunClaimants(open_one, (Claimant(open_one.id, "push:main"),)),
    )
    known = rerun_candidates(runs, group=True)
    assert list(known) == ["unit", "extra", "docs"]
    assert list(rerun_candidates(runs, group=False)) == ["extra", "docs"]
    assert suites_to_rerun(known, None) == ["unit"]
    assert suites_to_rerun(known, green) == ["extra"]
    assert suites_to_rerun(known, open_one) == []
    request = rerun_request(known["unit"], account("ann"))
    assert (request.before, request.continues, request.snapshot) == (run, run, run.snapshot)
    assert request.claims == (
        Claim(f"group:{SHA}", auto=False, by=account("ann"), rank=Rank.GROUP),
    )
    assert rerun_request(known["extra"], account("ann")).claims[0].rank is Rank.APPROVED


@pytest.mark.parametrize(
    ("trust", "level", "suites"),
    [
        ("{}", Level.WRITE, ["unit", "big"]),
        ("{}", Level.TRIAGE, []),
        ("{heavy: maintain}", Level.WRITE, ["unit"]),
        ("{auto: maintain}", Level.WRITE, []),
        ("{auto: maintain, heavy: admin}", Level.MAINTAIN, ["unit"]),
    ],
)
def test_a_push_to_an_unprotected_branch_starts_what_its_pusher_may_start(
    trust: str, level: Level, suites: list[str]
) -> None:
    policy = loaded(f"{POLICY}trust: {trust}\n")
    names = ("unit", "big")
    assert [name for name in names if may_start_by_push(policy, name, level)] == suites
