"""What is scarce for a waiting run is what the policy says now; its work stays."""

from dataclasses import replace

import pytest

from bot.core.model.queue import label_resource
from bot.core.model.snapshot import Label, SnapshotPool
from bot.core.policy.loading import load_policy
from bot.core.policy.models import Policy
from bot.core.queue.admission import fitting, limits_now, too_big
from tests.core.building import a_snapshot

THEN = a_snapshot(
    labels=(Label("a3", 8, 2), Label("gone", 4, 3)),
    nodes=2,
    pool=SnapshotPool("cluster", 32),
    npu_hours_per_day=100.0,
)


def policy(pools: str = "{cluster: {npus: 8}}") -> Policy:
    """Return today's policy."""
    found = load_policy(
        f"""
version: 1
runners: {{A3: {{npus: 4, slots: 1}}}}
pools: {pools}
limits: {{runs_per_pr: 1, npu_hours_per_day: 2000}}
""".encode()
    )
    assert isinstance(found, Policy), found
    return found


def test_slots_pools_and_limits_are_todays_and_the_work_is_of_then() -> None:
    now = limits_now(THEN, policy())
    assert now.labels == (Label("a3", 8, 1), Label("gone", 4, 3))
    assert now.pool == SnapshotPool("cluster", 8)
    assert (now.limits.runs_per_pr, now.limits.npu_hours_per_day) == (1, 2000)
    assert replace(now, labels=THEN.labels, pool=THEN.pool, limits=THEN.limits) == THEN


def test_a_pool_that_is_gone_stays_and_none_comes_to_a_run_without() -> None:
    assert limits_now(THEN, policy("{}")).pool == THEN.pool
    assert limits_now(replace(THEN, pool=None), policy()).pool is None


@pytest.mark.parametrize(
    ("npus", "why", "left"),
    [
        (16, "", ["a3", "gone"]),
        (8, "", ["gone"]),
        (7, "it needs 8 NPUs, and cluster has only 7 in all", []),
    ],
)
def test_a_pool_made_smaller_leaves_the_labels_that_fit(
    npus: int, why: str, left: list[str]
) -> None:
    now = replace(THEN, pool=SnapshotPool("cluster", npus))
    assert too_big(now) == why
    assert [label.name for label in fitting(now).labels] == left


def test_without_a_pool_all_labels_fit() -> None:
    alone = replace(THEN, pool=None)
    assert (too_big(alone), fitting(alone)) == ("", alone)


def test_a_label_is_one_resource_however_its_letters_are_written() -> None:
    assert label_resource("NPU-A2") == label_resource("npu-a2")
