"""Limits, lost answers and refusals: what every call has in common."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import unused_port

from bot.adapters.github import GitHubClient
from bot.core.model.ids import Sha
from bot.core.model.views import CheckWrite
from bot.ports.errors import Lost, Permanent, Transient
from tests.adapters.github.support import (
    REPO,
    HandClock,
    R,
    Reply,
    Scripted,
    pull_json,
    quota,
    run_json,
)

PULL = f"{R}/pulls/5"
DISPATCH = f"{R}/actions/workflows/e2e.yml/dispatches"
CREATE = CheckWrite("Ascend / a", Sha("a" * 40), "x1", "queued", "queued", "it waits")
PROGRESS = CheckWrite("Ascend / a", Sha("a" * 40), "x1", "in_progress", "step 2", "it runs")
DONE = CheckWrite("Ascend / a", Sha("a" * 40), "x1", "completed", "ok", "it ran", "success")


# Limits


@pytest.mark.parametrize(
    ("reply", "wait_s"),
    [
        pytest.param(Reply(403, {"message": "limit"}, quota(0)), 600, id="403 with nothing left"),
        pytest.param(Reply(429, {"message": "limit"}, quota(0)), 600, id="429 with nothing left"),
        pytest.param(Reply(429, {"message": "slow"}), 60, id="429 without a time"),
        pytest.param(
            Reply(403, {"message": "You have exceeded a secondary rate limit."}),
            60,
            id="secondary limit without a time",
        ),
        pytest.param(
            Reply(403, {"message": "secondary"}, {"retry-after": "17"} | quota(100)),
            17,
            id="retry-after comes first",
        ),
        pytest.param(Reply(429, raw=b"<html>"), 60, id="429 that is no JSON"),
    ],
)
async def test_a_limit_is_transient_and_holds_the_installation_back(
    client: GitHubClient, github: Scripted, clock: HandClock, reply: Reply, wait_s: float
) -> None:
    github.on("GET", PULL, reply, Reply(body=pull_json()))
    with pytest.raises(Transient) as caught:
        await client.pull(REPO, 5)
    assert caught.value.retry_after_s == pytest.approx(wait_s)

    clock.advance(wait_s - 1)
    with pytest.raises(Transient) as held:
        await client.dispatch(REPO, "e2e.yml", "main", {})
    assert held.value.retry_after_s == pytest.approx(1)
    assert not isinstance(held.value, Lost)
    assert len(github.requests()) == 1

    clock.advance(1)
    assert (await client.pull(REPO, 5)).number == 5


async def test_secondary_limits_in_a_row_wait_longer_each_time(
    client: GitHubClient, github: Scripted, clock: HandClock
) -> None:
    github.on("GET", PULL, Reply(429))
    waits = []
    for _ in range(6):
        with pytest.raises(Transient) as caught:
            await client.pull(REPO, 5)
        assert caught.value.retry_after_s is not None
        waits.append(caught.value.retry_after_s)
        clock.advance(waits[-1])
    assert waits == [60, 120, 240, 480, 900, 900]


async def test_a_spent_quota_holds_back_before_github_must_refuse(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", PULL, Reply(body=pull_json(), headers=quota(0, reset_in=30)))
    await client.pull(REPO, 5)
    with pytest.raises(Transient) as caught:
        await client.pull(REPO, 5)
    assert caught.value.retry_after_s == pytest.approx(30)


async def test_a_limit_of_another_resource_is_none_of_ours(
    client: GitHubClient, github: Scripted
) -> None:
    headers = quota(0) | {"x-ratelimit-resource": "search"}
    github.on("GET", PULL, Reply(body=pull_json(), headers=headers))
    await client.pull(REPO, 5)
    await client.pull(REPO, 5)


@pytest.mark.parametrize("status", [200, 404])
async def test_progress_gives_way_when_the_quota_runs_low(
    client: GitHubClient, github: Scripted, status: int
) -> None:
    github.on("GET", PULL, Reply(status, pull_json(), quota(499)))
    github.on("PATCH", f"{R}/check-runs/8", Reply(body={"id": 8}, headers=quota(498)))
    try:
        await client.pull(REPO, 5)
    except Permanent:
        assert status == 404  # the headers of errors count too

    with pytest.raises(Transient) as caught:
        await client.update_check(REPO, 8, PROGRESS)
    assert caught.value.retry_after_s == 60
    await client.update_check(REPO, 8, DONE)


async def test_garbled_quota_headers_are_ignored(client: GitHubClient, github: Scripted) -> None:
    headers = quota(5) | {"x-ratelimit-remaining": "many"}
    github.on("GET", PULL, Reply(body=pull_json(), headers=headers))
    assert (await client.pull(REPO, 5)).number == 5


async def test_writes_of_a_burst_go_at_once_and_then_a_second_apart(
    client: GitHubClient, github: Scripted, clock: HandClock
) -> None:
    github.on("POST", f"{R}/check-runs", Reply(201, {"id": 1}))
    for _ in range(5):
        await client.create_check(REPO, CREATE)
    assert clock.slept == []
    await client.create_check(REPO, CREATE)
    assert sum(clock.slept) == pytest.approx(1)


async def test_reads_and_dispatches_are_not_paced(
    client: GitHubClient, github: Scripted, clock: HandClock
) -> None:
    github.on("GET", PULL, Reply(body=pull_json()))
    github.on("POST", DISPATCH, Reply(204))
    for _ in range(20):
        await client.pull(REPO, 5)
        await client.dispatch(REPO, "e2e.yml", "main", {})
    assert clock.slept == []


# Lost answers


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(drop=True), id="connection lost"),
        pytest.param(Reply(502, raw=b"<html>Bad Gateway"), id="502"),
        pytest.param(
            Reply(200, raw=b"{", headers={"content-type": "application/json"}), id="broken JSON"
        ),
        pytest.param(Reply(201, {"unexpected": 1}), id="no id in it"),
    ],
)
async def test_a_lost_answer_of_what_must_not_be_repeated_is_told_and_not_repeated(
    client: GitHubClient, github: Scripted, reply: Reply
) -> None:
    github.on("POST", DISPATCH, reply)
    github.on("POST", f"{R}/check-runs", reply)
    github.on("POST", f"{R}/issues/5/comments", reply)
    github.on("POST", f"{R}/actions/runs/900/rerun", reply)
    with pytest.raises(Lost):
        await client.dispatch(REPO, "e2e.yml", "main", {})
    with pytest.raises(Lost):
        await client.create_check(REPO, CREATE)
    with pytest.raises(Lost):
        await client.comment(REPO, 5, "hello")
    if reply.status != 201:
        with pytest.raises(Lost):
            await client.rerun(REPO, 900, failed_only=False)
    assert len(github.requests()) == (3 if reply.status == 201 else 4)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(drop=True), id="connection lost"),
        pytest.param(Reply(500), id="500"),
        pytest.param(Reply(599, raw=b"?"), id="a status nobody named"),
        pytest.param(
            Reply(200, raw=b"{", headers={"content-type": "application/json"}), id="broken JSON"
        ),
    ],
)
async def test_what_is_safe_is_repeated(
    client: GitHubClient, github: Scripted, reply: Reply
) -> None:
    github.on("GET", f"{R}/actions/runs/900", reply, reply, Reply(body=run_json()))
    github.on("PATCH", f"{R}/check-runs/8", reply, reply, Reply(body={"id": 8}))
    github.on("POST", f"{R}/actions/runs/900/cancel", reply, reply, Reply(202, {}))
    assert (await client.actions_run(REPO, 900)).id == 900
    await client.update_check(REPO, 8, DONE)
    assert await client.cancel(REPO, 900)


async def test_what_fails_three_times_is_transient_and_not_lost(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", PULL, Reply(503))
    with pytest.raises(Transient) as caught:
        await client.pull(REPO, 5)
    assert not isinstance(caught.value, Lost)
    assert caught.value.__cause__ is not None
    assert len(github.requests()) == 3


async def test_a_call_that_never_left_is_not_lost(client: GitHubClient, github: Scripted) -> None:
    # The token is there, and then nobody listens at the address the call is sent on to.
    nobody = f"http://127.0.0.1:{unused_port()}/x"
    github.on("POST", DISPATCH, Reply(307, headers={"location": nobody}))
    with pytest.raises(Transient) as caught:
        await client.dispatch(REPO, "e2e.yml", "main", {})
    assert isinstance(caught.value.__cause__, aiohttp.ClientConnectorError)
    assert not isinstance(caught.value, Lost)


async def test_an_unanswered_call_ends_at_its_time_limit(
    client: GitHubClient, github: Scripted
) -> None:
    release = asyncio.Event()
    github.on("GET", PULL, Reply(body=pull_json()))
    github.on("POST", DISPATCH, Reply(204, hold=release))
    await client.pull(REPO, 5)  # the token is there
    client._wire.total_s = 0.05
    with pytest.raises(Lost):
        await client.dispatch(REPO, "e2e.yml", "main", {})
    release.set()


# Refusals


@pytest.mark.parametrize("status", [400, 404, 410, 422, 451])
async def test_a_refusal_is_permanent_in_githubs_words(
    client: GitHubClient, github: Scripted, status: int
) -> None:
    github.on("POST", DISPATCH, Reply(status, {"message": "No ref found for: abc"}))
    with pytest.raises(Permanent, match="No ref found for: abc") as caught:
        await client.dispatch(REPO, "e2e.yml", "abc", {})
    assert caught.value.status == status
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(422, {"no": "message"}), id="no message"),
        pytest.param(Reply(422, [1]), id="a list"),
        pytest.param(
            Reply(404, raw=b"\xff{", headers={"content-type": "application/json"}), id="x"
        ),
        pytest.param(Reply(422, raw=b"what?"), id="no JSON"),
        pytest.param(
            Reply(422, {"message": "Invalid", "errors": [{"code": "custom", "message": "m"}]}),
            id="custom errors",
        ),
    ],
)
async def test_an_odd_refusal_is_permanent_all_the_same(
    client: GitHubClient, github: Scripted, reply: Reply
) -> None:
    github.on("POST", DISPATCH, reply)
    with pytest.raises(Permanent) as caught:
        await client.dispatch(REPO, "e2e.yml", "main", {})
    assert caught.value.status == reply.status


async def test_a_missing_permission_is_named_and_no_limit(
    client: GitHubClient, github: Scripted
) -> None:
    headers = {"x-accepted-github-permissions": "checks=write"} | quota(4000)
    body = {"message": "Resource not accessible by integration"}
    github.on("POST", f"{R}/check-runs", Reply(403, body, headers))
    with pytest.raises(Permanent, match="checks=write") as caught:
        await client.create_check(REPO, CREATE)
    assert caught.value.status == 403


@pytest.mark.parametrize("body", [[], {"number": 5}, {"head": None}, "text"])
async def test_an_answer_without_what_it_should_hold_is_transient(
    client: GitHubClient, github: Scripted, body: Any
) -> None:
    github.on("GET", PULL, Reply(body=body))
    with pytest.raises(Transient, match="pull"):
        await client.pull(REPO, 5)


async def test_a_list_that_is_none_is_transient(client: GitHubClient, github: Scripted) -> None:
    github.on("GET", f"{R}/pulls", Reply(body={"message": "?"}))
    with pytest.raises(Transient, match="no list"):
        await client.open_pulls(REPO)
