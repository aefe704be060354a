"""The resources that a run needs, and its position in the queue."""

from dataclasses import dataclass
from datetime import datetime, timedelta


def label_resource(label: str) -> str:
    """Return a label as a resource: GitHub does not tell capitals apart."""
    return f"label:{label.lower()}"


@dataclass(frozen=True, slots=True)
class Need:
    """An amount of a resource of the repository, which has ``capacity`` in all."""

    resource: str  # "label:NAME" | "pool:NAME"
    amount: int
    capacity: int


Alternatives = tuple[tuple[Need, ...], ...]
"""The needs of each alternative, in order of preference."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """A run that is ahead of another one, running or waiting."""

    suite: str
    number: int | None
    since: datetime | None  # its start; None: it waits, too
    usual: timedelta | None  # how long its suite usually takes


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """The position of a run in the queue for a resource."""

    resource: str  # a label's or a pool's name
    ahead: int  # earlier waiters, holders and jobs of others
    start_at: datetime | None = None  # if all take their usual time; None: not known
    before: tuple[Ahead, ...] = ()  # the first ones of those ahead
    others: int = 0  # jobs on the label that are not ours
