"""Deadlines of equal length: the loop keeps one timer for all of them.

A timer of the loop's own for each request costs more than the request's signature.
"""

import asyncio
from collections.abc import Callable

Ring = Callable[[], object]


class Deadlines:
    """Calls back what was not stopped within so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[Ring, float] = {}  # the earliest first, as all are of one length
        self._timer: asyncio.TimerHandle | None = None

    def start(self, ring: Ring) -> None:
        """Call ``ring`` when the time is up; one that runs already begins anew."""
        loop = asyncio.get_running_loop()
        self._ends.pop(ring, None)
        self._ends[ring] = end = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_at(end, self._ring)

    def stop(self, ring: Ring) -> None:
        """Don't call it."""
        self._ends.pop(ring, None)

    def _ring(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        for ring, end in list(self._ends.items()):
            if end > loop.time():
                self._timer = loop.call_at(end, self._ring)
                return
            self._ends.pop(ring, None)
            loop.call_soon(ring)
