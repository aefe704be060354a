"""Jobs on runner labels, ours and those of others: which count, and when a label looks offline."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from bot.core.model.ids import RepoId

# A label on which no job has begun for so long while ours wait is worth an alarm.
OFFLINE_AFTER = timedelta(minutes=30)
LOOK_AT_LABEL = timedelta(minutes=5)  # whether it (still) looks offline
# Every label of GitHub's own runners begins so; the words that every runner carries tell nothing.
_HOSTED = ("ubuntu-", "windows-", "macos-")
_ANY_RUNNER = frozenset({"self-hosted", "linux", "windows", "macos", "x64", "arm", "arm64"})


class JobState(IntEnum):
    """How far a job is; webhooks come in any order, so a higher one is never taken back."""

    QUEUED = 0
    IN_PROGRESS = 1
    COMPLETED = 2
    UNSTARTED = 3  # it ended and no runner ever took it


@dataclass(frozen=True, slots=True)
class JobSeen:
    """What a webhook says of a job."""

    job_id: int
    repo_id: RepoId
    actions_run_id: int
    labels: tuple[str, ...]
    state: JobState
    at: datetime


@dataclass(frozen=True, slots=True)
class OfflineLabel:
    """A label on which nothing begins while a run of ours waits for it."""

    label: str
    since: datetime  # the last job began, or the run has waited since


def job_state(action: str, runner: str) -> JobState:
    """Return how far a job is by its webhook's action; ``waiting`` is held by a rule."""
    if action == "completed":
        return JobState.COMPLETED if runner else JobState.UNSTARTED
    return JobState.IN_PROGRESS if action == "in_progress" else JobState.QUEUED


def own_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels that may name runners of one's own, each once."""
    return tuple(dict.fromkeys(label for label in labels if _may_be_ours(label.lower())))


def _may_be_ours(label: str) -> bool:
    return label not in _ANY_RUNNER and not label.startswith(_HOSTED)


def offline(
    label: str, waits_since: datetime, *, began_at: datetime | None, busy: bool, now: datetime
) -> OfflineLabel | None:
    """Tell whether a label looks offline to a run that waits for it since ``waits_since``.

    ``began_at`` is when the last job began on it (None: not known), ``busy`` that one runs.
    """
    last = max(began_at, waits_since) if began_at else waits_since
    if busy or now - last < OFFLINE_AFTER:
        return None
    return OfflineLabel(label, began_at or waits_since)
