"""What a snapshot freezes of the policy, and when two of them are the same work."""

import json
from hashlib import sha256
from typing import Any

import pytest

from bot.core.messages import quote
from bot.core.model.own_jobs import OwnJob, WorkflowJob
from bot.core.model.snapshot import SnapshotPool
from bot.core.planning.attempts import freeze
from bot.core.policy.models import OnHiddenFailure, Tier
from tests.core.building import with_changes
from tests.core.planning.heads import AT, POLICY, SAME, with_policy


def test_a_snapshot_freezes_all_that_a_run_needs() -> None:
    frozen = freeze(AT, "two", quote("why"), environment={"two"})
    told = {"on_hidden_failure": OnHiddenFailure.WARN}  # by the policy, for all suites
    suite = POLICY.suites["two"].model_copy(update=told)
    assert (frozen.name, frozen.suite, frozen.ref) == ("two", suite, "main")
    assert (frozen.title, frozen.pool) == ("two", SnapshotPool("cluster", 32))
    assert (frozen.limits, frozen.log) == (POLICY.limits, POLICY.log)
    assert freeze(AT, "big", quote("")).title == "Big one"
    assert [label.name for label in SAME.labels] == ["npu-8", "npu-16"]
    assert SAME.pool is None


def test_the_environment_changed_makes_no_retry() -> None:
    assert SAME.retryable
    assert not freeze(AT, "unit", quote(""), environment={"unit"}).retryable


def test_dispatch_ref_may_be_a_branch_of_its_own() -> None:
    assert freeze(with_policy(dispatch_ref="ci"), "unit", quote("")).ref == "ci"


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"reason": "x", "policy_ref": "x", "policy_sha": "x", "retryable": False}, True),
        ({"runs_per_pr": 1, "npu_hours_per_day": 1.0, "debounce_seconds": 5}, True),
        ({"paths": (), "env_paths": (), "settable": {"a": "*"}, "required": True}, True),
        ({"bases": ("main",)}, True),
        ({"required": False}, False),
        ({"tier": Tier.HEAVY}, False),
        ({"inputs": {"a": "b"}}, False),
        ({"redact": ("other",)}, False),
        ({"altered": ("a=b",)}, False),
        ({"labels": ()}, False),
        ({"own_jobs": (OwnJob(WorkflowJob("a", ("a",))),)}, True),
        ({"jobs": ("a",)}, False),
    ],
)
def test_two_runs_do_the_same_work_whatever_selected_them_and_may_run_beside_them(
    changes: dict[str, Any], same: bool
) -> None:
    assert (with_changes(SAME, **changes).work == SAME.work) == same


@pytest.mark.parametrize(
    ("npus", "label", "expected"),
    [(4, "npu-16", 4), (None, "npu-16", 16), (None, None, 8), (None, "gone", 8)],
)
def test_npus_of_a_node_are_the_suites_own_or_the_labels(
    npus: int | None, label: str | None, expected: int
) -> None:
    assert with_changes(SAME, npus=npus).npus_at(label) == expected


def test_results_from_before_suites_named_jobs_still_count() -> None:
    assert with_changes(SAME, jobs=("a",)).essence != SAME.essence
    assert with_changes(SAME, jobs=()).essence == SAME.essence
    suite = SAME.suite.essence.model_dump(mode="json")
    assert suite.pop("jobs") == []
    text = json.dumps([suite, SAME.ref, SAME.policy_ref], sort_keys=True).encode()
    assert SAME.essence == sha256(text).hexdigest()[:32]
