"""The changes that follow from an event, as one value that one transaction commits."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from bot.core.github.events import InstallationEvent
from bot.core.messages import Message
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.pulls import Approval, Head, Pull, Push
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Claimant, Run, StopRequest
from bot.core.model.selections import StoredSelection
from bot.core.model.views import GateDue, Proposal, Reply

BY_ITSELF = "ascend-ci[bot]"
"""The bot's name in the audit; no person's login has brackets."""


@dataclass(frozen=True, slots=True)
class DropClaimant:
    """Take a claimant off a run. A run without claimants is superseded for ``reason``."""

    run_id: RunId
    source: str
    reason: Message  # "superseded by 9f8e7d6", "the pull request was closed"
    stop: StopRequest | None = None  # instead: the last claimant stays and asks for this


@dataclass(frozen=True, slots=True)
class Restated:
    """A stored selection of which some details changed; it is written if it is still as read."""

    read: StoredSelection
    now: StoredSelection


@dataclass(frozen=True, slots=True)
class RunClaimants:
    """A run with its claimants."""

    run: Run
    claimants: tuple[Claimant, ...]


@dataclass(frozen=True, slots=True)
class RepublishCheck:
    """Publish an ended check run again with a remark: GitHub has set its suite back to queued.

    ``run_id`` is any attempt of a suite: its latest one is published. None means the gate of the
    commit. An open check run is left alone.
    """

    repo_id: RepoId
    sha: Sha
    run_id: RunId | None
    remark: str  # Markdown made safe: why nothing was started


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A decision: the person, the deed, and the rule that allowed or refused it.

    The inbox fills in ``delivery``.
    """

    at: datetime
    who: str
    what: str
    allowed: bool
    rule: str
    repo_id: RepoId | None = None
    number: int | None = None
    sha: Sha | None = None
    delivery: str | None = None
    who_id: int = 0  # of an account on GitHub, 0: it is none


@dataclass(frozen=True, slots=True)
class Plan:
    """All changes of one delivery or one sweep, committed in one transaction.

    If a (repository, SHA, suite) has an open run, a new run is skipped and the open one gets its
    claimants. A new run gets its check row in the same transaction. Events that are known by
    (run, source, key) are skipped. Every touched run is due now, and every touched gate is shown
    again.
    """

    repo: Repo | None = None
    pull: Pull | None = None
    basis: Pull | None = None  # decided from this row: written only while it has that head
    head: Head | None = None
    former_heads: tuple[Head, ...] = ()  # those that nobody knew; a known one stays as it is
    push: Push | None = None
    policy: StoredPolicy | None = None
    forget_policy: tuple[RepoId, str] | None = None  # repository, branch
    selection: StoredSelection | None = None
    restated: tuple[Restated, ...] = ()
    approval: Approval | None = None
    new_runs: tuple[tuple[Run, tuple[Claimant, ...]], ...] = ()
    add_claimants: tuple[Claimant, ...] = ()
    drop_claimants: tuple[DropClaimant, ...] = ()
    stop_requests: tuple[
        tuple[RunId, StopRequest], ...
    ] = ()  # the first stays, before one to supersede
    mistaken: tuple[RunId, ...] = ()  # runs whose Actions run is of another base, or may be
    forced: tuple[tuple[RunId, str], ...] = ()  # who overrides the limits for what waits
    run_events: tuple[RunEvent, ...] = ()
    gates: tuple[GateDue, ...] = ()
    replies: tuple[Reply, ...] = ()
    proposal: Proposal | None = None
    republish: tuple[RepublishCheck, ...] = ()
    audit: tuple[AuditEntry, ...] = ()
    installation: InstallationEvent | None = None  # its repositories become (in)active


def joined(repo: Repo | None, plans: Iterable[Plan]) -> Plan:
    """Return several plans about runs as one."""
    parts = tuple(plans)
    return Plan(
        repo=repo,
        new_runs=tuple(chain.from_iterable(part.new_runs for part in parts)),
        run_events=tuple(chain.from_iterable(part.run_events for part in parts)),
        gates=tuple(dict.fromkeys(chain.from_iterable(part.gates for part in parts))),
        republish=tuple(chain.from_iterable(part.republish for part in parts)),
        audit=tuple(chain.from_iterable(part.audit for part in parts)),
    )
