"""The one clock of the simulation. A test can replace it."""

import asyncio
import heapq
import itertools
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """The source of time of the simulation."""

    def now(self) -> datetime:
        """Return the current time, aware UTC."""

    async def sleep(self, seconds: float) -> None:
        """Return when that much time has passed."""


class RealClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """Return the wall-clock time, aware UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait for real."""
        await asyncio.sleep(seconds)


class ManualClock:
    """Time that stands still until `advance` is awaited."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
        self._order = itertools.count()
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        """Return the time that `advance` has reached, aware UTC."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until `advance` has gone that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        until = self._now + timedelta(seconds=seconds)
        heapq.heappush(self._sleepers, (until, next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Move time forward, waking sleepers in the order of their times."""
        end = self._now + timedelta(seconds=seconds)
        while self._sleepers and self._sleepers[0][0] <= end:
            until, _, future = heapq.heappop(self._sleepers)
            self._now = max(self._now, until)
            if not future.done():
                future.set_result(None)
            for _ in range(5):  # the woken tasks run, and perhaps sleep again
                await asyncio.sleep(0)
        self._now = end
        await asyncio.sleep(0)


def stamp(when: datetime) -> str:
    """Write a time as GitHub does in JSON: whole seconds, `Z`."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def log_stamp(when: datetime) -> str:
    """Write a time as a job log does: seven digits of a second, `Z`."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "0Z"
