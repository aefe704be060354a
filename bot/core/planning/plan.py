"""What an event leads to, as data: one value that the store commits in one transaction."""

from dataclasses import dataclass
from datetime import datetime

from bot.core.github.events import InstallationEvent
from bot.core.messages import Message
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.pulls import Approval, Head, Pull
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Claimant, Run, StopRequest
from bot.core.model.selections import StoredSelection
from bot.core.model.views import Gate, Proposal, Reply

BY_ITSELF = "ascend-ci[bot]"
"""Who decided what nobody asked for; no person's login has brackets."""


@dataclass(frozen=True, slots=True)
class DropClaimant:
    """Take a want off a run; the last one gone, the run is superseded for ``reason``."""

    run_id: RunId
    source: str
    reason: Message  # "superseded by 9f8e7d6", "the pull request was closed"


@dataclass(frozen=True, slots=True)
class RunClaimants:
    """A run with those who want it."""

    run: Run
    claimants: tuple[Claimant, ...]


@dataclass(frozen=True, slots=True)
class RepublishCheck:
    """Show an ended check run anew with a remark: GitHub has set its suite back to queued.

    ``run_id`` None means the gate of the commit. An open check run is left alone.
    """

    repo_id: RepoId
    sha: Sha
    run_id: RunId | None
    remark: str  # Markdown made safe: why nothing was started


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who did what, allowed or not, by which rule; ``delivery`` is filled in by the inbox."""

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
class Plan:
    """All that one delivery (or one sweep) leads to, committed in one transaction.

    New runs are skipped when an open one of that (repository, SHA, suite) exists: their wants
    go to the open one. Their check rows are made in the same transaction. Facts already known
    by (run, source, key) are skipped. Every run touched is poked (due now, pokes + 1), the
    checks of every touched gate are made or bumped.
    """

    repo: Repo | None = None
    pull: Pull | None = None
    basis: Pull | None = None  # decided from this row: written only while it has that head
    head: Head | None = None
    policy: StoredPolicy | None = None
    forget_policy: tuple[RepoId, str] | None = None  # repository, branch
    selection: StoredSelection | None = None
    approval: Approval | None = None
    new_runs: tuple[tuple[Run, tuple[Claimant, ...]], ...] = ()
    add_claimants: tuple[Claimant, ...] = ()
    drop_claimants: tuple[DropClaimant, ...] = ()
    stop_requests: tuple[
        tuple[RunId, StopRequest], ...
    ] = ()  # the first stays, before one to supersede
    forced: tuple[tuple[RunId, str], ...] = ()  # who overrides the limits for what waits
    run_events: tuple[RunEvent, ...] = ()
    gates: tuple[Gate, ...] = ()
    replies: tuple[Reply, ...] = ()
    proposal: Proposal | None = None
    republish: tuple[RepublishCheck, ...] = ()
    audit: tuple[AuditEntry, ...] = ()
    installation: InstallationEvent | None = None  # its repositories become (in)active
