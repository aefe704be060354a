"""The words of a submitter for the end of a RayJob, and their meaning."""

import re
from enum import StrEnum, unique
from typing import NewType, Self

RayJobId = NewType("RayJobId", str)

_word = re.compile(r"[A-Za-z0-9_-]{1,40}").fullmatch


# As in `ascend-ci submit`; no id is a part of a path that leads elsewhere.
_job_id = re.compile(r"(?!\.{1,2}\Z)[\w.:-]{1,253}", re.ASCII).fullmatch


def rayjob_id(text: str) -> RayJobId | None:
    """Return a text as the id of a RayJob, None if it can't be one."""
    return RayJobId(text) if _job_id(text) else None


def state_word(deployment: str, status: str) -> str:
    """Return how a RayJob stands in a word, "" when nothing says so."""
    words = [word for word in (deployment, status) if word]
    odd = "in a state of its own" if words else ""
    return next((word for word in words if _word(word)), odd)


@unique
class FinalStatus(StrEnum):
    """The end of a RayJob. Words are compared exactly: only `SUCCEEDED` may turn a run green."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    NOT_FOUND = "NOT_FOUND"
    STOPPED = "STOPPED"
    OTHER = "OTHER"

    @classmethod
    def of(cls, word: str) -> Self:
        """Return the status for a word; an unknown word is `OTHER`."""
        try:
            return cls(word.strip())
        except ValueError:
            return cls("OTHER")

    @property
    def tells_the_end(self) -> bool:
        """Return True if the job itself ended so; other words leave its end unknown.

        A restarted submitter says `NOT_FOUND` while the RayJob still exists. `STOPPED` may come
        from anybody. So neither may decide a verdict.
        """
        return self in {FinalStatus.SUCCEEDED, FinalStatus.FAILED, FinalStatus.TIMEOUT}
