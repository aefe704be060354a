"""What the nightlies need: rows that say when, and rows that say what became of each night."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.planning.plan import AuditEntry, Plan, RunClaimants
from bot.core.planning.schedule import Firing, Schedule, ScheduleChange
from bot.ports.inbox import InboxStore


@dataclass(frozen=True, slots=True)
class RepoSchedules:
    """An active repository, the policy of its default branch as last read, and its times."""

    repo: Repo
    policy: StoredPolicy | None  # None: not known
    schedules: tuple[Schedule, ...]


@dataclass(frozen=True, slots=True)
class SchedulesDue:
    """What should start now: times that have come, and nights that operators asked for."""

    schedules: tuple[tuple[Repo, Schedule], ...] = ()
    asked: tuple[tuple[Repo, Firing], ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleListing:
    """A time with the last nights of its name, newest first, as operators list it."""

    repo: Repo
    schedule: Schedule
    firings: tuple[Firing, ...]


class ScheduleStore(InboxStore, Protocol):
    """Times and nights."""

    async def repos_with_schedules(self) -> tuple[RepoSchedules, ...]:
        """Return every active repository with what says when its nights are."""
        ...

    async def due_poll(self, name: str, now: datetime, *, every_s: float) -> bool:
        """Tell whether this poll is due and, if so, take it: once whatever the replicas."""
        ...

    async def save_schedules(self, change: ScheduleChange) -> None:
        """Write times that are new or changed, and drop those that are gone."""
        ...

    async def put_back(self, seen: Schedule, row: Schedule) -> None:
        """Write an earlier time in place of the one seen."""
        ...

    async def schedules_due(self, now: datetime) -> SchedulesDue:
        """Return what should start now, of repositories that may be called or not."""
        ...

    async def fire(
        self, seen: Schedule, then: datetime, firing: Firing, changes: Plan, now: datetime
    ) -> bool:
        """Move the time on to ``then``, keep the night and start it, in one transaction.

        False: another replica has moved it, or this night was started before: nothing starts.
        """
        ...

    async def fire_asked(self, firing: Firing, changes: Plan, now: datetime) -> bool:
        """Start a night that was asked for; False: another replica has."""
        ...

    async def open_firings(self) -> tuple[tuple[Firing, tuple[RunClaimants, ...]], ...]:
        """Return the nights that are not known to be done, with the runs they want or wanted."""
        ...

    async def settle_firing(self, firing: Firing) -> None:
        """Write that a started night is done."""
        ...


class ScheduleLister(Protocol):
    """What operators do to nights, beside a running service."""

    async def list_schedules(self, *, each: int) -> tuple[ScheduleListing, ...]:
        """Return every time with its last nights, ``each`` at most."""
        ...

    async def ask_firing(self, firing: Firing, entry: AuditEntry) -> None:
        """Ask the service to start a night now."""
        ...

    async def runs_of_firing(self, repo_id: RepoId, source: str) -> tuple[RunClaimants, ...]:
        """Return the runs that a night wants or wanted, oldest first."""
        ...
