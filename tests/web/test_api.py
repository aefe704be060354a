"""The API tells who may ask what the rows hold, and refuses the rest in JSON."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import jwt
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from sqlalchemy import text

from bot.core.digest.result import Digest
from bot.core.messages import quote
from bot.core.model.queue import QueuePosition
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import LogRead, RunEvent, Source, WorkflowRunEnded
from bot.core.model.runs import Run, State, StopReason, StopRequest
from bot.core.planning.plan import Plan
from bot.sim import ManualClock
from bot.sim.auth import key_pair
from bot.store.tokens import Announced
from bot.web.announcements import MAX_BODY
from bot.web.guard import Guard
from bot.web.health import GitHubHeard, HealthPage
from tests.databases import SqliteTemplate
from tests.store.building import NOW, put, run
from tests.web.server import Answer, WebServer, open_server

LINE = "RuntimeError: the 7th line of a log"
DIGEST = Digest(
    failure_class="oom_device",
    infra=True,
    codes=("507011",),
    root_cause_line=7,
    excerpt=LINE,
    title=LINE,
    cause=LINE,
    tail=(LINE,),
    hint="Use less.",
    lines=9,
    bytes=400,
    environment={"torch-npu": "2.7.1"},
)


async def put_story(server: WebServer) -> Run:
    """Store a run with everything that a run can have."""
    stop_request = StopRequest(StopReason.CANCEL, "mia", quote("enough"), NOW)
    more: dict[str, Any] = {
        "stop_request": stop_request,
        "queue_position": QueuePosition("linux-aarch64-a3-16", 2, NOW),
        "actions_run_id": 9,
    }
    one = run(number=1, state=State.CANCELLING, dispatched_at=NOW, **more)
    await put(server.parts.store, one)
    log = RunEvent(one.id, Source.RUNNER, NOW, LogRead(1, "FAILED", DIGEST))
    said = RunEvent(one.id, Source.RUNNER, NOW, WorkflowRunEnded(1, "failure"))
    assert await server.parts.store.commit(Plan(run_events=(log, said)), NOW, done=None)
    job = RayJob("rj-1", one.id, "announcement", confirmed=True, digest=DIGEST)
    await server.parts.store.tokens.redeem(Announced(job, (), "j-1", NOW, most=1), NOW)
    return one


async def test_runs_are_listed_and_one_is_told_whole_without_a_line_of_its_log(
    server: WebServer,
) -> None:
    one = await put_story(server)
    answer = await server.get("/api/v1/runs?repo=owner/name&sha=AAAAAAAA&pr=1&state=cancelling")
    [listed] = answer.data["runs"]
    assert (listed["id"], listed["repo"], listed["suite"]) == (one.id, "owner/name", "ppo")
    assert listed["state"] == "cancelling"
    assert listed["wish"]["by"] == "mia"
    place = {"resource": "linux-aarch64-a3-16", "ahead": 2, "start_at": NOW.isoformat()}
    assert listed["place"] == place
    assert listed["actions"] == {"run_id": 9, "attempt": 1, "url": ""}
    assert listed["created_at"] == NOW.isoformat()
    answer = await server.get(f"/api/v1/runs/{one.id}")
    assert answer.status == 200
    assert listed.items() <= answer.data.items()
    assert answer.data["environment"] == {"torch-npu": "2.7.1"}
    assert answer.data["quarantine"] == []
    assert answer.data["wants"] == [{"source": "pr:1", "auto": True, "by": ""}]
    assert answer.data["facts"] == [
        {
            "at": NOW.isoformat(),
            "source": "runner",
            "key": "end:1",
            "text": "Actions run ended: failure",
            "conclusion": "failure",
        },
        {
            "at": NOW.isoformat(),
            "source": "runner",
            "key": "log:1",
            "text": "",
            "final": "FAILED",
            "problem": "",
        },
    ]
    [job] = answer.data["rayjobs"]
    assert (job["job_id"], job["seen"], job["confirmed"]) == ("rj-1", "announcement", True)
    assert job["digest"] == {
        "class": "oom_device",
        "infra": True,
        "codes": ["507011"],
        "hint": "Use less.",
        "root_cause_line": 7,
        "lines": 9,
        "bytes": 400,
    }
    assert LINE not in json.dumps(answer.data)


async def test_what_can_not_be_asked_is_refused_with_the_reason(server: WebServer) -> None:
    one = await put_story(server)
    cases = {
        "/api/v1/runs?repo=name": (400, "repo: must be owner/name"),
        "/api/v1/runs?sha=xyz": (400, "sha: must be 7 to 40"),
        "/api/v1/runs?pr=-1": (400, "pr: must be a number"),
        "/api/v1/runs?state=open": (400, "state: must be one of needs_approval, queued,"),
        "/api/v1/runs?limit=0": (400, "limit: must be a number from 1 to 200"),
        "/api/v1/runs?limit=201": (400, "limit: must"),
        "/api/v1/runs?before=%25": (400, "before: must be the id of a run"),
        "/api/v1/runs?repository=owner/name": (400, "repository: is none of repo, sha,"),
        "/api/v1/runs?pr=a&limit=b": (400, "pr: must be a number; limit: must"),
        f"/api/v1/runs/{one.id}0": (404, "no such run"),
        "/api/v1/runs/a%00b": (404, "not found"),
        "/api/v1/nothing": (404, "not found"),
        f"/api/v1/runs/{one.id}/rayjobs": (405, "method not allowed"),
    }
    for path, (status, words) in cases.items():
        answer = await server.get(path)
        assert (answer.status, list(answer.data)) == (status, ["error"]), path
        assert words in answer.data["error"], path
    good = ("?limit=200", "?repo=8", "?repo=OWNER/name&pr=2", "", f"?before={one.id}")
    found = [(await server.get(f"/api/v1/runs{query}")).data["runs"] for query in good]
    assert [len(runs) for runs in found] == [1, 0, 0, 1, 0]


async def test_only_who_may_read_reads(tmp_path: Path, sqlite_template: SqliteTemplate) -> None:
    secret = "Bearer s3cr\u00e9t"
    cases: list[tuple[dict[str, str], dict[str, str], int]] = [
        ({"dashboard": "public"}, {}, 200),
        ({"dashboard": "off"}, {}, 404),
        ({"dashboard": "off", "dashboard_token": "s3cr\u00e9t"}, {"Authorization": secret}, 404),
        ({}, {}, 403),
        ({}, {"Authorization": "Bearer "}, 403),
        ({"dashboard_token": "s3cr\u00e9t"}, {}, 401),
        ({"dashboard_token": "s3cr\u00e9t"}, {"Authorization": "Bearer s3cret"}, 401),
        ({"dashboard_token": "s3cr\u00e9t"}, {"Authorization": "Basic s3cr\u00e9t"}, 401),
        ({"dashboard_token": "s3cr\u00e9t"}, {"Authorization": secret}, 200),
        ({"dashboard_token": "s3cr\u00e9t"}, {"Authorization": secret.replace("B", "b")}, 200),
    ]

    async def page(_: web.Request) -> web.Response:
        return web.json_response({})

    for changed, headers, status in cases:
        how: Any = {"dashboard": "token", "dashboard_token": None, **changed}
        app = web.Application()
        app.router.add_get("/", Guard(how["dashboard"], how["dashboard_token"])(page))
        async with TestClient(TestServer(app)) as client:
            answer = await client.get("/", headers=headers)
            assert answer.status == status, (changed, headers)
            assert ("WWW-Authenticate" in answer.headers) == (status == 401)
    closed = {"dashboard": "token", "dashboard_token": "t"}
    async with open_server(tmp_path, sqlite_template.fresh(tmp_path), **closed) as server:
        for path in ("/api/v1/runs", "/api/v1/runs/R1", "/api/v1/health"):
            assert (await server.get(path)).status == 401, path
            allowed = await server.get(path, Authorization="Bearer t")
            assert allowed.status == (404 if path.endswith("R1") else 200), path


async def test_health_names_every_dependency(server: WebServer) -> None:
    one = await put_story(server)
    health = (await server.get("/api/v1/health")).data
    assert health["ok"] is True
    assert health["database"] == {"ok": True, "problem": ""}
    assert health["github"]["ok"] is None
    assert health["submitter"] == {"configured": False, "ok": True, "problem": ""}
    assert health["logs"] == {"ok": True, "problem": ""}
    assert health["runs"] == {one.state.value: 1}
    assert (health["deliveries_parked"], health["checks_refused"]) == (0, 0)
    await server.parts.store._db.write(lambda conn: conn.execute(text("DROP TABLE deliveries")))
    answer = await server.get("/api/v1/health")
    assert (answer.status, answer.data["ok"]) == (503, False)
    assert answer.data["database"] == {"ok": False, "problem": "it can't be reached"}


async def test_health_is_bad_while_a_dependency_is(server: WebServer) -> None:
    clock, calls = ManualClock(), list[str]()
    heard = GitHubHeard(
        clock, lambda operation, status, _: calls.append(f"{operation} {status}"), tuple
    )
    down, full, since = "", "", {"inbox": 1.25}
    stuck: tuple[str, ...] = ()

    async def submitter() -> str:
        return down

    async def logs() -> str:
        return full

    page = HealthPage(
        server.parts.store, clock, heard.state, submitter, logs, lambda: since, lambda: stuck
    )
    app = web.Application()
    app.router.add_get("/", page.get)
    async with TestClient(TestServer(app)) as client:

        async def ask() -> Any:
            return await (await client.get("/")).json()

        heard.called("POST /a", 201, 0.1)
        good = await ask()
        assert (good["ok"], good["loops"]) == (True, {"inbox": 1.2})
        assert good["github"]["last_success_at"] == clock.now().isoformat()
        await clock.advance(1)
        heard.called("GET /a", 404, 0.1)
        assert (await ask())["ok"] is True
        heard.called("GET /a", 0, 0.1)
        bad = await ask()
        assert (bad["ok"], bad["github"]["last_failure"]) == (False, "GET /a: no answer")
        await clock.advance(1)
        heard.called("GET /a", 304, 0.1)
        assert (await ask())["ok"] is True
        down = "submitter unreachable since 04:00"
        bad = await ask()
        assert (bad["ok"], bad["submitter"]["problem"]) == (False, down)
        down, full = "", "No space left on device"
        bad = await ask()
        assert (bad["ok"], bad["logs"]) == (False, {"ok": False, "problem": full})
        full, stuck = "", ("runner-1",)
        assert (await ask())["ok"] is False
    assert calls == ["POST /a 201", "GET /a 404", "GET /a 0", "GET /a 304"]


@asynccontextmanager
async def posting(server: WebServer, body: Any, headers: dict[str, str]) -> AsyncIterator[Answer]:
    url = f"http://127.0.0.1:{server.port}/api/v1/runs/01RUN/rayjobs"
    async with server.http.post(url, data=body, headers=headers) as response:
        yield Answer(response.status, await response.json())


def rs256() -> str:
    """Sign a token as nobody of importance."""
    private, _ = key_pair()
    return jwt.encode({"aud": "ascend-ci"}, private, algorithm="RS256", headers={"kid": "k"})


async def test_an_announcement_that_can_not_be_read_is_refused_before_it_is_checked(
    server: WebServer,
) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY):
            yield b"x" * 1024

    good = b'{"job_id": "rj-1"}'
    token = {"Authorization": "Bearer a.b.c"}
    cases: list[tuple[Any, dict[str, str], int, str]] = [
        (good, {}, 401, "send an OIDC token"),
        (good, {"Authorization": "Basic a.b.c"}, 401, "send an OIDC token"),
        (b" " * MAX_BODY + good, token, 413, "larger than 4096 bytes"),
        (endless(), token, 413, "larger than 4096 bytes"),
        (b"", token, 400, "the body must be"),
        (b"[]", token, 400, "the body must be"),
        (b'{"job_id": 7}', token, 400, "the body must be"),
        (b'{"job_id": ""}', token, 400, "the body must be"),
        (b'{"job_id": "a/../b"}', token, 400, "the body must be"),
        (b'{"job_id": "a\\nb"}', token, 400, "the body must be"),
        (b'{"job_id": "' + b"a" * 254 + b'"}', token, 400, "the body must be"),
        (b"[" * 4096, token, 400, "the body must be"),
        (good, token, 403, "no JSON web token"),
        (good, {"Authorization": f"Bearer {rs256()}"}, 503, "can't be reached"),
    ]
    for body, headers, status, words in cases:
        async with posting(server, body, headers) as answer:
            assert (answer.status, list(answer.data)) == (status, ["error"]), (body, headers)
            assert words in answer.data["error"]


@pytest.fixture
async def server(tmp_path: Path, sqlite_template: SqliteTemplate) -> AsyncIterator[WebServer]:
    """Open a server whose issuer is not there."""
    url = sqlite_template.fresh(tmp_path)
    async with open_server(tmp_path, url, github_oidc_issuer="http://127.0.0.1:9") as opened:
        yield opened


async def test_a_database_that_is_away_is_said_in_json_without_its_query(server: WebServer) -> None:
    await server.parts.store._db.write(lambda conn: conn.execute(text("DROP TABLE runs")))
    url = f"http://127.0.0.1:{server.port}/api/v1/runs"
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        assert (answer.status, await answer.json()) == (503, {"error": "not now: try again"})
        assert answer.headers["Retry-After"] == "5"
