"""What the follower needs: RayJobs to read under a lease of their own."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.core.model import Fact, RayJob, Run
from bot.ports.lease import Lease


@dataclass(frozen=True, slots=True)
class ClaimedRayJob:
    """A RayJob under our lease, and the run it belongs to."""

    lease: Lease
    rayjob: RayJob
    run: Run


class FollowerStore(Protocol):
    """RayJob rows; those of a done run are never claimed."""

    async def claim_rayjobs(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[ClaimedRayJob, ...]:
        """Claim due RayJobs that are not complete and whose run is not done."""
        ...

    async def save_rayjob(
        self,
        lease: Lease,
        rayjob: RayJob,
        now: datetime,
        *,
        facts: tuple[Fact, ...] = (),
        poke: bool = False,
        progress: bool = False,
        keep_s: float | None = None,
        due: datetime | None = None,
    ) -> bool:
        """Write the row, fenced; False: the lease was lost or the run is done: stop reading.

        ``poke`` makes the run due; ``progress`` bumps its check run within its interval;
        ``keep_s`` prolongs the lease by so much, None gives it back until ``due``.
        """
        ...
