"""What the sweeper needs: who is owed a look, and what can go."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.core.model.ids import RepoId
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.runs import Run
from bot.core.runs.offline import OfflineLabel
from bot.ports.inbox import InboxStore


@dataclass(frozen=True, slots=True)
class Health:
    """Counts for /metrics and /api/v1/health."""

    deliveries_waiting: int
    deliveries_parked: int
    oldest_delivery_s: float | None
    runs_by_state: dict[str, int]
    checks_behind: int
    checks_given_up: int
    last_delivery_at: datetime | None
    offline: tuple[tuple[RepoId, OfflineLabel], ...] = ()  # labels that look so, by repository


class SweeperStore(InboxStore, Protocol):
    """Lists for the safety nets; its findings go in by ``commit``, like everybody's."""

    async def live_repos(self) -> tuple[Repo, ...]:
        """Return active repositories with an open run that was dispatched."""
        ...

    async def active_repos(self) -> tuple[Repo, ...]:
        """Return all active repositories."""
        ...

    async def live_runs(self, repo_id: RepoId) -> tuple[Run, ...]:
        """Return its open runs that were dispatched."""
        ...

    async def native_runs(self) -> tuple[tuple[Repo, tuple[Run, ...]], ...]:
        """Return the open runs that GitHub starts by itself, by active repository."""
        ...

    async def open_pulls(self, repo_id: RepoId) -> tuple[Pull, ...]:
        """Return the pull requests believed open."""
        ...

    async def known_guids(self, guids: tuple[str, ...]) -> frozenset[str]:
        """Return those of the deliveries that are stored."""
        ...

    async def prune(self, before: datetime, *, limit: int) -> int:
        """Delete done deliveries, and runs with their rows, older than ``before``."""
        ...

    async def prune_audit(self, before: datetime, *, limit: int) -> int:
        """Delete decisions older than ``before``, ``limit`` at most; return how many."""
        ...

    async def prune_tokens(self, now: datetime) -> None:
        """Forget OIDC tokens that nobody takes any more."""
        ...

    async def prune_jobs(self, now: datetime) -> None:
        """Forget jobs of which nothing was heard for two days."""
        ...

    async def prune_firings(self, before: datetime) -> None:
        """Forget nights that are older, but for those that go on."""
        ...

    async def health(self, now: datetime) -> Health:
        """Count."""
        ...

    async def due_poll(self, name: str, now: datetime, *, every_s: float) -> bool:
        """Tell whether this poll is due and, if so, take it: once whatever the replicas."""
        ...

    async def migrated(self) -> bool:
        """Tell whether the database is reachable and at the newest schema."""
        ...

    async def clock_skew_s(self, now: datetime) -> float:
        """Return database time minus ``now``, in seconds (0 for SQLite)."""
        ...
