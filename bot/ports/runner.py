"""What the runner needs: claimed runs with all that is known of them, holds, fenced saves."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.core.model.ids import RepoId
from bot.core.model.queue import Alternatives
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Claimant, Run
from bot.core.planning.plan import AuditEntry
from bot.core.queue.state import Answer
from bot.core.runs.offline import OfflineLabel
from bot.ports.inbox import Reader
from bot.ports.lease import Lease


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run under our lease with everything its next step depends on."""

    lease: Lease
    run: Run
    claimants: tuple[Claimant, ...]
    run_events: tuple[RunEvent, ...]
    rayjobs: tuple[RayJob, ...]


@dataclass(frozen=True, slots=True)
class SaveRun:
    """A run's next row; the end of a run, its next attempt and its releases go together."""

    run: Run
    due: datetime | None  # None: nothing to do until poked
    run_events: tuple[RunEvent, ...] = ()
    rayjobs: tuple[RayJob, ...] = ()  # seen for the first time; known ones are left alone
    release: tuple[str, ...] = ()  # resources given back
    release_all: bool = False  # every hold and every place in a queue
    retry: Run | None = None  # attempt n + 1, takes over the wants
    audit: tuple[AuditEntry, ...] = ()
    show: bool = False  # the check run and the gate changed
    progress: bool = False  # only the progress changed: shown when its interval allows


class RunnerStore(Reader, Protocol):
    """Runs under a lease; waiting runs hold none."""

    async def claim_runs(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[ClaimedRun, ...]:
        """Claim due runs that are not done."""
        ...

    async def save_run(self, lease: Lease, save: SaveRun, now: datetime) -> bool:
        """Write it and give the lease back, in one transaction; False: the lease was lost.

        A poke that came since the claim keeps the row due now. Releases poke the runs that
        wait for those resources. A done run bumps its check and its gate.
        """
        ...

    async def note(
        self, lease: Lease, run: Run, run_events: tuple[RunEvent, ...], now: datetime
    ) -> bool:
        """Write the run and facts at once and keep the lease (intent first); False: lost."""
        ...

    async def renew(self, lease: Lease, now: datetime, *, lease_s: float) -> bool:
        """Prolong the lease; False: lost."""
        ...

    async def offline_label(
        self, repo_id: RepoId, label: str, waits_since: datetime, now: datetime
    ) -> OfflineLabel | None:
        """Return the label if it looks offline to a run that waits for it since then."""
        ...

    async def take(self, run: Run, needs: Alternatives, now: datetime) -> Answer:
        """Take the first alternative that `core.queueing` gives the run; else queue.

        Taken twice, it is taken once.
        """
        ...
