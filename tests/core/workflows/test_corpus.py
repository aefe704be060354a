"""The filters of a real project's workflows, carried over, select what GitHub selects."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.core.policy.models import Start
from bot.core.policy.selection import ChangedFile, select
from bot.core.workflows import SourceFile, Transfer, transfer
from tests.core.workflows.transfers import FOLDER, policy_of

CASES = Path(__file__).parents[3] / "../shared/cases/matching"

pytestmark = pytest.mark.skipif(
    not CASES.is_dir() and not os.environ.get("CI"), reason="the cases lie beside the project"
)


def workflow_of(suite: dict[str, Any]) -> str:
    """Return a workflow with a suite's filters, and a job for each of its labels."""
    jobs = {
        f"job_{number}": {"runs-on": label, "timeout-minutes": 60, "steps": [{"run": "true"}]}
        for number, label in enumerate(suite["runners"])
    }
    filters = {"branches": ["main", "v0.*"], "paths": suite["paths"]}
    return yaml.safe_dump({"on": {"pull_request": filters}, "jobs": jobs})


@pytest.fixture(scope="module")
def result() -> Transfer:
    suites = json.loads((CASES / "suites.json").read_text())
    return transfer(
        SourceFile(FOLDER + suite["workflow"], workflow_of(suite).encode())
        for suite in suites.values()
    )


def test_each_workflow_becomes_its_suite(result: Transfer) -> None:
    suites = json.loads((CASES / "suites.json").read_text())
    carried = policy_of(result).suites
    assert set(carried) == set(suites)
    for name, suite in suites.items():
        assert carried[name].start is Start.NATIVE
        assert list(carried[name].runners) == suite["runners"]


def test_the_carried_policy_selects_for_each_commit_what_github_does(result: Transfer) -> None:
    policy = policy_of(result)
    commits = [json.loads(line) for line in (CASES / "commits.jsonl").read_text().splitlines()]
    assert len(commits) == 100
    for commit in commits:
        files = [ChangedFile(path) for path in commit["files"]]
        assert set(select(policy, files).selected) == set(commit["selected"]), commit["commit"]
