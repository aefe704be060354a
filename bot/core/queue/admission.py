"""A waiting run is admitted by the current policy's limits, not by those of its snapshot.

The snapshot fixes what a run does. Slots, pools and limits fix what may run beside it, and runs
share them. So a corrected limit must help the runs that already wait.
"""

from dataclasses import replace

from bot.core.messages import NOTHING, Message
from bot.core.model.snapshot import Snapshot
from bot.core.policy.models import Policy


def limits_now(frozen: Snapshot, policy: Policy) -> Snapshot:
    """Return the snapshot of a waiting run with the limits of the current policy.

    A label or pool that the policy no longer names keeps its old limit. A limit that never applied
    to the run still does not apply.
    """
    runners = {name.lower(): runner for name, runner in policy.runners.items()}
    pool = frozen.pool
    if pool is not None and pool.name in policy.pools:
        pool = replace(pool, npus=policy.pools[pool.name].npus)
    return replace(
        frozen,
        labels=tuple(
            replace(item, slots=runners[name].slots)
            if (name := item.name.lower()) in runners
            else item
            for item in frozen.labels
        ),
        pool=pool,
        limits=policy.limits,
    )


def too_big(frozen: Snapshot) -> Message:
    """Return why the run fits on none of its labels: its pool became smaller. "" if it fits."""
    if frozen.pool is None:
        return NOTHING
    least = frozen.suite.nodes * min(frozen.npus_at(label.name) for label in frozen.labels)
    if least <= frozen.pool.npus:
        return NOTHING
    return Message("waits_pool_small", npus=least, pool=frozen.pool.name, now=frozen.pool.npus)


def fitting(frozen: Snapshot) -> Snapshot:
    """Return the snapshot without the labels on which the run needs more than the whole pool."""
    pool = frozen.pool
    if pool is None:
        return frozen
    labels = (
        item
        for item in frozen.labels
        if frozen.suite.nodes * frozen.npus_at(item.name) <= pool.npus
    )
    return replace(frozen, labels=tuple(labels))
