"""Redirects, ETags and what is told of a call: what every call has in common."""

from __future__ import annotations

import asyncio
import dataclasses

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from structlog.testing import capture_logs

from bot.adapters.github import GitHubClient
from bot.adapters.github.outages import Outages
from bot.core.model.ids import RepoId, Sha
from bot.core.model.views import CheckWrite
from bot.ports.errors import Lost, Transient
from tests.adapters.github.support import (
    REPO,
    TOKEN_PATH,
    HandClock,
    R,
    Reply,
    Scripted,
    Seen,
    pull_json,
    quota,
)

PULL = f"{R}/pulls/5"
DISPATCH = f"{R}/actions/workflows/e2e.yml/dispatches"
CREATE = CheckWrite("Ascend / a", Sha("a" * 40), "x1", "queued", "queued", "it waits")
PROGRESS = CheckWrite("Ascend / a", Sha("a" * 40), "x1", "in_progress", "step 2", "it runs")
DONE = CheckWrite("Ascend / a", Sha("a" * 40), "x1", "completed", "ok", "it ran", "success")

OF_8 = pull_json(base={"ref": "main", "repo": {"id": 8}})


# Redirects


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_renamed_repository_gets_the_same_method_and_body(
    client: GitHubClient, github: Scripted, status: int
) -> None:
    moved = Reply(status, {"message": "Moved"}, {"location": "/repositories/7/check-runs"})
    github.on("POST", f"{R}/check-runs", moved)
    github.on("POST", "/repositories/7/check-runs", Reply(201, {"id": 3}))
    assert await client.create_check(REPO, CREATE) == 3

    first, second = github.requests()
    assert second.body == first.body
    assert second.headers["authorization"] == first.headers["authorization"]


async def test_see_other_becomes_a_get(client: GitHubClient, github: Scripted) -> None:
    github.on("POST", f"{R}/actions/runs/900/cancel", Reply(303, headers={"location": "/seen"}))
    github.on("GET", "/seen", Reply(body={}))
    assert await client.cancel(REPO, 900)


async def test_redirects_in_a_circle_end(client: GitHubClient, github: Scripted) -> None:
    github.on("GET", PULL, Reply(301, headers={"location": PULL}))
    with pytest.raises(Transient, match="TooManyRedirects"):
        await client.pull(REPO, 5)


async def test_another_origin_never_sees_the_token(client: GitHubClient, github: Scripted) -> None:
    found: list[dict[str, str]] = []

    async def elsewhere(request: web.Request) -> web.Response:
        found.append({key.lower(): value for key, value in request.headers.items()})
        return web.json_response(pull_json())

    app = web.Application()
    app.router.add_get("/x", elsewhere)
    async with TestServer(app) as other:
        location = str(other.make_url("/x"))
        github.on("GET", PULL, Reply(302, headers={"location": location}))
        assert (await client.pull(REPO, 5)).number == 5
    assert "authorization" not in found[0]


# ETags


def etagged(seen: Seen) -> Reply:
    if seen.headers.get("if-none-match") == '"v1"':
        return Reply(304, headers={"etag": '"v1"'})
    return Reply(body=pull_json(), headers={"etag": '"v1"'})


async def test_an_unchanged_answer_is_asked_by_etag_and_read_anew(
    client: GitHubClient, github: Scripted, calls: list[tuple[str, int]]
) -> None:
    github.on("GET", PULL, etagged)
    first = await client.pull(REPO, 5)
    assert await client.pull(REPO, 5) == first
    assert [status for operation, status in calls if operation == "pull"] == [200, 304]


async def test_pages_of_an_unchanged_list_lead_on(client: GitHubClient, github: Scripted) -> None:
    def page(seen: Seen) -> Reply:
        number = seen.query.get("page", "1")
        tag = f'"p{number}"'
        more = {"link": f'<{github.url}{R}/pulls?page=2>; rel="next"'} if number == "1" else {}
        if seen.headers.get("if-none-match") == tag:
            return Reply(304, headers={"etag": tag})
        body = [pull_json(number=int(number))]
        return Reply(body=body, headers={"etag": tag} | more)

    github.on("GET", f"{R}/pulls", page)
    for _ in range(2):
        assert [pull.number for pull in await client.open_pulls(REPO)] == [1, 2]
    assert len(github.requests()) == 4


async def test_a_304_without_a_question_is_transient(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", PULL, Reply(304))
    with pytest.raises(Transient):
        await client.pull(REPO, 5)


# What is told of a call


async def test_each_call_is_logged_with_what_an_operator_asks_for(
    client: GitHubClient, github: Scripted, calls: list[tuple[str, int]]
) -> None:
    headers = quota(4711) | {"x-github-request-id": "ABCD:1"}
    github.on("GET", PULL, Reply(body=pull_json(), headers=headers))
    with capture_logs() as logs:
        await client.pull(REPO, 5)
    entry = logs[-1]
    assert (entry["operation"], entry["status"]) == ("pull", 200)
    assert (entry["remaining"], entry["request_id"]) == ("4711", "ABCD:1")
    assert calls == [("token", 201), ("pull", 200)]
    assert "ghs_" not in str(logs)


async def test_a_call_without_an_answer_is_counted_as_status_0(
    client: GitHubClient, github: Scripted, calls: list[tuple[str, int]]
) -> None:
    github.on("POST", DISPATCH, Reply(drop=True))
    with pytest.raises(Lost):
        await client.dispatch(REPO, "e2e.yml", "main", {})
    assert calls[-1] == ("dispatch", 0)


# How many at once, and where


async def test_an_installation_makes_fifty_calls_at_once_at_most(
    client: GitHubClient, github: Scripted
) -> None:
    release, full = asyncio.Event(), asyncio.Event()

    def count(_: Seen) -> Reply:
        if len(github.requests(path=PULL)) >= 50:
            full.set()
        return Reply(body=pull_json(), hold=release)

    github.on("GET", PULL, count)
    async with asyncio.TaskGroup() as tasks, aiohttp.ClientSession() as session:
        for _ in range(60):
            tasks.create_task(client.pull(REPO, 5))
        await full.wait()
        for _ in range(5):  # round trips in which a 51st would have come
            await session.get(f"{github.url}/ping")
        at_once = len(github.requests(path=PULL))
        release.set()
    assert at_once == 50
    assert len(github.requests(path=PULL)) == 60


async def test_a_server_below_a_path_is_called_below_it(
    github: Scripted, pem: str, clock: HandClock
) -> None:
    github.on("POST", f"/api/v3{TOKEN_PATH}", github.token)
    github.on("GET", f"/api/v3{PULL}", Reply(body=pull_json()))
    async with aiohttp.ClientSession() as session:
        client = GitHubClient(
            session,
            app_id="99",
            private_key=pem,
            api_url=f"{github.url}/api/v3",
            api_version="2026-03-10",
            clock=clock,
            outages=Outages(clock),
        )
        assert (await client.pull(REPO, 5)).number == 5


async def test_a_pull_request_of_another_repository_with_the_name_is_not_believed(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", PULL, Reply(body=OF_8))
    with pytest.raises(Transient, match="is another repository now"):
        await client.pull(REPO, 5)


async def test_one_installations_limit_is_not_anothers(
    client: GitHubClient, github: Scripted
) -> None:
    other = dataclasses.replace(REPO, id=RepoId(8), owner="umbrella", installation_id=43)
    github.on("POST", "/app/installations/43/access_tokens", github.token)
    github.on("GET", "/repos/umbrella/verl/pulls/5", Reply(body=OF_8))
    github.on("GET", PULL, Reply(429))
    with pytest.raises(Transient):
        await client.pull(REPO, 5)
    assert (await client.pull(other, 5)).number == 5


async def test_a_request_timeout_of_the_server_is_transient(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("POST", DISPATCH, Reply(408, {"message": "Timeout"}))
    with pytest.raises(Transient):
        await client.dispatch(REPO, "e2e.yml", "main", {})


async def test_a_list_without_an_end_is_cut_and_said_so(
    client: GitHubClient, github: Scripted
) -> None:
    link = {"link": f'<{github.url}{R}/pulls?page=2>; rel="next"'}
    github.on("GET", f"{R}/pulls", Reply(body=[pull_json()], headers=link))
    with capture_logs() as logs:
        assert len(await client.open_pulls(REPO)) == 30
    assert [entry["operation"] for entry in logs if entry["event"] == "list cut"] == ["open_pulls"]
