"""What operators need: runs to look at and to stop, pauses, and the audit."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.pulls import Pull
from bot.core.model.selections import StoredSelection
from bot.core.model.snapshot import Snapshot
from bot.core.planning.plan import AuditEntry
from bot.core.queue.state import Pause
from bot.ports.api import ApiStore
from bot.ports.inbox import Plan
from bot.ports.lease import Lease


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Which decisions to list; ``None`` asks for all."""

    repo: str | None = None  # "owner/name", any case, or the repository's number
    number: int | None = None
    who: str | None = None  # any case
    since: datetime | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Audited:
    """A decision and the name of its repository (``None``: of all, or forgotten)."""

    entry: AuditEntry
    repo: str | None


@dataclass(frozen=True, slots=True)
class Known:
    """What tells which labels and pools there are: stored policies and runs' snapshots."""

    policies: tuple[str, ...]
    snapshots: tuple[Snapshot, ...]


class AuditStore(Protocol):
    """Decisions to list."""

    async def list_audit(self, query: AuditQuery) -> tuple[Audited, ...]:
        """Return decisions, newest first."""
        ...


class OperatorStore(ApiStore, AuditStore, Protocol):
    """Rows that operators read and write beside a running service."""

    async def migrated(self) -> bool:
        """Tell whether the database is reachable and at the newest schema."""
        ...

    async def commit(
        self, changes: Plan, now: datetime, *, done: Lease | None, note: str = ""
    ) -> bool:
        """Write ``changes`` in one transaction; ``done`` None: not from a delivery."""
        ...

    async def pull(self, repo_id: RepoId, number: int) -> Pull | None:
        """Return the pull request as last seen."""
        ...

    async def selections(self, repo_id: RepoId, sha: Sha) -> tuple[StoredSelection, ...]:
        """Return what was chosen at a commit, one a pull request."""
        ...

    async def ids_from(self, start: str, *, limit: int) -> tuple[RunId, ...]:
        """Return the ids of runs that begin so, newest first."""
        ...

    async def check_of(self, run_id: RunId) -> int | None:
        """Return the number of the check run that shows a run; None: not shown yet."""
        ...

    async def known(self) -> Known:
        """Return what tells which labels and pools there are."""
        ...

    async def list_pauses(self, now: datetime) -> tuple[Pause, ...]:
        """Return the pauses in force, oldest first."""
        ...

    async def pause(self, pause: Pause, entry: AuditEntry) -> Pause | None:
        """Write a pause in place of the one on its resource, and return that one.

        Those who wait there are poked: they say so at once.
        """
        ...

    async def resume(self, resource: str, entry: AuditEntry) -> Pause | None:
        """End the pause of a resource and poke those who wait there; None: there was none."""
        ...
