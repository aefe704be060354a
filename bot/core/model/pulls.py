"""A pull request, the commits that were its head, and their approvals."""

from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import NOBODY, Account
from bot.core.policy.levels import Level


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request as last seen."""

    repo_id: RepoId
    number: int
    head_sha: Sha
    head_repo_id: int | None  # None: the fork was deleted
    base_ref: str
    author: Account  # nobody when GitHub no longer knows
    open: bool = True
    draft: bool = False
    changed_files: int = 0
    updated_at: datetime | None = None
    head_ref: str = ""  # the branch of the head
    head_owner: Account = NOBODY  # of the repository that has this branch
    head_name: str = ""  # of that repository; "": the fork was deleted
    based_at: datetime | None = None  # when it got this base, None if it had no other before
    created_at: datetime | None = None

    @property
    def from_fork(self) -> bool:
        """Return True if the head is not in the base repository; an unknown head is not."""
        return self.head_repo_id != self.repo_id

    def differs(self, other: "Pull") -> bool:
        """Return True if something that decides what runs is not as in another report."""
        ours = (self.head_sha, self.open, self.draft, self.base_ref)
        return ours != (other.head_sha, other.open, other.draft, other.base_ref)

    def after(self, before: "Pull") -> "Pull":
        """Return it with what is known from before: when it got its base, and a deleted fork."""
        moved = before.base_ref != self.base_ref
        return replace(
            self,
            based_at=self.updated_at if moved else self.based_at or before.based_at,
            head_repo_id=self.head_repo_id or before.head_repo_id,
        )


@dataclass(frozen=True, slots=True)
class Head:
    """A commit that was the head of a pull request, and who brought it."""

    repo_id: RepoId
    number: int
    sha: Sha
    pusher: Account  # nobody: GitHub has not said
    seen_at: datetime
    since: datetime | None = None  # by GitHub's clock: it was not the head before; None: unknown


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's approval of one commit."""

    repo_id: RepoId
    sha: Sha
    by: Account
    level: Level
    via: str  # "button" | "command" | "start"
    at: datetime


@dataclass(frozen=True, slots=True)
class Push:
    """A commit that somebody pushed to a branch of the repository."""

    repo_id: RepoId
    branch: str
    sha: Sha
    by: Account
    at: datetime


@dataclass(frozen=True, slots=True)
class PullAt:
    """A pull request that has or had a commit as its head."""

    pull: Pull
    since: datetime | None = None  # as in Head, of this commit
    asked: bool = False  # its row is what GitHub has just told
    was_quiet: bool = False  # when the run began that is looked at, nothing had happened to it

    def after(self, before: "PullAt | None") -> "PullAt":
        """Return it with what is known from before."""
        if before is None:
            return self
        return replace(self, pull=self.pull.after(before.pull))
