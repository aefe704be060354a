"""Jobs on runner labels, of our runs and of others, and labels that look offline."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from bot.core.model.ids import RepoId

# If no job begins on a label for so long while our runs wait, there is an alarm.
OFFLINE_AFTER = timedelta(minutes=30)
LOOK_AT_LABEL = timedelta(minutes=5)  # how often to check it
# Labels of GitHub's own runners begin so. Labels that every runner has tell nothing.
_HOSTED = ("ubuntu-", "windows-", "macos-")
_ANY_RUNNER = frozenset({"self-hosted", "linux", "windows", "macos", "x64", "arm", "arm64"})


class JobState(IntEnum):
    """How far a job is. Webhooks come in any order, so a later state is never taken back."""

    QUEUED = 0
    IN_PROGRESS = 1
    COMPLETED = 2
    UNSTARTED = 3  # it ended before a runner took it


@dataclass(frozen=True, slots=True)
class JobSeen:
    """A job as a webhook describes it."""

    job_id: int
    repo_id: RepoId
    actions_run_id: int
    labels: tuple[str, ...]
    state: JobState
    at: datetime


@dataclass(frozen=True, slots=True)
class OfflineLabel:
    """A label on which no job begins while a run of ours waits for it."""

    label: str
    since: datetime  # the last job began then, or the run has waited since then


def job_state(action: str, runner: str) -> JobState:
    """Return how far a job is by the action of its webhook."""
    if action == "completed":
        return JobState.COMPLETED if runner else JobState.UNSTARTED
    return JobState.IN_PROGRESS if action == "in_progress" else JobState.QUEUED


def own_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels that may name self-hosted runners, each once and in small letters."""
    own = [label for label in map(str.lower, labels) if not label.startswith(_HOSTED)]
    return tuple(dict.fromkeys(label for label in own if label not in _ANY_RUNNER))


def offline(
    label: str, waits_since: datetime, *, began_at: datetime | None, busy: bool, now: datetime
) -> OfflineLabel | None:
    """Return the label if it looks offline to a run that waits since ``waits_since``.

    ``began_at`` is the time when the last job began on it, None if unknown. ``busy`` is True if a
    job runs on it.
    """
    last = max(began_at, waits_since) if began_at else waits_since
    if busy or now - last < OFFLINE_AFTER:
        return None
    return OfflineLabel(label, began_at or waits_since)
