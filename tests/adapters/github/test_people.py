"""Permissions and teams."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.adapters.github import GitHubClient
from bot.core.model.people import NOBODY
from bot.core.policy.levels import Level
from bot.ports.errors import Permanent
from tests.accounts import account
from tests.adapters.github.support import REPO, HandClock, R, Reply, Scripted, user_json

ANN = f"{R}/collaborators/ann/permission"
TEAM = "/orgs/acme/teams/ci-owners/memberships/ann"


def grants(*names: str) -> dict[str, bool]:
    return {name: name in names for name in ("pull", "triage", "push", "maintain", "admin")}


ANNE = account("ann")
WRITES = {**user_json("ann"), "permissions": grants("push")}


@pytest.mark.parametrize(
    ("permission", "found", "level"),
    [
        ("write", grants("pull", "triage", "push", "maintain"), Level.MAINTAIN),
        ("read", grants("pull", "triage"), Level.TRIAGE),
        ("write", grants("pull", "triage", "push"), Level.WRITE),
        ("admin", grants("pull", "triage", "push", "maintain", "admin"), Level.ADMIN),
        ("read", grants("pull"), Level.READ),
        ("none", grants(), Level.NONE),
    ],
)
async def test_a_level_is_read_from_the_grants_not_the_word(
    client: GitHubClient, github: Scripted, permission: str, found: Any, level: Level
) -> None:
    body = {
        "permission": permission,
        "role_name": "custom",
        "user": {**user_json("ann"), "permissions": found},
    }
    github.on("GET", ANN, Reply(body=body))
    assert await client.permission(REPO, ANNE) is level


@pytest.mark.parametrize(
    ("body", "level"),
    [
        ({"permission": "admin", "user": user_json("ann")}, Level.ADMIN),
        ({"permission": "write", "user": user_json("ann")}, Level.WRITE),
        ({"permission": "read", "user": user_json("ann")}, Level.READ),
        ({"permission": "none", "user": user_json("ann")}, Level.NONE),
        ({"permission": "admin", "user": user_json("eve")}, Level.NONE),
        ({"permission": "admin", "user": None}, Level.NONE),
    ],
)
async def test_without_grants_the_word_counts(
    client: GitHubClient, github: Scripted, body: Any, level: Level
) -> None:
    github.on("GET", ANN, Reply(body=body))
    assert await client.permission(REPO, ANNE) is level


async def test_nobody_has_no_level_and_is_not_asked_for(
    client: GitHubClient, github: Scripted
) -> None:
    assert await client.permission(REPO, NOBODY) is Level.NONE
    assert not await client.in_team(REPO, "ci-owners", NOBODY)
    assert github.seen == []


async def test_unknown_people_have_no_level(client: GitHubClient) -> None:
    assert await client.permission(REPO, account("dependabot[bot]")) is Level.NONE


async def test_a_level_is_believed_for_a_minute(
    client: GitHubClient, github: Scripted, clock: HandClock
) -> None:
    github.on(
        "GET",
        ANN,
        Reply(body={"user": WRITES}),
        Reply(body={"user": {**WRITES, "permissions": grants("pull")}}),
    )
    assert await client.permission(REPO, ANNE) is Level.WRITE
    clock.advance(59)
    assert await client.permission(REPO, ANNE) is Level.WRITE
    clock.advance(1)
    assert await client.permission(REPO, ANNE) is Level.READ


async def test_a_refused_question_is_no_level(client: GitHubClient, github: Scripted) -> None:
    github.on("GET", ANN, Reply(403, {"message": "no"}))
    with pytest.raises(Permanent):
        await client.permission(REPO, ANNE)


@pytest.mark.parametrize(("state", "member"), [("active", True), ("pending", False)])
async def test_only_active_members_are_in_a_team(
    client: GitHubClient, github: Scripted, state: str, member: bool
) -> None:
    github.on("GET", ANN, Reply(body={"user": WRITES}))
    github.on("GET", TEAM, Reply(body={"role": "maintainer", "state": state}))
    assert await client.in_team(REPO, "ci-owners", ANNE) is member


async def test_others_are_not_in_a_team(client: GitHubClient) -> None:
    assert not await client.in_team(REPO, "ci-owners", ANNE)


async def test_nobody_is_in_a_team_that_the_app_may_not_see_and_the_log_says_so_once(
    client: GitHubClient, github: Scripted
) -> None:
    wanted = {"X-Accepted-GitHub-Permissions": "members=read"}
    for _ in range(2):
        github.on("GET", ANN, Reply(body={"user": WRITES}))
    github.on("GET", TEAM, Reply(403, {"message": "not accessible"}, wanted))
    with capture_logs() as logs:
        for _ in range(2):
            assert not await client.in_team(REPO, "ci-owners", ANNE)
    (said,) = [entry for entry in logs if entry["event"] == "teams hidden"]
    assert (said["log_level"], said["owner"]) == ("warning", "acme")
    assert "members=read" in said["reason"]


async def test_another_refusal_of_a_team_is_no_answer(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", ANN, Reply(body={"user": WRITES}))
    github.on("GET", TEAM, Reply(422, {"message": "no"}))
    with pytest.raises(Permanent):
        await client.in_team(REPO, "ci-owners", ANNE)


async def test_the_apps_own_account_is_asked_for_once(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", "/app", Reply(body={"id": 99, "slug": "ascend-ci"}))
    github.on("GET", "/users/ascend-ci%5Bbot%5D", Reply(body=user_json("ascend-ci[bot]")))
    for _ in range(2):
        assert await client.app_account(REPO) == account("ascend-ci[bot]")
    assert len(github.requests()) == 2


async def test_a_person_with_a_new_login_is_asked_for_by_it(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", ANN, Reply(body={"user": {**WRITES, **user_json("eve")}}))  # took it
    github.on("GET", f"/user/{ANNE.id}", Reply(body={**user_json("ann"), "login": "anna"}))
    github.on("GET", f"{R}/collaborators/anna/permission", Reply(body={"user": WRITES}))
    github.on("GET", TEAM.replace("/ann", "/anna"), Reply(body={"state": "active"}))
    github.on("GET", TEAM, Reply(body={"state": "pending"}))
    assert await client.permission(REPO, ANNE) is Level.WRITE
    assert await client.in_team(REPO, "ci-owners", ANNE)
    assert await client.account_id(REPO, "nobody-has-this") == 0
