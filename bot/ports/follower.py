"""What the follower needs: RayJobs to read under a lease of their own."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Run
from bot.ports.lease import Lease


@dataclass(frozen=True, slots=True)
class ClaimedRayJob:
    """A RayJob under our lease, and the run it belongs to."""

    lease: Lease
    rayjob: RayJob
    run: Run


@dataclass(frozen=True, slots=True)
class SaveRayJob:
    """A RayJob's next row."""

    rayjob: RayJob
    run_events: tuple[RunEvent, ...] = ()
    poke: bool = False  # make the run due
    progress: bool = False  # bump its check run, shown when its interval allows
    keep_s: float | None = None  # prolong the lease by so much; None: give it back until due
    due: datetime | None = None  # None with keep_s None: nothing more to do


class FollowerStore(Protocol):
    """RayJob rows; those of a done run are never claimed."""

    async def claim_rayjobs(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[ClaimedRayJob, ...]:
        """Claim due RayJobs that are not complete and whose run is not done."""
        ...

    async def save_rayjob(self, lease: Lease, save: SaveRayJob, now: datetime) -> bool:
        """Write it, fenced; False: the lease was lost or the run is done: stop reading."""
        ...
