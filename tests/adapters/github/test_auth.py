"""The app's JWT and the installations' tokens."""

from __future__ import annotations

import asyncio
import dataclasses

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.adapters.github import GitHubClient
from bot.adapters.github.auth import AppCredentials
from bot.core.github.events import InstallationState
from bot.ports.errors import Permanent, Transient
from tests.adapters.github.support import (
    NOW,
    REPO,
    TOKEN_PATH,
    HandClock,
    R,
    Reply,
    Scripted,
    Seen,
    pull_json,
)


def token_requests(github: Scripted) -> int:
    return len([seen for seen in github.seen if seen.path == TOKEN_PATH])


async def test_app_jwt_is_backdated_a_minute_and_lives_ten_at_most(
    private_key: rsa.RSAPrivateKey, pem: str, clock: HandClock
) -> None:
    header = await AppCredentials("Iv23client", pem, clock).header()

    claims = jwt.decode(
        header.removeprefix("Bearer "),
        private_key.public_key(),
        algorithms=["RS256"],
        options={"verify_exp": False, "verify_iat": False},
    )
    now = int(NOW.timestamp())
    assert claims["iss"] == "Iv23client"
    assert claims["iat"] == now - 60
    assert now < claims["exp"] <= now + 600


async def test_app_jwt_is_kept_and_renewed_before_it_expires(pem: str, clock: HandClock) -> None:
    credentials = AppCredentials("99", pem, clock)
    first = await credentials.header()
    clock.advance(7 * 60)
    assert await credentials.header() == first
    clock.advance(61)
    assert await credentials.header() != first


async def test_calls_carry_the_installation_token_and_the_api_version(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", f"{R}/pulls/5", Reply(body=pull_json()))
    await client.pull(REPO, 5)

    token, read = github.seen
    assert token.headers["authorization"].startswith("Bearer ey")
    assert read.headers["authorization"] == "Bearer ghs_1"
    assert {seen.headers["x-github-api-version"] for seen in github.seen} == {"2026-03-10"}


async def test_token_is_kept_until_five_minutes_before_its_end(
    client: GitHubClient, github: Scripted, clock: HandClock
) -> None:
    github.on("GET", f"{R}/pulls/5", Reply(body=pull_json()))
    await client.pull(REPO, 5)
    clock.advance(55 * 60 - 1)
    await client.pull(REPO, 5)
    assert token_requests(github) == 1

    clock.advance(1)
    await client.pull(REPO, 5)
    assert token_requests(github) == 2


async def test_callers_at_once_share_one_token_request(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", f"{R}/pulls/5", Reply(body=pull_json()))
    await asyncio.gather(*(client.pull(REPO, 5) for _ in range(5)))
    assert token_requests(github) == 1


async def test_callers_at_once_share_a_refused_token_request(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("POST", TOKEN_PATH, Reply(403, {"message": "This installation has been suspended"}))
    found = await asyncio.gather(*(client.pull(REPO, 5) for _ in range(5)), return_exceptions=True)
    assert [type(exc) for exc in found] == [Permanent] * 5
    assert "suspended" in str(found[0])
    assert token_requests(github) == 1


async def test_a_failed_token_request_is_made_anew_by_the_next_caller(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("POST", TOKEN_PATH, *[Reply(502)] * 3, github.token)
    github.on("GET", f"{R}/pulls/5", Reply(body=pull_json()))
    with pytest.raises(Transient):
        await client.pull(REPO, 5)
    assert (await client.pull(REPO, 5)).number == 5


async def test_a_refused_token_is_dropped_and_the_call_made_once_more(
    client: GitHubClient, github: Scripted
) -> None:
    github.on(
        "POST",
        f"{R}/actions/workflows/e2e.yml/dispatches",
        Reply(401, {"message": "Bad credentials"}),
        Reply(200, {"workflow_run_id": 900, "html_url": "h"}),
    )
    run = await client.dispatch(REPO, "e2e.yml", "main", {})

    assert run is not None
    assert [seen.headers["authorization"] for seen in github.requests()] == [
        "Bearer ghs_1",
        "Bearer ghs_2",
    ]


async def test_a_token_refused_again_is_worth_another_try_later(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", f"{R}/pulls/5", Reply(401, {"message": "Bad credentials"}))
    with pytest.raises(Transient) as caught:
        await client.pull(REPO, 5)
    assert caught.value.retry_after_s == 60
    assert len(github.requests()) == 2


async def test_an_unknown_installation_is_looked_up_once(
    client: GitHubClient, github: Scripted
) -> None:
    repo = dataclasses.replace(REPO, installation_id=None)
    github.on("GET", f"{R}/installation", Reply(body={"id": 42}))
    github.on("GET", f"{R}/pulls/5", Reply(body=pull_json()))
    await client.pull(repo, 5)
    await client.pull(repo, 5)

    lookups = github.requests(path=f"{R}/installation")
    assert len(lookups) == 1
    assert lookups[0].headers["authorization"].startswith("Bearer ey")


async def test_a_repository_without_the_app_is_refused_for_good(
    client: GitHubClient, github: Scripted
) -> None:
    repo = dataclasses.replace(REPO, installation_id=None)
    with pytest.raises(Permanent) as caught:
        await client.pull(repo, 5)
    assert caught.value.status == 404


async def test_a_refused_jwt_is_signed_anew(
    client: GitHubClient, github: Scripted, clock: HandClock
) -> None:
    def once_the_clock_moved(seen: Seen) -> Reply:
        clock.advance(1)
        return Reply(401, {"message": "'Expiration time' claim ('exp') must be in the future"})

    github.on("GET", "/app/hook/deliveries", once_the_clock_moved, Reply(body=[]))
    assert await client.deliveries(NOW) == ()
    first, second = (seen.headers["authorization"] for seen in github.seen)
    assert first != second


async def test_a_token_that_was_replaced_meanwhile_is_kept(pem: str, clock: HandClock) -> None:
    credentials = AppCredentials("99", pem, clock)
    first = await credentials.header()
    credentials.forget("Bearer older")
    assert await credentials.header() is first


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (Reply(body={"suspended_at": None}), InstallationState.ACTIVE),
        (Reply(body={"suspended_at": "2026-01-01T00:00:00Z"}), InstallationState.SUSPENDED),
        (Reply(404), InstallationState.GONE),
    ],
)
async def test_an_installation_is_what_github_says_now(
    client: GitHubClient, github: Scripted, reply: Reply, state: InstallationState
) -> None:
    github.on("GET", "/app/installations/70", reply)
    assert await client.installation_state(70) is state
