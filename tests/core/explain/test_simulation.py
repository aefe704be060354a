"""A policy over past commits."""

import json
import os
from pathlib import Path

import pytest

from bot.core.explain.simulation import (
    BadLine,
    CommitDifference,
    PastCommit,
    Simulated,
    SuiteDifference,
    Tally,
    compare,
    read_commits,
    simulate,
    to_json,
)
from bot.core.policy.loading import load_policy
from bot.core.policy.models import Policy, Start
from tests.core.policies import loaded
from tests.core.policy.test_selection_corpus import corpus_policy

CONFIG = Path(__file__).parents[3] / "config" / "policy.yml"
CASES = Path(__file__).parents[3] / "../shared/cases/matching"

TEXT = """\
version: 1
mode: dry_run
runners: {npu-8: {slots: 2}, npu-16: {npus: 16}}
suites:
  unit: {workflow: u.yml, runners: [npu-8], paths: ["src/**"], timeout_minutes: 90}
  own: {workflow: o.yml, runners: [npu-8], nodes: 2, paths: ["**.py"], start: native}
  dear: {workflow: d.yml, runners: [npu-16], paths: ["src/**"], tier: heavy}
"""
POLICY = loaded(TEXT)
COMMITS = (
    PastCommit("a", ("src/a.md",)),
    PastCommit("b", ("src/b.py", "docs/b.md")),
    PastCommit("c", ("docs/c.md",)),
    PastCommit("d", ()),
)


def test_what_starts_by_itself_is_selected_and_what_a_command_starts_is_offered() -> None:
    simulation = simulate(POLICY, COMMITS)
    assert simulation.commits == (
        Simulated("a", ("unit",), ("dear",)),
        Simulated("b", ("unit", "own"), ("dear",)),
        Simulated("c", (), ()),
        Simulated("d", (), ()),
    )
    assert simulation.starting == 2


def test_a_run_costs_its_nodes_and_npus_up_to_its_time_limit() -> None:
    simulation = simulate(POLICY, COMMITS)
    assert simulation.suites == (
        Tally("unit", runs=2, minutes=90, npu_hours=2 * 8 * 1.5),
        Tally("own", runs=1, minutes=240, npu_hours=2 * 8 * 4),
        Tally("dear", runs=0, minutes=240, npu_hours=0),
    )
    assert simulation.runs == 3
    assert simulation.npu_hours == 24 + 64


def test_typical_minutes_stand_for_the_time_limit_which_ends_what_takes_longer() -> None:
    simulation = simulate(POLICY, COMMITS, {"unit": 30.0, "own": 300})
    assert [tally.minutes for tally in simulation.suites] == [30, 240, 240]
    assert simulation.npu_hours == 8 + 64


def test_more_files_than_github_lists_select_all_that_have_paths() -> None:
    (item,) = simulate(POLICY, [PastCommit("x", tuple(f"docs/{n}" for n in range(3001)))]).commits
    assert item.selected == ("unit", "own")


def test_two_policies_differ_by_suites_and_by_commits_and_the_rest_is_left_out() -> None:
    text = TEXT.replace("src/**", "docs/**", 1).replace("  own:", "  mine:")
    old, new = simulate(POLICY, COMMITS), simulate(loaded(text), COMMITS)
    difference = compare(old, new)
    assert difference.commits == (
        CommitDifference("a", added=(), removed=("unit",)),
        CommitDifference("b", added=("mine",), removed=("own",)),
        CommitDifference("c", added=("unit",), removed=()),
    )
    assert [item.suite for item in difference.suites] == ["mine", "own"]
    assert difference.suites[1] == SuiteDifference("own", old.suites[1], None)


def test_json_has_the_contracts_keys_and_the_differences_when_asked() -> None:
    old = simulate(POLICY, COMMITS)
    new = simulate(loaded(TEXT.replace("  own:", "  mine:")), COMMITS, {"unit": 7})
    assert json.loads(json.dumps(to_json(old))) == {
        "runs": 3,
        "npu_hours": 88,
        "commits": [
            {"commit": "a", "selected": ["unit"], "offered": ["dear"]},
            {"commit": "b", "selected": ["unit", "own"], "offered": ["dear"]},
            {"commit": "c", "selected": [], "offered": []},
            {"commit": "d", "selected": [], "offered": []},
        ],
        "suites": [
            {"name": "unit", "runs": 2, "minutes": 90, "npu_hours": 24},
            {"name": "own", "runs": 1, "minutes": 240, "npu_hours": 64},
            {"name": "dear", "runs": 0, "minutes": 240, "npu_hours": 0},
        ],
    }
    data = to_json(new, compare(old, new))
    assert data["npu_hours"] == 65.87
    own = {"runs": 1, "minutes": 240, "npu_hours": 64}
    assert json.loads(json.dumps(data["against"])) == {
        "runs": 3,
        "npu_hours": 88,
        "more_runs": 0,
        "more_npu_hours": -22.13,
        "suites": [
            {
                "name": "unit",
                "old": {"runs": 2, "minutes": 90, "npu_hours": 24},
                "new": {"runs": 2, "minutes": 7, "npu_hours": 1.87},
            },
            {"name": "mine", "old": None, "new": own},
            {"name": "own", "old": own, "new": None},
        ],
        "commits": [{"commit": "b", "added": ["mine"], "removed": ["own"]}],
    }


def test_commits_are_json_lines_and_empty_lines_and_other_keys_say_nothing() -> None:
    lines = ['{"commit": "a", "files": ["x"], "selected": []}\n', "\n", '{"files":[],"commit":"b"}']
    assert read_commits(lines) == (PastCommit("a", ("x",)), PastCommit("b", ()))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is no JSON: Expecting"),
        ("[" * 100_000, "is no JSON: "),
        ("[1]", "is not like {"),
        ('{"commit": 1, "files": []}', "is not like {"),
        ('{"commit": "a", "files": "b"}', "is not like {"),
        ('{"commit": "a", "files": ["b", 1]}', "has a file that is no text"),
    ],
)
def test_a_line_that_is_no_commit_is_told_with_its_number(line: str, message: str) -> None:
    bad = read_commits(["", line])
    assert isinstance(bad, BadLine)
    assert bad.line == 2
    assert bad.message.startswith(message)


corpus = pytest.mark.skipif(
    not CASES.is_dir() and not os.environ.get("CI"), reason="the cases lie beside the project"
)


@corpus
def test_real_commits_start_what_the_projects_own_filters_select() -> None:
    text = (CASES / "commits.jsonl").read_text()
    commits = read_commits(text.splitlines())
    assert isinstance(commits, tuple)
    expected = [json.loads(line)["selected"] for line in text.splitlines()]
    simulation = simulate(corpus_policy(), commits)
    assert [list(item.selected) for item in simulation.commits] == expected
    assert simulation.runs == sum(map(len, expected))


@corpus
def test_the_shipped_policy_starts_the_same_of_what_github_starts() -> None:
    policy = load_policy(CONFIG.read_bytes())
    assert isinstance(policy, Policy)
    native = {name for name, suite in policy.suites.items() if suite.start is Start.NATIVE}
    text = (CASES / "commits.jsonl").read_text()
    commits = read_commits(text.splitlines())
    assert isinstance(commits, tuple)
    for item, line in zip(simulate(policy, commits).commits, text.splitlines(), strict=True):
        selected = set(json.loads(line)["selected"])
        assert native.intersection(item.selected) == selected, item.commit
