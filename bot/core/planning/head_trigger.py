"""How a pull request's head was learned of, and what that means for its runs."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from bot.core.github.events import PullRequestAction
from bot.core.messages import Message
from bot.core.model.ids import Sha
from bot.core.model.people import NOBODY, Account
from bot.core.model.pulls import Head, Pull
from bot.core.policy.triggers import USUAL_TYPES

_JUST_BEFORE = timedelta(milliseconds=1)
_OPENED_WITHIN = timedelta(minutes=10)  # of the first head: its webhook may have been late
_TOLD_WITHIN = timedelta(minutes=2)  # a payload may have the time of a change after the push


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


def head_since(
    pull: Pull, row: Pull | None, trigger: HeadTrigger, told_at: datetime | None
) -> datetime | None:
    """Return when a commit may at the earliest have become the head, by GitHub's clock.

    ``row`` is the pull request as it was known before. ``told_at`` is the time of an event that
    itself tells of this head, at most so much later than the push.
    """
    if row is None or (row.open and row.head_sha == pull.head_sha):
        return pull.created_at
    if told_at and trigger in {HeadTrigger.SYNCHRONIZE, HeadTrigger.REOPENED}:
        return told_at - _TOLD_WITHIN
    return row.updated_at


def activities(
    pull: Pull, head: Head, trigger: HeadTrigger, others: Collection[Head]
) -> frozenset[str]:
    """Return the types of `pull_request` by which GitHub may have told of a head.

    ``others`` are other heads of the pull request that are known.
    """
    opened, pushed, again = (
        HeadTrigger.OPENED.value,
        HeadTrigger.SYNCHRONIZE.value,
        HeadTrigger.REOPENED.value,
    )
    if trigger is HeadTrigger.REOPENED:
        return USUAL_TYPES
    if trigger is HeadTrigger.SYNCHRONIZE or others:
        return frozenset({pushed, again})
    is_first = pull.created_at and head.seen_at - pull.created_at < _OPENED_WITHIN
    if trigger is HeadTrigger.OPENED or is_first:
        return frozenset({opened, again})
    return USUAL_TYPES


def former_heads(head: Head, told: Iterable[Sha | None]) -> tuple[Head, ...]:
    """Return the commits of an event that the head has replaced, whose own events may be lost.

    They tell whether a comment that comes late can mean the head. When they were seen is not known.
    """
    older = dict.fromkeys(sha for sha in told if sha and sha != head.sha)
    before = head.seen_at - _JUST_BEFORE
    return tuple(Head(head.repo_id, head.number, sha, NOBODY, before) for sha in older)


@dataclass(frozen=True, slots=True)
class LearnedHead:
    """A head, what made us look at it, and the person behind that."""

    head: Head
    trigger: HeadTrigger
    by: Account
    fresh: bool  # the commit has just become the head
    activities: frozenset[str] = USUAL_TYPES  # that GitHub may have told of it by

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
