"""The machine's clock."""

import asyncio
from datetime import UTC, datetime


class SystemClock:
    """Implements ``Clock``."""

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await asyncio.sleep(seconds)
