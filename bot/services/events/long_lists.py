"""How much of GitHub's quota long lists of files may take: anybody can open a pull request.

A pull request with 3,000 files costs 30 calls each time that it is pushed to or commented on.
"""

from collections import deque
from datetime import datetime, timedelta

from bot.core.model.people import Account
from bot.ports.clock import Clock

PAGES = 300  # for each account in an hour: GitHub allows 5,000 calls for everything
_SHORT_PAGES = 3  # shorter lists are read as often as it takes
_PAGE = 100  # files
_HOUR = timedelta(hours=1)


class LongLists:
    """Remembers who had long lists read in the last hour."""

    def __init__(self, clock: Clock, pages: int = PAGES) -> None:
        """``pages`` is what one account may have read in an hour."""
        self._clock = clock
        self._pages = pages
        self._read: deque[tuple[datetime, Account, int]] = deque()

    def may_read(self, by: Account, files: int) -> bool:
        """Return True if a list of so many files may be read for somebody, and count it."""
        pages, now = -(-files // _PAGE), self._clock.now()
        if pages <= _SHORT_PAGES or not by:
            return True
        while self._read and now - self._read[0][0] >= _HOUR:
            self._read.popleft()
        if sum(read for _, who, read in self._read if who == by) + pages > self._pages:
            return False
        self._read.append((now, by, pages))
        return True
