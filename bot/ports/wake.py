"""Wakes loops that wait for rows; a lost wake costs only a poll interval."""

from enum import StrEnum
from typing import Protocol


class Topic(StrEnum):
    """The loop that has new rows."""

    INBOX = "inbox"
    RUNNER = "runner"
    FOLLOWER = "follower"
    REPORTER = "reporter"


class Wake(Protocol):
    """Wakes loops in this process, and in other processes where the database can."""

    def poke(self, *topics: Topic) -> None:
        """Wake the loops of these topics, here and elsewhere."""

    async def wait(self, topic: Topic) -> None:
        """Return when poked, also since the last wait."""
