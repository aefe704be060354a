"""What the inbox needs: claimed deliveries, rows to decide on, and one commit for a decision."""

from datetime import datetime
from typing import Protocol

from bot.core.model.deliveries import Delivery
from bot.core.model.ids import RepoId, Sha
from bot.core.model.pulls import Approval, Head, Pull
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.model.runs import Run
from bot.core.model.selections import StoredSelection
from bot.core.planning.plan import AuditEntry as AuditEntry  # noqa: PLC0414  re-export
from bot.core.planning.plan import DropClaimant as DropClaimant  # noqa: PLC0414  re-export
from bot.core.planning.plan import Plan as Plan  # noqa: PLC0414  re-export
from bot.core.planning.plan import RepublishCheck as RepublishCheck  # noqa: PLC0414  re-export
from bot.core.planning.plan import RunClaimants as RunClaimants  # noqa: PLC0414  re-export
from bot.core.queue.usage import Spent
from bot.core.report.views import Gate as Gate  # noqa: PLC0414  re-export
from bot.core.report.views import Reply as Reply  # noqa: PLC0414  re-export
from bot.core.runs.offline import JobSeen
from bot.ports.lease import Lease


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

    async def runs_at(self, repo_id: RepoId, sha: Sha) -> tuple[RunClaimants, ...]:
        """Return every attempt of every suite at a commit, oldest first."""
        ...

    async def runs_of_claimant(self, repo_id: RepoId, source: str) -> tuple[RunClaimants, ...]:
        """Return the open runs that carry this want."""
        ...

    async def pinned_runs(self, repo_id: RepoId, number: int) -> tuple[RunClaimants, ...]:
        """Return the open runs that commands on this pull request pinned to former heads."""
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

    async def spent(self, repo_id: RepoId, now: datetime) -> Spent:
        """Return the NPU-hours that a repository used in the last 24 hours."""
        ...

    async def answered(self, comment_id: int) -> bool:
        """Tell whether a comment has its reply, shown or not."""
        ...

    async def audit_since(
        self, repo_id: RepoId, who: str, since: datetime
    ) -> tuple[AuditEntry, ...]:
        """Return what somebody did here since, oldest first."""
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
        self, changes: Plan, now: datetime, *, done: Lease | None, note: str = ""
    ) -> bool:
        """Write ``changes`` and mark the delivery done, in one transaction.

        False: the lease was lost or the basis has moved, nothing was written.
        ``done`` None: not from a delivery.
        """
        ...

    async def see_job(self, seen: JobSeen, now: datetime) -> None:
        """Keep how far a job is, never going back; its end lets those who wait look again."""
        ...

    async def retry_delivery(
        self, lease: Lease, *, due: datetime, note: str, park: bool, counts: bool
    ) -> None:
        """Give the delivery back until ``due``, or park it; its tries grow when it ``counts``."""
        ...
