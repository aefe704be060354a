"""Waking whoever waits for rows; a lost wake costs a poll interval, nothing else."""

from enum import StrEnum
from typing import Protocol


class Topic(StrEnum):
    """Whose rows changed."""

    INBOX = "inbox"
    RUNNER = "runner"
    FOLLOWER = "follower"
    REPORTER = "reporter"


class Wake(Protocol):
    """In the process by event, between processes by NOTIFY where the database has it."""

    def poke(self, *topics: Topic) -> None:
        """Wake the loops of these topics, here and elsewhere."""
        ...

    async def wait(self, topic: Topic, timeout_s: float) -> None:
        """Return when poked, or after ``timeout_s``."""
        ...
