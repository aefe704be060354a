"""Defaults, and what follows from several keys together."""

import pytest
from pydantic import ValidationError

from bot.core.policy.levels import Level
from bot.core.policy.models import Mode, Policy, Start, Tier, Trigger
from tests.core.policies import BASE, loaded, with_suite


def test_everything_but_the_named_keys_has_a_default() -> None:
    policy = loaded("version: 1\nrunners: {a: {}}\nsuites: {s: {workflow: a.yml, runners: [a]}}\n")
    suite = policy.suites["s"]
    assert (policy.mode, policy.branches, policy.dispatch_ref, policy.drafts) == (
        Mode.ON,
        (),
        None,
        False,
    )
    assert (suite.start, suite.nodes, suite.npus, suite.pool) == (Start.DISPATCH, 1, None, None)
    assert (suite.tier, suite.rayjob, suite.paths) == (Tier.STANDARD, False, ())
    assert suite.triggers == (Trigger.PULL_REQUEST, Trigger.COMMAND)
    assert (suite.timeout_minutes, suite.stall_minutes, suite.min_minutes) == (240, 45, 0)
    assert suite.infra_retries == 1
    trust = policy.trust
    assert (trust.auto, trust.standard, trust.heavy, trust.approve) == (
        Level.WRITE,
        Level.TRIAGE,
        Level.WRITE,
        Level.WRITE,
    )
    assert policy.limits.model_dump() == {
        "debounce_seconds": 60,
        "runs_per_pr": 4,
        "npu_hours_per_day": 2000,
        "commands_per_minute": 10,
    }
    assert policy.gate.name == "ascend-ci"
    assert policy.report.model_dump() == {"comment": "on_failure", "language": "en"}


def test_a_policy_is_never_changed_once_read() -> None:
    policy = loaded(BASE)
    with pytest.raises(ValidationError, match="frozen"):
        policy.drafts = True  # type: ignore[misc]  # what the test is about


def test_a_suite_takes_its_own_npus_or_the_labels() -> None:
    policy = loaded(BASE)
    suite = policy.suites["unit"]
    assert (suite.npus_on("npu-8", policy), suite.npus_on("npu-16", policy)) == (8, 16)
    own = loaded(with_suite("npus: 4"))
    assert own.suites["unit"].npus_on("npu-16", own) == 4


def test_the_cost_at_most_is_nodes_times_npus_times_the_limit() -> None:
    policy = loaded(with_suite("npus: 4", "nodes: 2", "timeout_minutes: 90"))
    assert policy.suites["unit"].npu_hours_on("npu-8", policy) == 12.0


@pytest.mark.parametrize(
    ("lines", "required"),
    [
        ([], False),
        (["paths: [a]"], True),
        (["paths: [a]", "tier: heavy"], False),
        (["paths: [a]", "triggers: [command]"], False),
        (["paths: [a]", "required: false"], False),
        (["required: true", "tier: heavy"], True),
    ],
)
def test_the_gate_counts_standard_suites_selected_by_paths(
    lines: list[str], required: bool
) -> None:
    suite = loaded(with_suite(*lines)).suites["unit"]
    assert suite.is_required is required


def test_a_policy_survives_a_round_trip_through_plain_values() -> None:
    policy = loaded(with_suite("paths: [a]"))
    assert Policy.model_validate(policy.model_dump(mode="json", by_alias=True)) == policy
