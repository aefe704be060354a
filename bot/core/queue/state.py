"""The queue of one repository as values: waiting runs, holders of resources, and answers."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.core.messages import Message
from bot.core.model.ids import RunId
from bot.core.model.queue import Alternatives, QueuePosition
from bot.core.model.runs import Run
from bot.core.queue.usage import Spent


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits beside resources that a run waits for; None: no such limit."""

    per_pull: int | None = None  # how many runs of its pull request may go at once
    npu_hours: float | None = None  # how many may be used in 24 hours


def limits_of(run: Run) -> RunLimits:
    """Return the limits of a waiting run; a forced one has none."""
    if run.forced:
        return RunLimits()
    limits = run.snapshot.limits
    per_pull = None if run.number is None else limits.runs_per_pr
    return RunLimits(per_pull, limits.npu_hours_per_day)


@dataclass(frozen=True, slots=True)
class PendingRun:
    """A run that waits for resources."""

    run_id: RunId
    suite: str
    since: datetime
    rank: int  # `model.Rank`, the best of its claimants
    needs: Alternatives
    number: int | None = None
    author: int = 0  # its account's number
    limits: RunLimits = RunLimits()


@dataclass(frozen=True, slots=True)
class Holder:
    """A run that holds resources."""

    run_id: RunId
    suite: str
    since: datetime
    amounts: tuple[tuple[str, int], ...]  # resource, amount
    number: int | None = None
    author: int = 0  # its account's number


@dataclass(frozen=True, slots=True)
class Pause:
    """An operator's pause: nothing starts on a resource ("label:X", "pool:Y", "all")."""

    resource: str
    by: str
    reason: str
    until: datetime | None  # None: until somebody resumes
    at: datetime

    def holds(self, now: datetime) -> bool:
        """Return True if the pause is in force."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class QueueState:
    """Everything that decides which run of a repository starts next."""

    now: datetime
    waiting: tuple[PendingRun, ...]
    holders: tuple[Holder, ...] = ()
    occupied: dict[str, int] = field(default_factory=dict)  # by jobs that are not ours
    pauses: tuple[Pause, ...] = ()
    spent: Spent = field(default_factory=Spent)
    usual: dict[str, timedelta] = field(default_factory=dict)  # by suite


@dataclass(frozen=True, slots=True)
class Acquired:
    """The run got resources; ``choice`` is the index of its alternative."""

    choice: int


@dataclass(frozen=True, slots=True)
class Blocked:
    """A rule keeps the run from starting, whatever is free; ``until`` None: not known."""

    why: Message
    until: datetime | None = None
    rule: str = ""  # the rule's name, for the audit: unlike ``why``, it stays the same
    ahead: int = 0  # how many runs wait before it, for any resource


Answer = Acquired | QueuePosition | Blocked
