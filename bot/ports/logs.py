"""Where the follower keeps the logs of RayJobs, and where pages read them."""

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Protocol

from bot.core.model.ids import RunId


class LogFile(Protocol):
    """One log, open for appending by one writer. Every method may raise `Transient`."""

    @property
    def length(self) -> int:
        """Bytes as stored; always an offset that `LogFiles.open` can keep."""

    def read(self) -> AsyncGenerator[bytes, None]:
        """Yield all text stored so far; raises `Transient` where the file is damaged."""

    async def append(self, *texts: bytes) -> None:
        """Store texts; when it raises or is cancelled nothing of it counts, `length` is as before.

        A cancel is answered when the write is over.
        """

    async def close(self) -> None:
        """Give the file back."""


class LogFiles(Protocol):
    """One file a RayJob. Every method may raise `Transient`."""

    async def open(self, run_id: RunId, job_id: str, *, keep: int) -> LogFile:
        """Open for appending behind the first `keep` bytes; what lies beyond them is dropped.

        Its `length` is 0 where so many bytes are not there: the file then begins anew. A former
        writer that still has it open can't reach the new one's file.
        """

    def read(
        self, run_id: RunId, job_id: str, *, upto: int, from_line: int = 1
    ) -> AsyncGenerator[bytes, None]:
        """Yield the text of the first `upto` stored bytes, beginning with a line (from 1)."""

    async def prune(self, before: datetime) -> int:
        """Delete the logs of runs in which nothing was written since; return how many runs."""

    async def remove(self, run_id: RunId) -> None:
        """Delete the logs of one run."""
