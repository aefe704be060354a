"""A run: one attempt of a suite at a commit, its state, and its claimants."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum

from bot.core.messages import NOTHING, Message
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.people import NOBODY, Account
from bot.core.model.queue import QueuePosition
from bot.core.model.snapshot import Snapshot


class State(StrEnum):
    """The state of a run."""

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
    SKIPPED = "skipped"  # its own jobs are not in this Actions run: their conditions say so


class StopReason(StrEnum):
    """Why a run should stop."""

    CANCEL = "cancel"  # a person asked
    SUPERSEDE = "supersede"  # it has no claimant any more
    TIME_OUT = "time_out"  # its limit is reached
    STALL = "stall"  # no output for too long
    NO_RUNNER = "no_runner"  # no runner took the job within a day


@dataclass(frozen=True, slots=True)
class StopRequest:
    """A request to stop, kept in the row of the run. Each step reads it; the first one stays."""

    kind: StopReason
    by: str  # login, "" for the bot itself
    reason: Message
    at: datetime


class Rank(IntEnum):
    """The classes of the queue, first one first."""

    GROUP = 0  # the merge queue
    RELEASE = 1  # a release branch
    APPROVED = 2  # a person asked for it or approved it
    AUTOMATIC = 3
    NIGHTLY = 4


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
    why: Message = NOTHING  # the outcome's or the waiting's reason, in words
    cause: str = ""  # of a failure, as its log tells it in a few words
    infra: bool = False  # the log proves that the infrastructure failed, not the change
    failed_tests: tuple[str, ...] = ()  # if it is known that nothing else failed
    origin: Message = NOTHING  # what made this attempt: "a push of 9f8e7d6", "retry: …"
    number: int | None = None  # the pull request shown to people, if any
    retries: int = 0  # automatic ones so far in this chain of attempts
    retry: Message = NOTHING  # why the next attempt follows by itself, set at the end
    rerun_of: int | None = None  # Actions run whose failed jobs this attempt runs again
    not_before: datetime | None = None  # debounce
    dispatch_id: str | None = None  # sent as `ascend_ci`; a secret until its Actions run exists
    label: str | None = None  # the label taken
    npus: int = 0  # of all nodes, on that label
    forced: str = ""  # who overrode the limits for it
    actions_run_id: int | None = None
    actions_attempt: int = 1
    actions_url: str = ""
    mistaken: bool = False  # its Actions run is of another base, or may be: it has no result
    stop_request: StopRequest | None = None
    queue_position: QueuePosition | None = None
    dispatched_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None

    def speaks_for(self, essence: str, labels: Collection[str]) -> bool:
        """Return True if its result is one of the suite that has this essence and these labels."""
        if self.mistaken or self.snapshot.altered or self.snapshot.essence != essence:
            return False
        own = {self.label} if self.label else {label.name for label in self.snapshot.labels}
        ran_on = {label.lower() for label in own}
        return self.snapshot.native or not ran_on.isdisjoint(map(str.lower, labels))


@dataclass(frozen=True, slots=True)
class Claimant:
    """A pull request, merge group, push or schedule that a run runs for.

    Sources are ``pr:N``, ``group:SHA``, ``push:BRANCH``, ``nightly:NAME@TIME``,
    ``github:EVENT:ACTIONS_RUN``, and for a former head of N ``pin:N:COMMENT``.
    """

    run_id: RunId
    source: str
    auto: bool = True  # False: a person asked; a retarget leaves it alone
    by: Account = NOBODY
    rank: int = Rank.AUTOMATIC

    @property
    def number(self) -> int | None:
        """Return the pull request that it is, or that a command pinned the run for."""
        kind, _, rest = self.source.partition(":")
        number = rest.partition(":")[0]
        return int(number) if kind in {"pr", "pin"} and number.isdigit() else None
