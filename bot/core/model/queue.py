"""What a run needs to start, and where it stands in the queue."""

from dataclasses import dataclass
from datetime import datetime, timedelta


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
class QueuePosition:
    """A run's place in the queue of a resource."""

    resource: str  # a label's or a pool's name
    ahead: int  # earlier waiters, holders and jobs of others
    start_at: datetime | None = None  # if all take their usual time; None: not known
    before: tuple[Ahead, ...] = ()  # the first ones of those ahead
    others: int = 0  # jobs on the label that are not ours
