"""Workflow runs, jobs and logs."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.adapters.github import GitHubClient
from bot.core.model.people import NOBODY
from bot.ports.errors import Lost, Permanent, Silent, Transient
from tests.accounts import account
from tests.adapters.github.support import NOW, REPO, R, Reply, Scripted, run_json

DISPATCH = f"{R}/actions/workflows/e2e.yml/dispatches"
LOG = f"{R}/actions/jobs/70/logs"


async def read_log(client: GitHubClient) -> bytes:
    return b"".join([chunk async for chunk in client.job_log(REPO, 70)])


async def test_a_dispatch_tells_the_run(client: GitHubClient, github: Scripted) -> None:
    answer = {"workflow_run_id": 900, "run_url": "api", "html_url": "https://github.com/r/900"}
    github.on("POST", DISPATCH, Reply(body=answer))
    run = await client.dispatch(REPO, "e2e.yml", "main", {"sha": "a" * 40, "pr": ""})
    assert run is not None
    assert (run.id, run.attempt, run.html_url) == (900, 1, "https://github.com/r/900")
    assert run.created_at == NOW
    assert github.requests()[0].body == {"ref": "main", "inputs": {"sha": "a" * 40, "pr": ""}}


async def test_an_older_server_does_not_tell_the_run(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("POST", DISPATCH, Reply(204))
    assert await client.dispatch(REPO, "e2e.yml", "main", {}) is None


async def test_inputs_go_as_text(client: GitHubClient, github: Scripted) -> None:
    github.on("POST", DISPATCH, Reply(204))
    inputs: Any = {"timeout_minutes": 240}
    await client.dispatch(REPO, "e2e.yml", "main", inputs)
    assert github.requests()[0].body["inputs"] == {"timeout_minutes": "240"}


async def test_a_dispatch_refused_by_a_limit_is_not_lost(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("POST", DISPATCH, Reply(429, {"message": "slow"}, {"retry-after": "9"}))
    with pytest.raises(Transient) as caught:
        await client.dispatch(REPO, "e2e.yml", "main", {})
    assert not isinstance(caught.value, Lost)


async def test_runs_of_a_workflow_are_those_dispatched_since(
    client: GitHubClient, github: Scripted
) -> None:
    path = f"{R}/actions/workflows/e2e.yml/runs"
    link = {"link": f'<{github.url}{path}?page=2>; rel="next"'}
    github.on(
        "GET",
        path,
        Reply(body={"total_count": 2, "workflow_runs": [run_json(id=2)]}, headers=link),
        Reply(body={"total_count": 2, "workflow_runs": [run_json(id=1)]}),
    )
    runs = await client.runs_of_workflow(REPO, "e2e.yml", NOW)
    assert [run.id for run in runs] == [2, 1]
    assert github.requests()[0].query == {
        "event": "workflow_dispatch",
        "created": ">=2026-11-30T12:00:00Z",
        "per_page": "100",
    }


async def test_dispatched_runs_of_a_repository_are_one_list(
    client: GitHubClient, github: Scripted
) -> None:
    run = run_json(conclusion=None, status="in_progress", actor=None, triggering_actor=None)
    github.on("GET", f"{R}/actions/runs", Reply(body={"total_count": 1, "workflow_runs": [run]}))
    [[found]] = [page async for page in client.started_runs(REPO, "workflow_dispatch", NOW)]
    assert (found.status, found.conclusion, found.actor) == ("in_progress", None, NOBODY)
    until = NOW + timedelta(hours=1)
    assert [page async for page in client.started_runs(REPO, "workflow_dispatch", NOW, until)]
    asked = [request.query["created"] for request in github.requests()]
    assert asked == [">=2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z..2026-11-30T13:00:00Z"]


async def test_a_run_tells_its_attempt_and_who_started_it(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", f"{R}/actions/runs/900", Reply(body=run_json(run_attempt=3)))
    run = await client.actions_run(REPO, 900)
    assert (run.attempt, run.display_title) == (3, "suite 01ABC")
    assert (run.actor, run.triggered_by) == (account("bot"), account("ann"))
    assert (run.head_repo_id, run.pulls) == (9, (7,))
    assert run.is_of(account("bot"))
    assert not replace(run, attempt=1).is_of(account("bot"))


async def test_jobs_tell_the_first_failed_step(client: GitHubClient, github: Scripted) -> None:
    steps = [
        {"name": "checkout", "conclusion": "success"},
        {"name": "submit", "conclusion": "failure"},
        {"name": "after", "conclusion": "failure"},
    ]
    waiting = {"id": 71, "name": "b", "status": "queued", "conclusion": None, "runner_name": None}
    failed = {
        "id": 70,
        "name": "a",
        "status": "completed",
        "conclusion": "failure",
        "runner_name": "npu-1",
        "labels": ["linux-aarch64-a3-8"],
        "html_url": "h",
        "started_at": "2026-11-30T11:00:00Z",
        "completed_at": "2026-11-30T12:00:00Z",
        "steps": steps,
    }
    path = f"{R}/actions/runs/900/attempts/2/jobs"
    github.on("GET", path, Reply(body={"total_count": 2, "jobs": [failed, waiting]}))
    first, second = await client.jobs(REPO, 900, 2)
    assert (first.failed_step, first.runner, first.labels) == (
        "submit",
        "npu-1",
        ("linux-aarch64-a3-8",),
    )
    assert first.completed_at == NOW
    assert (second.failed_step, second.runner, second.started_at) == ("", "", None)


@pytest.mark.parametrize(("how", "path"), [("cancel", "cancel"), ("force_cancel", "force-cancel")])
async def test_cancelling_what_has_ended_is_false(
    client: GitHubClient, github: Scripted, how: str, path: str
) -> None:
    url = f"{R}/actions/runs/900/{path}"
    github.on("POST", url, Reply(202, {}), Reply(409, {"message": "Cannot cancel"}))
    call = getattr(client, how)
    assert await call(REPO, 900) is True
    assert await call(REPO, 900) is False


async def test_cancelling_what_is_not_there_is_refused(client: GitHubClient) -> None:
    with pytest.raises(Permanent):
        await client.cancel(REPO, 900)


@pytest.mark.parametrize(("failed_only", "path"), [(True, "rerun-failed-jobs"), (False, "rerun")])
async def test_a_rerun_is_of_all_or_of_the_failed_jobs(
    client: GitHubClient, github: Scripted, failed_only: bool, path: str
) -> None:
    github.on("POST", f"{R}/actions/runs/900/{path}", Reply(201, {}))
    await client.rerun(REPO, 900, failed_only=failed_only)
    assert len(github.requests()) == 1


async def test_one_job_is_run_again_and_the_jobs_of_all_attempts_are_listed(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("POST", f"{R}/actions/jobs/70/rerun", Reply(201, {}))
    await client.rerun_job(REPO, 70)
    listed = [{"id": 70, "status": "completed"}, {"id": 71, "status": "queued", "run_attempt": 2}]
    github.on("GET", f"{R}/actions/runs/900/jobs", Reply(body={"total_count": 2, "jobs": listed}))
    found = await client.all_jobs(REPO, 900)
    assert [(job.id, job.attempt) for job in found] == [(70, 1), (71, 2)]
    assert len(github.requests()) == 2


async def test_a_log_is_streamed_from_a_signed_link_without_the_token(
    client: GitHubClient, github: Scripted
) -> None:
    found: list[dict[str, str]] = []

    async def blob(request: web.Request) -> web.StreamResponse:
        found.append({key.lower(): value for key, value in request.headers.items()})
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await response.write(b"\xff\xfe not UTF-8\n")
        return response

    app = web.Application()
    app.router.add_get("/blob", blob)
    async with TestServer(app) as storage:
        link = str(storage.make_url("/blob?sig=a%2Fb"))
        github.on("GET", LOG, Reply(302, headers={"location": link}))
        assert await read_log(client) == b"one\n\xff\xfe not UTF-8\n"
    assert "authorization" not in found[0]
    assert "x-github-api-version" not in found[0]


async def test_a_log_comes_while_it_is_still_being_sent(
    client: GitHubClient, github: Scripted
) -> None:
    seen_first = asyncio.Event()

    async def blob(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"first\n")
        await seen_first.wait()
        await response.write(b"last\n")
        return response

    app = web.Application()
    app.router.add_get("/blob", blob)
    async with TestServer(app) as storage:
        github.on("GET", LOG, Reply(302, headers={"location": str(storage.make_url("/blob"))}))
        chunks = []
        async with aclosing(client.job_log(REPO, 70)) as log:
            async for chunk in log:
                chunks.append(chunk)
                seen_first.set()
    assert chunks == [b"first\n", b"last\n"]


async def test_a_log_cut_off_is_transient_and_a_silent_one_says_so(
    client: GitHubClient, github: Scripted
) -> None:
    release = asyncio.Event()

    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-length": "100"})
        await response.prepare(request)
        await response.write(b"first\n")
        if request.path == "/silent":
            await release.wait()
        assert request.transport is not None
        request.transport.close()
        return response

    app = web.Application()
    app.router.add_get("/{name}", cut)
    async with TestServer(app) as storage:
        github.on("GET", LOG, Reply(302, headers={"location": str(storage.make_url("/cut"))}))
        with pytest.raises(Transient):
            await read_log(client)

        client._wire.silence_s = 0.05
        github.on("GET", LOG, Reply(302, headers={"location": str(storage.make_url("/silent"))}))
        with pytest.raises(Silent):
            await read_log(client)
        release.set()


async def test_a_log_that_is_not_there_yet_is_transient(
    client: GitHubClient, github: Scripted
) -> None:
    with pytest.raises(Transient) as caught:
        await read_log(client)
    assert caught.value.retry_after_s == 5


async def test_a_log_that_is_gone_is_permanent(client: GitHubClient, github: Scripted) -> None:
    github.on("GET", LOG, Reply(410, {"message": "Gone"}))
    with pytest.raises(Permanent) as caught:
        await read_log(client)
    assert caught.value.status == 410


async def test_a_log_refused_for_its_token_has_a_new_one_next_time(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", LOG, Reply(401, {"message": "Bad credentials"}), Reply(raw=b"text"))
    with pytest.raises(Transient):
        await read_log(client)
    assert await read_log(client) == b"text"
    assert github.requests()[-1].headers["authorization"] == "Bearer ghs_2"


async def test_a_log_counts_against_the_limits(client: GitHubClient, github: Scripted) -> None:
    github.on("GET", LOG, Reply(429, {"message": "slow"}, {"retry-after": "9"}))
    for _ in range(2):
        with pytest.raises(Transient) as caught:
            await read_log(client)
        assert caught.value.retry_after_s == pytest.approx(9)
    assert len(github.requests()) == 1
