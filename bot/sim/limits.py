"""The primary rate limit and the count of calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.sim.clock import Clock


@dataclass(frozen=True, slots=True)
class ApiCall:
    """An answered call. `installation=None`: by the app's JWT, or without credentials."""

    method: str
    route: str
    path: str
    status: int
    installation: int | None
    at: datetime


class Calls(list[ApiCall]):
    """Every call, oldest first, with counts for tests."""

    def counted(self) -> list[ApiCall]:
        """Return the calls that a budget counts: no 304s and no token calls."""
        return [
            call
            for call in self
            if call.status != 304 and not call.route.endswith("/access_tokens")
        ]

    def by_route(self) -> Counter[str]:
        """Count the budget's calls by `METHOD route`."""
        return Counter(f"{call.method} {call.route}" for call in self.counted())

    def assert_at_most(self, budget: int) -> None:
        """Fail with the table of calls when there were more than the budget allows."""
        table = self.by_route()
        if table.total() > budget:
            lines = "\n".join(f"  {count} × {route}" for route, count in table.most_common())
            raise AssertionError(f"{table.total()} API calls, budget {budget}:\n{lines}")


@dataclass(slots=True)
class Window:
    """An hour's quota of one installation."""

    reset_at: datetime
    used: int = 0


@dataclass(slots=True)
class RateLimit:
    """The primary limit: `per_hour` calls an installation; 304 answers are free."""

    clock: Clock
    per_hour: int = 5000
    windows: dict[int | None, Window] = field(default_factory=dict)

    def window(self, installation: int | None) -> Window:
        """Return the current window, a new one if the hour is over."""
        now = self.clock.now()
        window = self.windows.get(installation)
        if window is None or window.reset_at <= now:
            window = self.windows[installation] = Window(now + timedelta(hours=1))
        return window

    def exhausted(self, installation: int | None) -> bool:
        """Return True if no call is left."""
        return self.window(installation).used >= self.per_hour

    def spend(self, installation: int | None) -> None:
        """Count one call."""
        self.window(installation).used += 1

    def headers(self, installation: int | None) -> dict[str, str]:
        """Return the `x-ratelimit-*` headers."""
        window = self.window(installation)
        return {
            "x-ratelimit-limit": str(self.per_hour),
            "x-ratelimit-remaining": str(max(0, self.per_hour - window.used)),
            "x-ratelimit-used": str(window.used),
            "x-ratelimit-reset": str(int(window.reset_at.timestamp())),
            "x-ratelimit-resource": "core",
        }
