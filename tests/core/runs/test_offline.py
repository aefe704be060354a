"""Which labels may be one's own, how far a job is, and when a label looks offline."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.core.runs.offline import JobState, OfflineLabel, job_state, offline, own_labels

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def ago(minutes: int) -> datetime:
    return NOW - timedelta(minutes=minutes)


def test_labels_of_github_and_words_of_every_runner_are_not_ones_own() -> None:
    labels = ("self-hosted", "Linux", "ubuntu-24.04", "macos-15", "linux-a3-8", "Linux-A3-8")
    assert own_labels(labels) == ("linux-a3-8",)


@pytest.mark.parametrize(
    ("action", "runner", "state"),
    [
        ("queued", "", JobState.QUEUED),
        ("waiting", "", JobState.QUEUED),
        ("in_progress", "r-1", JobState.IN_PROGRESS),
        ("completed", "r-1", JobState.COMPLETED),
        ("completed", "", JobState.UNSTARTED),
    ],
)
def test_a_job_is_as_far_as_its_action_says(action: str, runner: str, state: JobState) -> None:
    assert job_state(action, runner) is state


@pytest.mark.parametrize(
    ("waits", "began", "busy", "since"),
    [
        (29, None, False, None),
        (30, None, False, 30),
        (30, 100, False, 100),
        (40, 29, False, None),
        (40, 35, False, 35),
        (40, 100, True, None),
    ],
)
def test_a_label_is_quiet_when_nothing_began_for_half_an_hour_and_nothing_runs(
    waits: int, began: int | None, busy: bool, since: int | None
) -> None:
    began_at = None if began is None else ago(began)
    found = offline("a3", ago(waits), began_at=began_at, busy=busy, now=NOW)
    assert found == (None if since is None else OfflineLabel("a3", ago(since)))
