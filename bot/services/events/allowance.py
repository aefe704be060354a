"""Buckets: how much may be done at once and in an hour, and what of it is left."""

from dataclasses import dataclass
from datetime import datetime

_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be done at once, and in an hour."""

    at_once: int
    an_hour: int


class Bucket:
    """What is left of an allowance; time fills it again."""

    def __init__(self, allowance: Allowance, now: datetime) -> None:
        self._allowance = allowance
        self._left = float(allowance.at_once)
        self._at = now

    def fill(self, now: datetime) -> None:
        """Add what the time since the last look brings."""
        brought = (now - self._at).total_seconds() * self._allowance.an_hour / _HOUR_S
        self._left = min(self._left + max(brought, 0.0), self._allowance.at_once)
        self._at = now

    @property
    def is_full(self) -> bool:
        """Return True if nothing is remembered here."""
        return self._left >= self._allowance.at_once

    @property
    def used(self) -> float:
        """Return what was done and not paid back by time."""
        return self._allowance.at_once - self._left

    def has(self, much: float = 1.0) -> bool:
        """Return True if so much more may be done; all that there is at most is enough."""
        return self._left >= min(much, self._allowance.at_once)

    def take(self, much: float = 1.0) -> None:
        """Count what is done; more than there is leaves nothing."""
        self._left = max(self._left - much, 0.0)
