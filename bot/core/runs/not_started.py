"""Why GitHub does not start a workflow that its filters select.

Source: GitHub's "Events that trigger workflows", "Skipping workflow runs" and "Disabling and
enabling a workflow".
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.core.messages import NOTHING, Message
from bot.core.model.runs import Run

_MARKS = ("[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]")
_TRAILER = re.compile(r"\n\n\n(skip-checks: ?true)\s*\Z")

_ACTIVE = "active"
_INACTIVE = "disabled_inactivity"

UNKNOWN = Message("unstarted_unknown")
REASONS = frozenset(
    {
        "unstarted_conflict",
        "unstarted_skip",
        "unstarted_disabled",
        "unstarted_inactive",
        "unstarted_refused",
        UNKNOWN.key,
    }
)

# GitHub starts a run within seconds; by now it has, or something keeps it from that.
ASK_AFTER = timedelta(seconds=20)
_ASK_AT_LEAST_EVERY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class StartFacts:
    """What GitHub tells of a workflow and of a head."""

    workflow: str
    state: str | None = None  # of the workflow; None: GitHub does not know it (yet)
    refused: str = ""  # what GitHub says instead of the state
    mergeable: bool | None = None  # None: it is not known
    message: str = ""  # of the head commit


def why_not_started(facts: StartFacts) -> Message:
    """Return why GitHub starts nothing, nothing if it may still do so."""
    workflow = f"`{facts.workflow}`"
    if facts.refused:
        return Message("unstarted_refused", error=facts.refused)
    if facts.state == _INACTIVE:
        return Message("unstarted_inactive", workflow=workflow)
    if facts.state not in {None, _ACTIVE}:
        return Message("unstarted_disabled", workflow=workflow)
    if facts.mergeable is False:
        return Message("unstarted_conflict")
    if mark := skip_mark(facts.message):
        return Message("unstarted_skip", mark=f"`{mark}`")
    return NOTHING


def skip_mark(message: str) -> str:
    """Return the words by which a commit's message asks for no runs, "" if it does not."""
    trailer = _TRAILER.search(message)
    return next((mark for mark in _MARKS if mark in message), trailer[1] if trailer else "")


def ask_again(run: Run, now: datetime) -> datetime:
    """Return when to ask GitHub again: ever less often, but a wait never lasts for good."""
    age = now - run.created_at
    return now + min(max(age / 2, ASK_AFTER), _ASK_AT_LEAST_EVERY)


def is_not_started(run: Run) -> bool:
    """Return True if a run waits for an Actions run, and somebody has to do something first."""
    return run.why.key in REASONS
