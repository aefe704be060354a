"""What the nightlies need: rows that say when, and rows that say what became of each night."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.planning.plan import AuditEntry, Plan, RunClaimants
from bot.core.planning.schedule import Cron, Night, Schedule
from bot.ports.inbox import InboxStore


@dataclass(frozen=True, slots=True)
class Timed:
    """An active repository, the policy of its default branch as last read, and its times."""

    repo: Repo
    policy: StoredPolicy | None  # None: not known
    crons: tuple[Cron, ...]


@dataclass(frozen=True, slots=True)
class NightsDue:
    """What should start now: times that have come, and nights that operators asked for."""

    crons: tuple[tuple[Repo, Cron], ...] = ()
    asked: tuple[tuple[Repo, Night], ...] = ()


@dataclass(frozen=True, slots=True)
class ScheduleListing:
    """A time with the last nights of its name, newest first, as operators list it."""

    repo: Repo
    cron: Cron
    nights: tuple[Night, ...]


class NightStore(InboxStore, Protocol):
    """Times and nights."""

    async def timed_repos(self) -> tuple[Timed, ...]:
        """Return every active repository with what says when its nights are."""
        ...

    async def due_poll(self, name: str, now: datetime, *, every_s: float) -> bool:
        """Tell whether this poll is due and, if so, take it: once whatever the replicas."""
        ...

    async def save_schedule(self, schedule: Schedule) -> None:
        """Write times that are new or changed, and drop those that are gone."""
        ...

    async def put_back(self, seen: Cron, row: Cron) -> None:
        """Write an earlier time in place of the one seen."""
        ...

    async def nights_due(self, now: datetime) -> NightsDue:
        """Return what should start now, of repositories that may be called or not."""
        ...

    async def fire(
        self, seen: Cron, then: datetime, night: Night, changes: Plan, now: datetime
    ) -> bool:
        """Move the time on to ``then``, keep the night and start it, in one transaction.

        False: another replica has moved it, or this night was started before: nothing starts.
        """
        ...

    async def fire_asked(self, night: Night, changes: Plan, now: datetime) -> bool:
        """Start a night that was asked for; False: another replica has."""
        ...

    async def open_nights(self) -> tuple[tuple[Night, tuple[RunClaimants, ...]], ...]:
        """Return the nights that are not known to be done, with the runs they want or wanted."""
        ...

    async def settle_night(self, night: Night) -> None:
        """Write that a started night is done."""
        ...


class NightLister(Protocol):
    """What operators do to nights, beside a running service."""

    async def list_nights(self, *, each: int) -> tuple[ScheduleListing, ...]:
        """Return every time with its last nights, ``each`` at most."""
        ...

    async def ask_night(self, night: Night, entry: AuditEntry) -> None:
        """Ask the service to start a night now."""
        ...

    async def runs_of_night(self, repo_id: RepoId, source: str) -> tuple[RunClaimants, ...]:
        """Return the runs that a night wants or wanted, oldest first."""
        ...
