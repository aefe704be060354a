"""The processor time that people may have their policies and lists of files checked with.

Anybody can propose a policy, in a hundred pull requests at once. Each process counts for itself: it
is the time of its own workers that others wait for, and what another replica's take is no loss.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from bot.core.model.people import Account
from bot.ports.clock import Clock
from bot.services.events.allowance import Allowance, Bucket

# Seconds. The dearest policy that is no error takes 1 s, and one that is stopped 5 s.
OF_ONE = Allowance(10, 30)
OF_ALL = Allowance(60, 300)
_ALWAYS_S = 2.0  # that nobody is refused because of what others used
_MOST = 1000  # people remembered


class CpuShares:
    """Remembers whose work took how much."""

    def __init__(
        self, clock: Clock, of_one: Allowance = OF_ONE, of_all: Allowance = OF_ALL
    ) -> None:
        self._clock = clock
        self._of_one = of_one
        self._all = Bucket(of_all, clock.now())
        self._people: dict[int, Bucket] = {}
        self._working: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, who: Account) -> AsyncIterator[bool]:
        """Wait until nothing else is done for a person; yield True if something may be done."""
        async with self._working.setdefault(who.id, asyncio.Lock()):
            now = self._clock.now()
            self._all.fill(now)
            bucket = self._bucket(who)
            bucket.fill(now)
            yield bucket.has() and (self._all.has() or bucket.used < _ALWAYS_S)

    def spend(self, who: Account, seconds: float) -> None:
        """Count what work for a person took."""
        self._bucket(who).take(seconds)
        self._all.take(seconds)

    def _bucket(self, who: Account) -> Bucket:
        if who.id not in self._people and len(self._people) >= _MOST:
            self._people.clear()
        return self._people.setdefault(who.id, Bucket(self._of_one, self._clock.now()))
