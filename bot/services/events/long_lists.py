"""How much of GitHub's quota long lists of files may take: anybody can open a pull request.

A pull request with 3,000 files costs 30 calls each time that it is pushed to or commented on. Each
process counts for itself, as many times as replicas live: they share the work and the allowance.
"""

from collections import deque
from datetime import datetime, timedelta

from bot.core.model.people import Account
from bot.ports.clock import Clock

PAGES = 300  # for each account in an hour: GitHub allows 5,000 calls for everything
ALL_PAGES = 900  # for all accounts; those that had none read so far have as much again
_SHORT_PAGES = 3  # shorter lists are read as often as it takes
_PAGE = 100  # files
_HOUR = timedelta(hours=1)


class LongLists:
    """Remembers who had long lists read in the last hour."""

    def __init__(self, clock: Clock, pages: int = PAGES, all_pages: int = ALL_PAGES) -> None:
        """``pages`` is what one account may have read in an hour, ``all_pages`` what all may."""
        self._clock = clock
        self._pages = pages
        self._all_pages = all_pages
        self.living = 1
        """The replicas that live, this one with them."""
        self._read: deque[tuple[datetime, Account, int]] = deque()

    def may_read(self, by: Account, files: int) -> bool:
        """Return True if a list of so many files may be read for somebody, and count it."""
        pages, now = -(-files // _PAGE), self._clock.now()
        if pages <= _SHORT_PAGES or not by:
            return True
        while self._read and now - self._read[0][0] >= _HOUR:
            self._read.popleft()
        own = sum(read for _, who, read in self._read if who == by)
        of_all = self._all_pages if own else 2 * self._all_pages
        much = pages * self.living
        # One list is read, however many replicas there are.
        if own + (much if own else pages) > self._pages:
            return False
        if sum(read for *_, read in self._read) + much > of_all:
            return False
        self._read.append((now, by, much))
        return True
