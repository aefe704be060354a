"""What GitHub may leave null."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.adapters.github import decode
from bot.core.model.people import NOBODY
from tests.adapters.github.support import REPO, pull_json


def test_a_deleted_fork_and_user_are_tolerated() -> None:
    data = pull_json(user=None, updated_at=None, head={"sha": "a" * 40, "ref": "x", "repo": None})
    pull = decode.pull(REPO, data)
    assert (pull.head_repo_id, pull.author, pull.updated_at) == (None, NOBODY, None)
    assert pull.from_fork


def test_another_head_repository_is_a_fork() -> None:
    data = pull_json(state="closed", draft=True, head={"sha": "a" * 40, "repo": {"id": 8}})
    pull = decode.pull(REPO, data)
    assert pull.from_fork
    assert pull.draft
    assert not pull.open


@pytest.mark.parametrize(
    "text",
    ["2026-11-30T12:00:00Z", "2026-11-30T20:00:00+08:00", "2026-11-30T12:00:00"],
)
def test_every_time_is_aware_utc(text: str) -> None:
    found = decode.time(text)
    assert found == datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    ("app", "app_id", "ours"),
    [
        ({"id": 99}, "99", True),
        ({"id": 99, "client_id": "Iv23x"}, "Iv23x", True),
        ({"id": 98, "client_id": "Iv23y"}, "99", False),
        (None, "99", False),
    ],
)
def test_the_app_is_known_by_its_number_or_client_id(
    app: dict[str, object] | None, app_id: str, ours: bool
) -> None:
    assert decode.is_ours(app, app_id) is ours


@pytest.mark.parametrize(
    ("file", "head"),
    [
        ({"contents_url": "https://x/contents/a%3Fref=b.py?ref=" + "a" * 40}, "a" * 40),
        ({"contents_url": "https://x/contents/a.py"}, ""),
        ({"contents_url": "https://x/contents/a.py?ref=main"}, ""),
        ({"contents_url": None}, ""),
        ({"contents_url": "https://x/contents/a.py?ref=b", "status": "removed"}, ""),
    ],
)
def test_a_listed_file_names_the_head_it_is_of(file: dict[str, object], head: str) -> None:
    assert decode.listed_head(file) == head
