"""What is scarce for a waiting run is what the policy says now; its work stays."""

from dataclasses import replace

import pytest

from bot.core.model.snapshot import Label, Pool, Snapshot
from bot.core.policy import Policy, load_policy
from bot.core.policy.admission import fitting, limits_now, too_big

THEN = Snapshot(
    suite="two",
    title="two",
    workflow="two.yml",
    ref="main",
    labels=(Label("a3", 8, 2), Label("gone", 4, 3)),
    policy_ref="main",
    policy_sha="1",
    nodes=2,
    pool=Pool("cluster", 32),
    timeout_minutes=60,
    per_pull=4,
    hours_per_day=100.0,
)


def policy(pools: str = "{cluster: {npus: 8}}") -> Policy:
    """Return today's policy."""
    found = load_policy(
        f"""
version: 1
runners: {{a3: {{npus: 4, slots: 1}}}}
pools: {pools}
limits: {{runs_per_pr: 1, npu_hours_per_day: 2000}}
""".encode()
    )
    assert isinstance(found, Policy), found
    return found


def test_slots_pools_and_limits_are_todays_and_the_work_is_of_then() -> None:
    now = limits_now(THEN, policy())
    assert now.labels == (Label("a3", 8, 1), Label("gone", 4, 3))
    assert now.pool == Pool("cluster", 8)
    assert (now.per_pull, now.hours_per_day) == (1, 2000)
    kept = {"labels": (), "pool": None, "per_pull": None, "hours_per_day": None}
    assert replace(now, **kept) == replace(THEN, **kept)  # type: ignore[arg-type]


def test_what_is_gone_or_never_held_stays() -> None:
    assert limits_now(THEN, policy("{}")).pool == THEN.pool
    free = replace(THEN, pool=None, per_pull=None, hours_per_day=None)
    now = limits_now(free, policy())
    assert (now.pool, now.per_pull, now.hours_per_day) == (None, None, None)


@pytest.mark.parametrize(
    ("npus", "why", "left"),
    [
        (16, "", ["a3", "gone"]),
        (8, "", ["gone"]),
        (7, "it needs 8 NPUs of cluster, which has only 7 now", []),
    ],
)
def test_a_pool_made_smaller_leaves_the_labels_that_fit(
    npus: int, why: str, left: list[str]
) -> None:
    now = replace(THEN, pool=Pool("cluster", npus))
    assert too_big(now) == why
    assert [label.name for label in fitting(now).labels] == left


def test_without_a_pool_all_labels_fit() -> None:
    alone = replace(THEN, pool=None)
    assert (too_big(alone), fitting(alone)) == ("", alone)
