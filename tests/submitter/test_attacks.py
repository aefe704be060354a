"""Attacks on the submitter: pages in a browser, the network, and jobs of other tenants."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

from bot.core.model.ids import RepoId
from bot.ports.oidc import Denial, Proof, Why
from bot.submitter.backend import Limits
from bot.submitter.callers import Callers, Repositories, digest_of
from bot.submitter.local import LocalBackend
from bot.submitter.request import RefusedError
from bot.submitter.web import Options, create_app
from tests.submitter.conftest import (
    BODY,
    CALLERS,
    TOKEN,
    Process,
    Service,
    at_loopback,
    in_process,
    lines,
    pids_with,
)

WORKFLOW = "octo/verl/.github/workflows/e2e.yml@refs/heads/main"
JSON = {"Content-Type": "application/json"}


async def test_a_web_page_starts_no_process(process: Process) -> None:
    """A browser sends such a post to any address, without asking first; or the page knows how."""
    service = await process.start()
    port = service.url.rpartition(":")[2]
    mark = process.folder / "mark"
    body = json.dumps(service.body(f"touch {mark}"))
    posts = [
        ({"Content-Type": "text/plain", "Origin": "https://evil.example"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": ""}, 415),
        ({**JSON, "Origin": "https://evil.example"}, 403),
        ({**JSON, "Origin": "null"}, 403),
        ({**JSON, "Host": f"evil.example:{port}"}, 403),
        ({**JSON, "Host": "evil.example"}, 403),
        ({**JSON, "Host": f"127.0.0.1@evil.example:{port}"}, 403),
        ({**JSON, "Host": f"127.0.0.1.evil.example:{port}"}, 403),
    ]
    url = f"{service.url}/api/v1/rayjobs"
    for headers, status in posts:
        async with service.http.post(url, data=body, headers=headers) as answer:
            assert answer.status == status, headers
    async with service.http.options(url, headers={"Origin": "https://evil.example"}) as answer:
        assert not [name for name in answer.headers if name.startswith("Access-Control")]
    assert (await service.call("GET", "/api/v1/workflows/77"))[1] == {"jobs": []}
    await service.events(await service.post("true"))
    assert not mark.exists()


async def test_nobody_without_a_token_starts_or_stops_a_job(service: Service) -> None:
    job = await service.post("sleep 60", key="k")
    body = json.dumps(service.body())
    async with aiohttp.ClientSession(service.url) as http:
        for method, path in [
            ("POST", "/api/v1/rayjobs"),
            ("DELETE", "/api/v1/workflows/77?attempt=1"),
            ("GET", "/api/v1/workflows/77"),
            ("GET", f"/api/v1/rayjobs/{job}"),
            ("GET", f"/api/v1/rayjobs/{job}/watch"),
        ]:
            async with http.request(method, path, data=body, headers=JSON) as answer:
                assert answer.status == 401
    assert (await service.state(job))["ended_at"] is None


class Cluster(LocalBackend):
    """A backend that is asked through the network, and counts the calls that it has at once."""

    at_once = most = 0

    async def problem(self) -> str | None:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.05)
        self.at_once -= 1
        return None


async def test_questions_for_health_do_not_reach_the_cluster_one_by_one(
    http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    """Nobody needs a token for them."""
    backend = Cluster(tmp_path / "data")
    async with at_loopback(create_app(backend, Options(CALLERS)), http, tmp_path) as service:
        for _ in range(2):
            asked = await asyncio.gather(*(service.call("GET", "/healthz") for _ in range(50)))
            assert {status for status, _ in asked} == {200}
    assert backend.most == 1


class Issuer:
    """An issuer whose tokens are `workflow_ref repository run attempt`."""

    number = RepoId(1)

    async def prove(self, token: str) -> Proof | Denial:
        try:
            ref, repository, run, attempt = token.split()
        except ValueError:
            return Denial(Why.UNPROVEN, "the token is no JSON web token")
        until = datetime.now(UTC) + timedelta(minutes=5)
        return Proof(
            "j", self.number, repository, int(run), int(attempt), ref, "workflow_dispatch", until
        )


def bearer(
    repository: str = "octo/verl", run: str = "77", attempt: str = "1", ref: str = WORKFLOW
) -> dict[str, str]:
    return {"Authorization": f"Bearer {ref} {repository} {run} {attempt}"}


@pytest.fixture
async def proving(http: aiohttp.ClientSession, tmp_path: Path) -> AsyncIterator[Service]:
    callers = Callers(digest_of(TOKEN), Issuer(), frozenset({WORKFLOW}))
    async with in_process(http, tmp_path, Options(callers, stop_jobs_on_exit=True)) as made:
        yield made


async def test_a_workflow_submits_for_nothing_but_its_own_run_attempt(proving: Service) -> None:
    foreign: list[tuple[dict[str, str], int]] = [
        (bearer("octo/other"), 403),
        (bearer(run="78"), 403),
        (bearer(attempt="2"), 403),
        (bearer(ref=WORKFLOW.replace("main", "evil")), 403),
        (bearer(ref=WORKFLOW.replace("main", "x@refs/heads/main")), 403),
        (bearer(ref=WORKFLOW.replace("e2e", "other")), 403),
        (bearer(ref=f"evil/{WORKFLOW}"), 403),
        ({"Authorization": "Bearer rubbish"}, 401),
    ]
    url, body = "/api/v1/rayjobs", json.dumps(proving.body("echo ours"))
    for headers, status in foreign:
        assert (await proving.call("POST", url, data=body, headers=JSON | headers))[0] == status
    status, answer = await proving.call("POST", url, data=body, headers=JSON | bearer())
    assert status == 201
    assert lines(await proving.events(answer["job_id"])) == ["ours"]


async def test_a_repository_does_not_take_all_places_for_jobs(
    http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    callers = Callers(digest_of(TOKEN), Issuer(), frozenset({WORKFLOW}))
    options, limits = Options(callers, stop_jobs_on_exit=True), Limits(live_jobs=2, grace_s=0.2)
    async with in_process(http, tmp_path, options, limits) as service:
        body = json.dumps(service.body(service.sleeper()))
        own = {"data": body, "headers": JSON | bearer()}
        answers = [await service.call("POST", "/api/v1/rayjobs", **own) for _ in range(2)]
        assert [status for status, _ in answers] == [201, 429]
        assert answers[1][1]["error"] == "1 jobs of this repository are alive already"
        assert (await service.try_post(service.body("true")))[0] == 201


async def test_a_record_says_whose_job_it_is_and_whether_that_is_proven(proving: Service) -> None:
    """Who holds the shared token can name any repository, run and attempt."""
    claimed = await proving.state(await proving.post("true", key="k"))
    assert (claimed["repository"], claimed["repository_id"]) == ("octo/verl", None)
    headers = JSON | bearer() | {"Idempotency-Key": "k"}
    body = json.dumps(proving.body("true"))
    status, made = await proving.call("POST", "/api/v1/rayjobs", data=body, headers=headers)
    assert (status, made["created"]) == (201, True), "a claim takes no key of who proves itself"
    proven = await proving.state(made["job_id"])
    assert (proven["repository"], proven["repository_id"]) == ("octo/verl", 1)
    _, seen = await proving.call("GET", "/api/v1/workflows/77", headers=bearer())
    assert [job["job_id"] for job in seen["jobs"]] == [made["job_id"]]


async def test_who_takes_the_name_of_a_repository_does_not_submit(tmp_path: Path) -> None:
    """Its owner renamed it, and somebody else made one with the old name and the same file."""
    issuer, path, given = Issuer(), tmp_path / "repositories.json", bearer()["Authorization"]
    for number, is_same in [(1, True), (2, False), (1, True)]:
        issuer.number = RepoId(number)
        known = Repositories(path)  # of a service that was started again
        callers = Callers(digest_of(TOKEN), issuer, frozenset({WORKFLOW}), known)
        if is_same:
            assert (await callers.of(given)).proof
        else:
            with pytest.raises(RefusedError, match="another repository now than before"):
                await callers.of(given)


async def test_a_workflow_neither_sees_nor_stops_the_job_of_another(proving: Service) -> None:
    body = json.dumps(proving.body("echo secret; sleep 60"))
    made = await proving.call("POST", "/api/v1/rayjobs", data=body, headers=JSON | bearer())
    job = made[1]["job_id"]
    await proving.until_line(job, "secret")
    for other in (bearer("octo/other"), bearer(run="78"), bearer(attempt="2")):
        for method, path, expected in [
            ("GET", f"/api/v1/rayjobs/{job}", 404),
            ("GET", f"/api/v1/rayjobs/{job}/watch", 404),
            ("DELETE", "/api/v1/workflows/77?attempt=1", 404),
        ]:
            status, answer = await proving.call(method, path, headers=other)
            assert (status, "secret" in str(answer)) == (expected, False)
        status, answer = await proving.call("GET", "/api/v1/workflows/77", headers=other)
        assert (status, answer) == (200, {"jobs": []})
    assert (await proving.state(job))["ended_at"] is None
    status, answer = await proving.call(
        "DELETE", "/api/v1/workflows/77?attempt=1", headers=bearer()
    )
    assert (status, answer) == (200, {"stopped": [job]})


async def test_a_predictable_key_is_not_taken_beforehand_by_another_run(proving: Service) -> None:
    key = {"Idempotency-Key": "ascend-ci-77-1-ppo"}
    url = "/api/v1/rayjobs"
    theirs = json.dumps({**proving.body("echo theirs"), "github_run_id": "78"})
    taken = await proving.call("POST", url, data=theirs, headers=JSON | bearer(run="78") | key)
    assert taken[0] == 201
    ours = json.dumps(proving.body("echo ours"))
    status, answer = await proving.call("POST", url, data=ours, headers=JSON | bearer() | key)
    assert status == 201
    assert lines(await proving.events(answer["job_id"])) == ["ours"]
    again = await proving.call("POST", url, data=ours, headers=JSON | bearer() | key)
    assert again == (200, {"job_id": answer["job_id"], "created": False})
    assert BODY["github_run_id"] == "77"


async def test_the_environment_of_a_job_stands_in_no_file(service: Service, tmp_path: Path) -> None:
    job = await service.post("echo ${#SECRET}; sleep 60", env={"SECRET": "of-the-neighbour"})
    await service.until_line(job, "16")
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"job.json", "state.json"} <= {path.name for path in found}
    assert [path for path in found if b"of-the-neighbour" in path.read_bytes()] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run jobs as other users")
async def test_a_job_of_its_own_user_reads_nothing_of_its_neighbours_nor_of_the_service(
    http: aiohttp.ClientSession,
) -> None:
    with tempfile.TemporaryDirectory() as name:  # every user can pass through to it
        folder = Path(name)
        folder.chmod(0o755)
        backend = LocalBackend(
            folder / "data", limits=Limits(grace_s=0.3), uids=range(61000, 61002)
        )
        options = Options(CALLERS, stop_jobs_on_exit=True)
        async with at_loopback(create_app(backend, options), http, folder) as service:
            victim = await service.post("echo up; sleep 60", env={"S": "of-the-neighbour"})
            await service.until_line(victim, "up")
            look = f"""
            id -u; pwd > here; cat here
            cat /proc/[0-9]*/environ {folder}/data/jobs/{victim}/* 2> /dev/null |
                tr '\\0' '\\n' | grep -c of-the-neighbour
            ls {folder}/data/jobs {folder}/data/jobs/{victim}/work 2> /dev/null
            kill {os.getpid()} 2> /dev/null || echo refused
            setsid env -i sleep 600 > /dev/null 2>&1 &
            """
            thief = await service.post(look)
            work = f"{folder}/data/jobs/{thief}/work"
            assert lines(await service.events(thief)) == ["61001", work, "0", "refused"]
            assert not [pid for pid in pids_with("sleep\0600") if owner(pid) == 61001]
            assert (await service.state(thief))["ended_at"] is not None
            statuses = [(await service.try_post(service.body("sleep 60")))[0] for _ in range(2)]
            assert statuses == [201, 429], "a user is free again, and no more than there are"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run jobs as other users")
async def test_a_job_leaves_nothing_to_the_next_one_of_its_user(
    http: aiohttp.ClientSession,
) -> None:
    """Neither its files, nor a process that forks faster than anybody can list it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "open").mkdir(mode=0o777)
        (folder / "open").chmod(0o777)
        uids = range(61000, 61001)
        backend = LocalBackend(folder / "data", limits=Limits(grace_s=0.3), uids=uids)
        options = Options(CALLERS, stop_jobs_on_exit=True)
        async with at_loopback(create_app(backend, options), http, folder) as service:
            hop = f"""
            echo secret > kept
            hop() {{ : > {folder}/open/alive; (( SECONDS > 20 )) || hop & }}
            for chain in 1 2 3 4 5 6 7 8; do hop > /dev/null 2>&1; done
            sleep 0.5
            """
            first = await service.post(hop)
            await service.events(first)
            assert (await service.state(first))["ended_at"] is not None
            (folder / "open" / "alive").unlink()
            look = f"cat {folder}/data/jobs/{first}/work/kept; sleep 0.5; ls {folder}/open"
            found = lines(await service.events(await service.post(look)))
            assert [line.rpartition(": ")[2] for line in found] == ["Permission denied"]


def owner(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid
