"""Comments and reactions."""

from __future__ import annotations

from typing import Any

import pytest

from bot.adapters.github import GitHubClient
from bot.ports.errors import Permanent
from tests.adapters.github.support import NOW, REPO, R, Reply, Scripted

COMMENTS = f"{R}/issues/5/comments"
COMMENT = f"{R}/issues/comments/31"


async def test_a_comment_is_posted_within_the_limit(client: GitHubClient, github: Scripted) -> None:
    github.on("POST", COMMENTS, Reply(201, {"id": 31}))
    assert await client.comment(REPO, 5, "昇" * 30_000) == 31
    assert len(github.requests()[0].body["body"].encode()) <= 65_535


async def test_a_comment_that_is_gone_is_false(client: GitHubClient, github: Scripted) -> None:
    github.on("PATCH", COMMENT, Reply(body={"id": 31}), Reply(404, {"message": "Not Found"}))
    assert await client.edit_comment(REPO, 31, "hello") is True
    assert await client.edit_comment(REPO, 31, "hello") is False


async def test_an_edit_that_is_refused_is_permanent(client: GitHubClient, github: Scripted) -> None:
    github.on("PATCH", COMMENT, Reply(403, {"message": "locked"}))
    with pytest.raises(Permanent, match="locked"):
        await client.edit_comment(REPO, 31, "hello")


def comment_json(number: int, body: str | None, app: dict[str, Any] | None) -> dict[str, Any]:
    return {"id": number, "body": body, "performed_via_github_app": app}


async def test_a_comment_of_ours_is_found_by_its_marker_and_app(
    client: GitHubClient, github: Scripted
) -> None:
    listed = [
        comment_json(1, "<!-- m1 -->", None),  # copied by a person
        comment_json(2, "<!-- m1 -->", {"id": 5}),  # by another app
        comment_json(3, None, {"id": 99}),
        comment_json(4, "text <!-- m1 -->", {"id": 99}),
    ]
    github.on("GET", COMMENTS, Reply(body=listed))
    assert await client.find_comment(REPO, 5, "<!-- m1 -->", NOW) == 4
    assert await client.find_comment(REPO, 5, "<!-- m2 -->", NOW) is None
    assert github.requests()[0].query == {"since": "2026-11-30T12:00:00Z", "per_page": "100"}


@pytest.mark.parametrize("status", [200, 201, 403, 404, 422, 500])
async def test_a_reaction_never_fails_and_says_whether_it_was_taken(
    client: GitHubClient, github: Scripted, status: int
) -> None:
    github.on("POST", f"{COMMENT}/reactions", Reply(status, {"message": "no"}))
    assert await client.react(REPO, 31, "eyes") is (status < 300)
    assert github.requests()[0].body == {"content": "eyes"}
