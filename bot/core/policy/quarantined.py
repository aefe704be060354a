"""What holds of a suite's quarantine at a moment.

An entry names no first day. What it allows ends at `until` and is never longer than 30 days,
whatever day it was written, committed or read: nobody can choose a date that gives more.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from bot.core.policy.quarantine import Quarantine
from bot.core.policy.wildcard import fits

MAX_DAYS = 30
_LONGEST = timedelta(days=MAX_DAYS)


class QuarantineStage(StrEnum):
    """What a quarantine is at a moment."""

    HELD = "held"
    ENDED = "ended"
    EARLY = "early"  # its end is too far ahead, so it does not hold yet


@dataclass(frozen=True, slots=True)
class QuarantineStand:
    """How the quarantine of a suite stands at a moment; the entries are those that say so."""

    stage: QuarantineStage
    entries: tuple[Quarantine, ...]

    @property
    def whole(self) -> Quarantine | None:
        """Return the entry by which nothing of the suite counts; None without one."""
        held = self.entries if self.stage is QuarantineStage.HELD else ()
        return next((entry for entry in held if entry.test is None), None)

    def excuses(self, failed_tests: Collection[str]) -> bool:
        """Return True if a failure does not count: of the whole suite, or of these tests alone.

        Without tests it is not known what failed, or more failed than tests.
        """
        if self.stage is not QuarantineStage.HELD:
            return False
        patterns = [entry.test for entry in self.entries if entry.test is not None]
        covered = (any(fits(one, test) for one in patterns) for test in failed_tests)
        return self.whole is not None or (bool(failed_tests) and all(covered))


def quarantines_of(entries: Iterable[Quarantine], suite: str) -> tuple[Quarantine, ...]:
    """Return the entries of a suite."""
    return tuple(entry for entry in entries if entry.suite == suite)


def stand_at(entries: Collection[Quarantine], at: datetime) -> QuarantineStand | None:
    """Return how the quarantine of a suite stands at a moment, by all its entries; None without.

    All entries of a suite share the 30 days before the latest `until` among them: entries that
    follow each other give no more than one.
    """
    if not entries:
        return None
    held = tuple(entry for entry in entries if at < entry.ends_at)
    last = max(entry.ends_at for entry in entries)
    latest = tuple(entry for entry in entries if entry.ends_at == last)
    if not held:
        return QuarantineStand(QuarantineStage.ENDED, latest)
    if at < last - _LONGEST:
        return QuarantineStand(QuarantineStage.EARLY, latest)
    return QuarantineStand(QuarantineStage.HELD, held)
