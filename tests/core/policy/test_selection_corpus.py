"""Real commits of a real project, and what its workflows' own filters select."""

import json
import os
from pathlib import Path

import pytest

from bot.core.policy.loading import load_policy
from bot.core.policy.models import Policy, Start
from bot.core.policy.selection import ChangedFile, select

CONFIG = Path(__file__).parents[3] / "config" / "policy.yml"
CASES = Path(__file__).parents[3] / "../shared/cases/matching"

pytestmark = pytest.mark.skipif(
    not CASES.is_dir() and not os.environ.get("CI"), reason="the cases lie beside the project"
)


def corpus_policy() -> Policy:
    suites = json.loads((CASES / "suites.json").read_text())
    labels = sorted({label for suite in suites.values() for label in suite["runners"]})
    return Policy.model_validate(
        {"version": 1, "runners": {label: {"npus": 8} for label in labels}, "suites": suites}
    )


def test_the_shipped_policy_has_the_filters_of_the_workflows_unchanged() -> None:
    policy = load_policy(CONFIG.read_bytes())
    assert isinstance(policy, Policy)
    native = {
        key: {
            "paths": list(suite.paths),
            "workflow": suite.workflow,
            "runners": list(suite.runners),
        }
        for key, suite in policy.suites.items()
        if suite.start is Start.NATIVE
    }
    assert native == json.loads((CASES / "suites.json").read_text())


def test_every_pair_of_commit_and_suite_is_judged_as_github_does() -> None:
    policy = corpus_policy()
    pairs, wrong = 0, []
    for line in (CASES / "commits.jsonl").read_text().splitlines():
        commit = json.loads(line)
        selection = select(policy, [ChangedFile(path) for path in commit["files"]])
        for choice in selection.choices:
            pairs += 1
            if choice.selected is not (choice.suite in commit["selected"]):
                wrong.append((commit["commit"], choice.suite, choice.reason))
    assert wrong == []
    assert pairs == 1300
