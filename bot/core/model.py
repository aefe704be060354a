"""The words of the whole service as values: what a row holds once it has left the database.

Every time is an aware UTC ``datetime``; every id is GitHub's number or a ULID.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Any, NewType

RepoId = NewType("RepoId", int)
Sha = NewType("Sha", str)
RunId = NewType("RunId", str)

Json = dict[str, Any]  # decoded JSON object: what a fact carries


class State(StrEnum):
    """Where a run stands."""

    NEEDS_APPROVAL = "needs_approval"
    QUEUED = "queued"
    DISPATCHING = "dispatching"
    WAITING_FOR_RUNNER = "waiting_for_runner"
    RUNNING = "running"
    CANCELLING = "cancelling"
    FINISHING = "finishing"
    DONE = "done"


class Outcome(StrEnum):
    """How a run ended; none of them maps to a conclusion that passes but success."""

    SUCCESS = "success"
    FAILURE = "failure"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    BROKEN = "broken"


class Level(StrEnum):
    """A permission on a repository, from ``user.permissions`` (custom roles included)."""

    NONE = "none"
    PULL = "pull"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    def at_least(self, other: "Level") -> bool:
        """Tell whether this level grants all that ``other`` grants."""
        order = list(Level)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository, known by its number: names change."""

    id: RepoId
    owner: str
    name: str
    default_branch: str
    installation_id: int | None = None  # None: not in the payload, to be asked for
    active: bool = True  # False once suspended or removed: nothing is called

    @property
    def full_name(self) -> str:
        """Return ``owner/name``."""
        return f"{self.owner}/{self.name}"


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request as last seen."""

    repo_id: RepoId
    number: int
    head_sha: Sha
    head_repo_id: int | None  # None: the fork was deleted
    base_ref: str
    author: str  # "" when GitHub no longer knows
    open: bool = True
    draft: bool = False
    changed_files: int = 0
    updated_at: datetime | None = None

    @property
    def from_fork(self) -> bool:
        """Tell whether the head lies outside the base repository (unknown counts as outside)."""
        return self.head_repo_id != self.repo_id


@dataclass(frozen=True, slots=True)
class Head:
    """A commit that was the head of a pull request, and who brought it."""

    repo_id: RepoId
    number: int
    sha: Sha
    pusher: str | None  # None: found by looking, its webhook was lost
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody's word that one commit may run here."""

    repo_id: RepoId
    sha: Sha
    by: str
    level: Level
    via: str  # "button" | "command" | "start"
    at: datetime


@dataclass(frozen=True, slots=True)
class Label:
    """A runner label and what one of its runners holds."""

    name: str
    npus: int
    slots: int
    chip: str = ""


@dataclass(frozen=True, slots=True)
class Pool:
    """What RayJobs may hold at once, in NPUs."""

    name: str
    npus: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A suite as it was when its run was made: a policy change never alters a live run.

    What is scarce is asked anew while it waits: ``core.admission``.
    """

    suite: str
    title: str
    workflow: str
    ref: str
    labels: tuple[Label, ...]
    policy_ref: str
    policy_sha: str
    inputs: dict[str, str] = field(default_factory=dict)
    nodes: int = 1
    npus: int | None = None  # a node; None: the label's
    pool: Pool | None = None  # None: the label itself
    rayjob: bool = False
    native: bool = False  # GitHub starts it itself
    tier: str = "standard"
    required: bool = True
    timeout_minutes: int = 240
    stall_minutes: int = 45
    min_minutes: int = 0
    infra_retries: int = 1
    per_pull: int | None = None  # runs of one pull request at once; None: no limit
    hours_per_day: float | None = None  # NPU-hours a day in the repository; None: no limit
    retryable: bool = True  # False: a changed file matches env_paths
    altered: tuple[str, ...] = ()  # inputs that a person set: such a run says nothing for the gate
    reason: str = ""  # why it was selected, in words
    repo_roots: tuple[str, ...] = ()
    redact: tuple[str, ...] = ()
    signatures: tuple[Json, ...] = ()  # `log.signatures` of the policy

    def npus_at(self, label: str | None) -> int:
        """Return NPUs a node: the suite's own, else the label's (the first one's by default)."""
        if self.npus is not None:
            return self.npus
        known = {item.name: item.npus for item in self.labels}
        return known[label] if label in known else self.labels[0].npus


class WishKind(StrEnum):
    """Why a run should stop."""

    CANCEL = "cancel"  # a person asked
    SUPERSEDE = "supersede"  # nobody wants it any more
    TIME_OUT = "time_out"  # its limit is reached
    STALL = "stall"  # no output for too long
    NO_RUNNER = "no_runner"  # no runner took the job within a day


@dataclass(frozen=True, slots=True)
class Wish:
    """A cancel is a wish on the row, read at each step; the first one stays."""

    kind: WishKind
    by: str  # login, "" for the bot itself
    reason: str
    at: datetime


class Rank(IntEnum):
    """Who goes first."""

    GROUP = 0  # the merge queue
    RELEASE = 1  # a release branch
    APPROVED = 2  # a person asked for it or approved it
    AUTOMATIC = 3
    NIGHTLY = 4


@dataclass(frozen=True, slots=True)
class Need:
    """A place to take: ``amount`` of ``capacity`` of a resource of this repository."""

    resource: str  # "label:NAME" | "pool:NAME"
    amount: int
    capacity: int


Alternatives = tuple[tuple[Need, ...], ...]
"""The needs of each alternative, in order of preference."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """A run that goes or comes before another one."""

    suite: str
    number: int | None
    since: datetime | None  # its start; None: it waits, too
    usual: timedelta | None  # how long its suite usually takes


@dataclass(frozen=True, slots=True)
class Place:
    """A run's place in the queue of a resource."""

    resource: str  # a label's or a pool's name
    ahead: int  # earlier waiters, holders and jobs of others
    start_at: datetime | None = None  # if all take their usual time; None: not known
    before: tuple[Ahead, ...] = ()  # the first ones of those ahead
    others: int = 0  # jobs on the label that are not ours


@dataclass(frozen=True, slots=True)
class Run:
    """One suite at one commit, attempt ``attempt`` (from 1)."""

    id: RunId
    repo_id: RepoId
    sha: Sha
    suite: str
    attempt: int
    snapshot: Snapshot
    created_at: datetime
    state: State = State.QUEUED
    outcome: Outcome | None = None
    why: str = ""  # the outcome's or the waiting's reason, in words
    cause: str = ""  # of a failure, as its log tells it in a few words
    origin: str = ""  # what made this attempt: "a push of 9f8e7d6", "retry: …"
    number: int | None = None  # the pull request shown to people, if any
    retries: int = 0  # automatic ones so far in this chain of attempts
    retry: str = ""  # why the next attempt follows by itself, set at the end
    rerun_of: int | None = None  # Actions run whose failed jobs this attempt runs again
    not_before: datetime | None = None  # debounce
    dispatch_id: str | None = None  # set before the dispatch, sent as `ascend_ci`
    label: str | None = None  # the label taken
    npus: int = 0  # of all nodes, on that label
    forced: str = ""  # who overrode the limits for it
    actions_run_id: int | None = None
    actions_attempt: int = 1
    actions_url: str = ""
    wish: Wish | None = None
    place: Place | None = None
    dispatched_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Want:
    """For whom a run runs: ``pr:N``, ``group:SHA``, ``nightly:NAME@TIME``, ``pin:COMMENT``."""

    run_id: RunId
    source: str
    auto: bool = True  # False: a person asked; a retarget leaves it alone
    by: str = ""
    rank: int = Rank.AUTOMATIC


@dataclass(frozen=True, slots=True)
class Fact:
    """Something learned about a run; unique by (run, source, key), kept for the timeline."""

    run_id: RunId
    source: str  # "webhook" | "poll" | "api" | "runner" | "watch" | "log"
    key: str
    at: datetime
    data: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RayJob:
    """A RayJob of a run as its follower sees it."""

    job_id: str
    run_id: RunId
    seen: str  # "announcement" | "workflow" | "log"
    confirmed: bool  # the submitter's record names our Actions run and attempt
    status: str = ""  # last status event, e.g. "RUNNING"
    deployment: str = ""  # KubeRay's job_deployment_status
    message: str = ""
    final: str | None = None  # "SUCCEEDED" | "FAILED" | "TIMEOUT" | "NOT_FOUND" | "STOPPED"
    final_from: str = ""  # "watch" | "state"
    silent_since: datetime | None = None  # the submitter has not answered since
    last_line_at: datetime | None = None
    lines: int = 0
    progress: Json | None = None  # core.digest Progress
    digest: Json | None = None  # core.digest Digest, at the end or so far
    resume: Json | None = None  # core.rayjob Resume
    log_bytes: int = 0  # of the log file that the resume state covers
    complete: bool = False  # nothing more to read


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """The policy file of one branch as last read."""

    repo_id: RepoId
    ref: str
    blob_sha: str
    text: str | None  # None: there is no file
    read_at: datetime


@dataclass(frozen=True, slots=True)
class StoredSelection:
    """What was chosen for a pull request at one commit; ``data`` is Selection's JSON."""

    repo_id: RepoId
    sha: Sha
    number: int  # 0: not of a pull request
    policy_sha: str
    data: Json


@dataclass(frozen=True, slots=True)
class Delivery:
    """A stored webhook."""

    guid: str
    event: str
    action: str
    repo_id: int | None
    subject: str  # one at a time per subject: "repo:number", "repo", or "app"
    received_at: datetime
    body: bytes | None  # None: not kept
    tries: int = 0
