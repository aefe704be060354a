"""By what a waiting run is let in: what is scarce is the policy's word of now, not of then.

A run's snapshot fixes what it does. Slots, pools and limits say what may run beside it, and are
shared with runs of other ages: a limit that was put right must not bar for a day who waits.
"""

from dataclasses import replace

from bot.core.model.snapshot import Snapshot
from bot.core.policy import Policy


def limits_now(frozen: Snapshot, policy: Policy) -> Snapshot:
    """Return a waiting run's snapshot with what is scarce as the policy has it now.

    What the policy no longer names stays as it was; so does a limit that never held for the run.
    """
    runners, pool = policy.runners, frozen.pool
    if pool is not None and pool.name in policy.pools:
        pool = replace(pool, npus=policy.pools[pool.name].npus)
    limits = policy.limits
    return replace(
        frozen,
        labels=tuple(
            replace(item, slots=runners[item.name].slots) if item.name in runners else item
            for item in frozen.labels
        ),
        pool=pool,
        per_pull=None if frozen.per_pull is None else limits.runs_per_pr,
        hours_per_day=None if frozen.hours_per_day is None else limits.npu_hours_per_day,
    )


def too_big(frozen: Snapshot) -> str:
    """Say why a run fits on none of its labels, "" when it does: its pool was made smaller."""
    if frozen.pool is None:
        return ""
    least = frozen.nodes * min(frozen.npus_at(label.name) for label in frozen.labels)
    if least <= frozen.pool.npus:
        return ""
    return f"it needs {least} NPUs of {frozen.pool.name}, which has only {frozen.pool.npus} now"


def fitting(frozen: Snapshot) -> Snapshot:
    """Return the snapshot without the labels on which the run needs more than its pool has."""
    pool = frozen.pool
    if pool is None:
        return frozen
    labels = (
        item for item in frozen.labels if frozen.nodes * frozen.npus_at(item.name) <= pool.npus
    )
    return replace(frozen, labels=tuple(labels))
