"""How a pull request's head was learned of, and what that means for its runs."""

from dataclasses import dataclass
from enum import StrEnum

from bot.core.github.events import PullRequestAction
from bot.core.model.pulls import Head


class HeadTrigger(StrEnum):
    """What made us look at a pull request's head."""

    OPENED = PullRequestAction.OPENED
    REOPENED = PullRequestAction.REOPENED
    SYNCHRONIZE = PullRequestAction.SYNCHRONIZE
    EDITED = PullRequestAction.EDITED
    CONVERTED_TO_DRAFT = PullRequestAction.CONVERTED_TO_DRAFT
    READY_FOR_REVIEW = PullRequestAction.READY_FOR_REVIEW
    CLOSED = PullRequestAction.CLOSED  # a late webhook of a pull request that is open again
    FOUND_BY_LOOKING = "found by looking"  # its webhook was lost
    REQUEST = "request"  # a person's command or click

    @property
    def brings_commit(self) -> bool:
        """Return True if the sender of the event pushed the head."""
        return self in {HeadTrigger.OPENED, HeadTrigger.SYNCHRONIZE}

    @property
    def is_fresh(self) -> bool:
        """Return True if the commit has just become the head."""
        return self.brings_commit or self in {HeadTrigger.REOPENED, HeadTrigger.FOUND_BY_LOOKING}


@dataclass(frozen=True, slots=True)
class LearnedHead:
    """A head, what made us look at it, and the person behind that."""

    head: Head
    trigger: HeadTrigger
    by: str | None  # None: nobody, or not known

    @property
    def origin(self) -> str:
        """Return in words what starts the runs of this head."""
        sha = self.head.sha[:7]
        match self.trigger:
            case HeadTrigger.SYNCHRONIZE:
                return f"a push of {sha}"
            case HeadTrigger.FOUND_BY_LOOKING:
                return f"{sha}, found as the head"
            case HeadTrigger.REQUEST:
                return f"the approval of {self.by}"
            case _:
                return f"the pull request being {self.trigger.replace('_', ' ')}"
