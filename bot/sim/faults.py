"""Faults that a test asks for: limits, broken servers, lost answers."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from datetime import datetime

from bot.sim.errors import GitHubError

KINDS = (
    "rate_limit",
    "429",
    "secondary",
    "500",
    "502",
    "503",
    "504",
    "401",
    "lost",
    "drop",
    "hang",
)


@dataclass(slots=True)
class Fault:
    """A fault strikes `times` matching calls, after `skip` matching calls went well.

    `kind`: `rate_limit` (403, nothing remaining) · `429` · `secondary` (403) · `500` `502` `503`
    `504` · `401` · `lost` (processed, then the connection drops) · `drop` (dropped unprocessed) ·
    `hang` (unprocessed, never answered).
    """

    kind: str
    method: str = "*"
    path: str = "*"
    times: int = 1
    skip: int = 0
    retry_after_s: int | None = 60
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
    retry = {"retry-after": str(fault.retry_after_s)} if fault.retry_after_s is not None else {}
    empty = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(reset_at.timestamp()))}
    match fault.kind:
        case "rate_limit":
            return GitHubError(403, "API rate limit exceeded for installation.", headers=empty)
        case "429":
            return GitHubError(429, "Too many requests", headers=retry)
        case "secondary":
            text = "You have exceeded a secondary rate limit. Please wait a few minutes."
            return GitHubError(403, text, headers=retry)
        case "401":
            return GitHubError(401, "Bad credentials")
        case "500" | "502" | "503" | "504":
            return GitHubError(int(fault.kind), "Server Error")
        case _:
            return None
