"""How a pull request's head was learned of, and what that means for its runs."""

from dataclasses import dataclass
from enum import StrEnum

from bot.core.github.events import PullRequestAction
from bot.core.messages import Message
from bot.core.model.people import Account
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
    FOUND_BY_LOOKING = "found_by_looking"  # its webhook was lost
    REQUEST = "request"  # a person's command or click
    DISPATCH = "dispatch"  # a run of it is about to start, some time after that was decided

    @property
    def is_push(self) -> bool:
        """Return True if the sender of the event pushed the head; anybody opens a pull request."""
        return self is HeadTrigger.SYNCHRONIZE

    @property
    def asks_for_trust(self) -> bool:
        """Return True if the head's trust matters even if nothing starts by itself."""
        return self in {HeadTrigger.REQUEST, HeadTrigger.DISPATCH}

    @property
    def may_be_fresh(self) -> bool:
        """Return True if such an event can tell of a commit that has just become the head."""
        return self in {
            HeadTrigger.OPENED,
            HeadTrigger.REOPENED,
            HeadTrigger.SYNCHRONIZE,
            HeadTrigger.FOUND_BY_LOOKING,
        }


@dataclass(frozen=True, slots=True)
class LearnedHead:
    """A head, what made us look at it, and the person behind that."""

    head: Head
    trigger: HeadTrigger
    by: Account
    fresh: bool  # the commit has just become the head

    @property
    def origin(self) -> Message:
        """Return in words what starts the runs of this head."""
        sha = self.head.sha[:7]
        match self.trigger:
            case HeadTrigger.SYNCHRONIZE:
                return Message("origin_push", sha=sha)
            case HeadTrigger.FOUND_BY_LOOKING | HeadTrigger.DISPATCH:
                return Message("origin_found", sha=sha)
            case HeadTrigger.REQUEST:
                return Message("origin_approval", by=self.by.login)
            case _:
                return Message(f"origin_pull_{self.trigger}")
