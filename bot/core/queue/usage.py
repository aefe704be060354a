"""NPU-hours used in the last 24 hours, for the limit, the fair order and the reports."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.core.messages.words import number

WINDOW = timedelta(hours=24)
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Usage:
    """The NPUs of all nodes of a run, from its start to its end (None: it still runs)."""

    npus: int
    started_at: datetime
    ended_at: datetime | None
    number: int | None = None
    author: int = 0  # its account's number

    def hours(self, since: datetime, until: datetime) -> float:
        """Return its NPU-hours within a span of time."""
        overlap = min(self.ended_at or until, until) - max(self.started_at, since)
        return max(overlap.total_seconds(), 0.0) / 3600 * self.npus


@dataclass(frozen=True, slots=True)
class Spent:
    """NPU-hours of the window, in all, by author and by pull request."""

    total: float = 0.0
    by_author: dict[int, float] = field(default_factory=dict)
    by_pull: dict[int, float] = field(default_factory=dict)
    usages: tuple[Usage, ...] = ()

    def below(self, limit: float, now: datetime) -> datetime | None:
        """Return the minute when less than ``limit`` is used, if nothing more starts.

        None: never, because nothing is allowed at all.
        """
        if limit <= 0:
            return None
        low, high = 0, WINDOW // _MINUTE
        while low < high:
            middle = (low + high) // 2
            if self._at(now, now + middle * _MINUTE) < limit:
                high = middle
            else:
                low = middle + 1
        return now + low * _MINUTE

    def _at(self, now: datetime, later: datetime) -> float:
        return sum(usage.hours(later - WINDOW, now) for usage in self.usages)


def used(hours: float) -> str:
    """Return NPU-hours in words: whole ones, except below one."""
    return number(round(hours) if hours >= 1 else hours)


def spent(usages: tuple[Usage, ...], now: datetime) -> Spent:
    """Add up the NPU-hours of the last 24 hours."""
    authors: defaultdict[int, float] = defaultdict(float)
    pulls: defaultdict[int, float] = defaultdict(float)
    total = 0.0
    for usage in usages:
        hours = usage.hours(now - WINDOW, now)
        total += hours
        authors[usage.author] += hours
        pulls[usage.number or 0] += hours
    return Spent(total, dict(authors), dict(pulls), usages)
