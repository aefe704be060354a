"""The one clock of the application, under the tests' control."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Aware UTC time and sleeping."""

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
