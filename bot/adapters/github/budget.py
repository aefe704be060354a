"""The rate limits of an installation: one budget, one pace, and the lowest priority for progress.

The limits are GitHub's: a primary quota in headers, secondary limits by ``retry-after`` or by
words, and the advice to wait a second between writes. GitHub may ban an app that ignores a limit,
so a limit holds back every call of the installation.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import IntEnum
from itertools import count

from bot.ports.clock import Clock
from bot.ports.errors import Held

SECONDARY_S = 60.0  # GitHub asks for at least a minute if it names no time
SECONDARY_MAX_S = 900.0  # the wait doubles up to this, so that a recovery is noticed
LOW_SHARE = 0.1  # below this share of the quota no progress is written
LOW_RETRY_S = 60.0  # progress is tried again then, or at the reset
MAX_HOLD_S = 3900.0  # a quota resets within an hour; more means a wrong clock
BURST = 5.0  # writes without a pause: a small pull request does not wait


class Priority(IntEnum):
    """The priority of a call; every call except PLAIN is a paced write."""

    PLAIN = 0  # reads, dispatches and cancels: never paced
    FINAL = 1  # final results, and edits of comments
    CREATE = 2  # new check runs, new comments
    PROGRESS = 3


# The longest wait of a write, well below a lease (30 s). Progress does not wait.
MAX_WAIT_S = {Priority.FINAL: 10.0, Priority.CREATE: 5.0, Priority.PROGRESS: 0.0}


class Quota:
    """The quota of one installation, as its answers report it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held_until: datetime | None = None
        self._strikes = 0
        self._limit = 0
        self._resets_at: datetime | None = None
        self.remaining: int | None = None

    def admit(self, priority: Priority) -> None:
        """Raise ``Held`` while calls are held back, or if progress must wait."""
        held = self._seconds_until(self._held_until)
        if held > 0:
            raise Held("GitHub's limits hold calls back", retry_after_s=held)
        reset = self._seconds_until(self._resets_at)
        low = self.remaining is not None and self.remaining < self._limit * LOW_SHARE
        if priority is Priority.PROGRESS and reset > 0 and low:
            reason = "GitHub's quota runs low, progress gives way"
            raise Held(reason, retry_after_s=min(reset, LOW_RETRY_S))

    def note(self, status: int, headers: Mapping[str, str], body: bytes) -> float | None:
        """Read an answer's headers; return the seconds to wait if a limit refused the call."""
        self._note_quota(headers)
        if status not in (403, 429):
            if status < 400:
                self._strikes = 0
            return None
        wait = self._limited_for(status, headers, body)
        if wait is None:
            return None
        self._hold(wait)
        return self._seconds_until(self._held_until)

    def _note_quota(self, headers: Mapping[str, str]) -> None:
        """Keep limit, rest and reset of the core quota; a spent quota holds until the reset."""
        if headers.get("x-ratelimit-resource", "core") != "core":
            return
        try:
            limit = int(headers["x-ratelimit-limit"])
            remaining = int(headers["x-ratelimit-remaining"])
            reset_in = float(headers["x-ratelimit-reset"]) - self._clock.now().timestamp()
        except (KeyError, ValueError):
            return  # an older server or a proxy sends no quota
        resets_at = self._clock.now() + timedelta(seconds=min(max(reset_in, 0.0), MAX_HOLD_S))
        self._limit, self.remaining, self._resets_at = limit, remaining, resets_at
        if remaining <= 0:
            self._hold(self._seconds_until(resets_at))

    def _limited_for(self, status: int, headers: Mapping[str, str], body: bytes) -> float | None:
        """Distinguish a limit from a missing permission, in GitHub's order of precedence."""
        asked = _seconds(headers.get("retry-after"))
        if asked is not None:
            return max(asked, 1.0)
        if headers.get("x-ratelimit-remaining") == "0":
            # At least a second, because GitHub's clock may be ahead of ours.
            return max(self._seconds_until(self._resets_at), 1.0)
        if status == 429 or _speaks_of_limits(body):
            self._strikes += 1
            return min(SECONDARY_S * 2.0 ** (self._strikes - 1), SECONDARY_MAX_S)
        return None

    def _hold(self, seconds: float) -> None:
        until = self._clock.now() + timedelta(seconds=seconds)
        if self._held_until is None or until > self._held_until:
            self._held_until = until

    def _seconds_until(self, when: datetime | None) -> float:
        return 0.0 if when is None else (when - self._clock.now()).total_seconds()


class WritePace:
    """A token bucket for writes, served by priority, then first come first served."""

    def __init__(self, clock: Clock, rate_per_s: float) -> None:
        """Allow ``rate_per_s`` writes a second after a burst; GitHub advises one."""
        self._clock = clock
        self._whole_per_s = self._rate_per_s = rate_per_s
        self._tokens = self._burst = BURST
        self._filled_at = clock.now()
        self._line: list[tuple[Priority, int]] = []
        self._numbers = count()
        self.has_waited = False
        """A write had to wait."""

    def share(self, part: float) -> None:
        """Allow this process its part of the rate and of the burst: GitHub's limit is for all."""
        self._rate_per_s = self._whole_per_s * part
        self._burst = max(BURST * part, 1.0)
        self._tokens = min(self._tokens, self._burst)

    async def take(self, priority: Priority) -> None:
        """Wait for a turn; raise ``Held`` if it takes longer than allowed."""
        ticket = (priority, next(self._numbers))
        give_up_at = self._clock.now() + timedelta(seconds=MAX_WAIT_S[priority])
        insort(self._line, ticket)
        try:
            while (wait := self._wait_s(ticket)) > 0:
                self.has_waited = True
                if self._clock.now() + timedelta(seconds=wait) > give_up_at:
                    raise Held("writes to GitHub are paced", retry_after_s=wait)
                await self._clock.sleep(wait)
            self._tokens -= 1
        finally:
            self._line.remove(ticket)

    def _wait_s(self, ticket: tuple[Priority, int]) -> float:
        """Return the seconds until there is a token for every earlier write and for this one."""
        now = self._clock.now()
        passed = max((now - self._filled_at).total_seconds(), 0.0)
        self._tokens = min(self._burst, self._tokens + passed * self._rate_per_s)
        self._filled_at = now
        missing = bisect_left(self._line, ticket) + 1 - self._tokens
        # A clock has microseconds, so a rest below a millisecond is rounding.
        return missing / self._rate_per_s if missing > 0.001 else 0.0


def _seconds(text: str | None) -> float | None:
    """Read ``retry-after``; ``None`` if it is absent or a date, which GitHub does not send."""
    return float(text) if text is not None and text.strip().isdecimal() else None


def _speaks_of_limits(body: bytes) -> bool:
    """Return True for the words of a secondary limit ("abuse" is the older one)."""
    words = body[:2000].lower()
    return b"rate limit" in words or b"abuse detection" in words
