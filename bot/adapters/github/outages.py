"""What of GitHub fails now: one line in the log when it begins, and one when it is over."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog

from bot.ports.clock import Clock

# What fails is tried again after 5 min at most. What nobody tries any more is no failure of now.
FORGOTTEN_AFTER = timedelta(minutes=10)


@dataclass(slots=True)
class _Outage:
    since: datetime
    last_at: datetime
    words: str
    repos: set[str] = field(default_factory=set)  # where it fails; "" for calls of the app


class Outages:
    """The operations that fail now, each until it works again wherever it failed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, _Outage] = {}
        self._log = structlog.get_logger(part="github")

    def failed(self, operation: str, repo: str, words: str) -> None:
        """Note a failed call. The log's context names the delivery or the run that needed it."""
        now = self._clock.now()
        self._forget(now)
        if operation not in self._open:
            told = {"repo": repo or None, "operation": operation, "why": words}
            self._log.warning("GitHub fails", **told)
            self._open[operation] = _Outage(now, now, words)
        outage = self._open[operation]
        outage.last_at, outage.words = now, words
        outage.repos.add(repo)

    def worked(self, operation: str, repo: str) -> None:
        """Note a call that went well."""
        outage = self._open.get(operation)
        if outage is None:
            return
        outage.repos.discard(repo)
        if not outage.repos:
            del self._open[operation]
            seconds = (self._clock.now() - outage.since).total_seconds()
            told = {"repo": repo or None, "operation": operation, "failed_for_s": round(seconds)}
            self._log.info("GitHub works again", **told)

    def now(self) -> Iterable[dict[str, Any]]:
        """Return what fails now, as JSON."""
        self._forget(self._clock.now())
        return [
            {"operation": name, "since": outage.since.isoformat(), "why": outage.words}
            for name, outage in self._open.items()
        ]

    def _forget(self, now: datetime) -> None:
        for name, outage in list(self._open.items()):
            if now - outage.last_at > FORGOTTEN_AFTER:
                del self._open[name]
                self._log.info("what failed on GitHub is not tried any more", operation=name)
