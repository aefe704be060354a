"""What one service bears, whatever its backend."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of each is accepted; what is above is refused or cut, and said so."""

    live_jobs: int = 256
    watches: int = 1000
    watches_a_job: int = 100
    line_bytes: int = 8 * 1024 * 1024
    log_bytes: int = 4 * 1024**3
    grace_s: float = 3.0  # a cancelled Actions step lives 7.5 s: the DELETE must answer sooner
    keep_days: float = 14.0
    free_bytes: int = 64 * 1024 * 1024  # with less space no job is accepted: its log would be lost
