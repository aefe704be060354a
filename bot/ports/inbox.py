"""What the inbox needs: claimed deliveries, rows to decide on, and one commit for a decision."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bot.core.model import (
    Approval,
    Delivery,
    Fact,
    Head,
    Pull,
    Repo,
    RepoId,
    Run,
    RunId,
    Sha,
    StoredPolicy,
    StoredSelection,
    Want,
    Wish,
)
from bot.core.report import Gate as Gate  # noqa: PLC0414  re-export
from bot.core.report import Reply as Reply  # noqa: PLC0414  re-export
from bot.ports.lease import Lease


@dataclass(frozen=True, slots=True)
class DropWant:
    """Take a want off a run; the last one gone, the run is superseded for ``reason``."""

    run_id: RunId
    source: str
    reason: str  # "superseded by 9f8e7d6", "the pull request was closed"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who did what, allowed or not, by which rule."""

    at: datetime
    who: str
    what: str
    allowed: bool
    rule: str
    repo_id: RepoId | None = None
    number: int | None = None
    sha: Sha | None = None
    delivery: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """All that one delivery (or one sweep) leads to, committed in one transaction.

    New runs are skipped when an open one of that (repository, SHA, suite) exists: their wants
    go to the open one. Their check rows are made in the same transaction. Facts already known
    by (run, source, key) are skipped. Every run touched is poked (due now, pokes + 1), the
    checks of every touched gate are made or bumped.
    """

    repo: Repo | None = None
    pull: Pull | None = None
    head: Head | None = None
    policy: StoredPolicy | None = None
    forget_policy: tuple[RepoId, str] | None = None  # repository, branch
    selection: StoredSelection | None = None
    approval: Approval | None = None
    new_runs: tuple[tuple[Run, tuple[Want, ...]], ...] = ()
    add_wants: tuple[Want, ...] = ()
    drop_wants: tuple[DropWant, ...] = ()
    wishes: tuple[tuple[RunId, Wish], ...] = ()  # the first wish of a run stays
    facts: tuple[Fact, ...] = ()
    gates: tuple[Gate, ...] = ()
    replies: tuple[Reply, ...] = ()
    audit: tuple[AuditEntry, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class RunWants:
    """A run with those who want it."""

    run: Run
    wants: tuple[Want, ...]


class Reader(Protocol):
    """Rows that decisions look at; shared by several loops."""

    async def repo(self, repo_id: RepoId) -> Repo | None:
        """Return the repository as last seen."""
        ...

    async def pull(self, repo_id: RepoId, number: int) -> Pull | None:
        """Return the pull request as last seen."""
        ...

    async def heads(self, repo_id: RepoId, number: int) -> tuple[Head, ...]:
        """Return the commits that were its head, oldest first."""
        ...

    async def pulls_at(self, repo_id: RepoId, sha: Sha) -> tuple[Pull, ...]:
        """Return the open pull requests whose head this is."""
        ...

    async def runs_at(self, repo_id: RepoId, sha: Sha) -> tuple[RunWants, ...]:
        """Return every attempt of every suite at a commit, oldest first."""
        ...

    async def wanted_by(self, repo_id: RepoId, source: str) -> tuple[RunWants, ...]:
        """Return the open runs that carry this want."""
        ...

    async def run_of_actions(self, repo_id: RepoId, actions_run_id: int) -> Run | None:
        """Return our latest attempt that lives in this Actions run."""
        ...

    async def run_of_dispatch(self, dispatch_id: str) -> Run | None:
        """Return the run dispatched with this id of ours."""
        ...

    async def run_of_check(self, repo_id: RepoId, external_id: str) -> Run | None:
        """Return the run a check run of ours shows (None: a gate, or not ours)."""
        ...

    async def approvals(self, repo_id: RepoId, sha: Sha) -> tuple[Approval, ...]:
        """Return the approvals of a commit."""
        ...

    async def policy(self, repo_id: RepoId, ref: str) -> StoredPolicy | None:
        """Return the policy of a branch as last read, None when dropped or never read."""
        ...

    async def selections(self, repo_id: RepoId, sha: Sha) -> tuple[StoredSelection, ...]:
        """Return what was chosen at a commit, one a pull request."""
        ...


class InboxStore(Reader, Protocol):
    """Claimed deliveries and the commit of what they lead to."""

    async def claim_deliveries(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[tuple[Lease, Delivery], ...]:
        """Claim the oldest due delivery of up to ``limit`` subjects without a claimed one."""
        ...

    async def commit(
        self, changes: Changes, now: datetime, *, done: Lease | None, note: str = ""
    ) -> bool:
        """Write ``changes`` and mark the delivery done, in one transaction.

        False: the lease was lost, nothing was written. ``done`` None: not from a delivery.
        """
        ...

    async def retry_delivery(
        self, lease: Lease, *, due: datetime, note: str, park: bool, counts: bool
    ) -> None:
        """Give the delivery back until ``due``, or park it; its tries grow when it ``counts``."""
        ...
