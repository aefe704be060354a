"""Calls: their count, the primary rate limit, and the faults that a test asks for."""

import fnmatch
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bot.sim.clock import Clock
from bot.sim.errors import GitHubError


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


# The status and message of a fault's answer; `None`: the connection fails instead.
KINDS: dict[str, tuple[int, str] | None] = {
    "rate_limit": (403, "API rate limit exceeded for installation."),
    "429": (429, "Too many requests"),
    "secondary": (403, "You have exceeded a secondary rate limit. Please wait a few minutes."),
    **{str(status): (status, "Server Error") for status in (500, 501, 502, 503, 504)},
    "401": (401, "Bad credentials"),
    "403": (403, "This cannot be done"),
    "404": (404, "Not Found"),
    "422": (422, "Validation Failed"),
    **dict.fromkeys(("lost", "drop", "hang", "says")),
}


@dataclass(slots=True)
class Fault:
    """A fault strikes `times` matching calls, after `skip` matching calls went well.

    `kind`: `rate_limit` (403, nothing remaining) · `429` · `secondary` (403) · `500` `501` `502`
    `503` `504` · `401` · `403` · `404` · `422` · `lost` (processed, then the connection drops) ·
    `drop` (dropped unprocessed) · `hang` (unprocessed, never answered) · `says` (answers with what
    `change` makes of the data).
    """

    kind: str
    method: str = "*"
    path: str = "*"
    times: int = 1
    skip: int = 0
    retry_after_s: int | None = 60
    change: Callable[[Any], Any] = lambda data: data
    hits: int = 0

    def matches(self, method: str, path: str) -> bool:
        """Return True if the fault is for such a call."""
        return fnmatch.fnmatchcase(method, self.method) and fnmatch.fnmatchcase(path, self.path)


@dataclass(slots=True)
class Faults:
    """The faults that wait for their calls."""

    waiting: list[Fault] = field(default_factory=list)

    def inject(self, fault: Fault) -> Fault:
        """Add a fault; the same object counts its `hits`."""
        if fault.kind not in KINDS:
            raise ValueError(f"unknown fault {fault.kind!r}; known: {', '.join(KINDS)}")
        self.waiting.append(fault)
        return fault

    def clear(self) -> None:
        """Forget all faults."""
        self.waiting.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """Return the fault for this call, if there is one."""
        for fault in self.waiting:
            if not fault.matches(method, path):
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            fault.hits += 1
            if fault.hits >= fault.times:
                self.waiting.remove(fault)
            return fault
        return None


def error_of(fault: Fault, reset_at: datetime) -> GitHubError | None:
    """Return the error answer of a fault, `None` if the fault is about the connection."""
    headers = {}
    if fault.kind == "rate_limit":
        headers = {
            "x-ratelimit-remaining": "0",
            "x-ratelimit-reset": str(int(reset_at.timestamp())),
        }
    elif fault.kind in {"429", "secondary"} and fault.retry_after_s is not None:
        headers = {"retry-after": str(fault.retry_after_s)}
    answer = KINDS[fault.kind]
    return answer and GitHubError(*answer, headers=headers)
