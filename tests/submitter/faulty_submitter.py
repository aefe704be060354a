"""A submitter with every fault that was seen or feared, scripted by a test.

    async with FaultySubmitter() as server:
        job = server.add(events=[log("a"), log("b"), final("SUCCEEDED")])
        job.watches = [Watch(events=1, end="cut"), Watch(start="first")]
        server.fail("delete", 503, times=2)
        server.lack("state", "list")
        ... use server.url, then look at server.calls ...

Each watch of a job takes the next `Watch` of its script; the last one repeats. Without a script a
watch behaves. Events are dicts (`log`, `status`, `final`, `error`) or raw bytes, sent as a line.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from aiohttp import web
from aiohttp.test_utils import TestServer

Name = Literal["healthz", "post", "watch", "state", "list", "delete"]
Event = dict[str, Any] | bytes


def log(line: str) -> dict[str, Any]:
    return {"type": "log", "line": line}


def status(word: str, deployment: str = "", ray: str = "", message: str = "") -> dict[str, Any]:
    words = {"rayjob_status": ray, "job_deployment_status": deployment}
    return {"type": "status", "status": word, "message": message, **words}


def final(word: str, message: str = "") -> dict[str, Any]:
    return {"type": "final", "status": word, "message": message}


def error(message: str) -> dict[str, Any]:
    return {"type": "error", "message": message}


@dataclass(frozen=True)
class Watch:
    """How one watch goes.

    start: "after" honours `after=SEQ`; "first" replays whatever is asked; "now" goes on behind what
    was sent so far, leaving out `missed` events.
    events: how many are sent (None: all there are). end: "close" ends the answer, "cut" breaks the
    connection, "hang" stays open and silent until `server.release` is set, then closes.
    torn: before a cut, send so many bytes of the next event; a character instead of a number cuts
    behind that character's first byte.
    numbered: events carry `seq` and `ts`. chunk: send in pieces of so many bytes. junk: raw bytes
    sent before anything else. code: answer so instead of streaming.
    """

    start: Literal["after", "first", "now"] = "after"
    missed: int = 0
    events: int | None = None
    end: Literal["close", "cut", "hang"] = "close"
    torn: int | str = 0
    numbered: bool = True
    chunk: int | None = None
    junk: bytes = b""
    code: int = 200


@dataclass
class Job:
    """A job that the server knows; `state` None answers 404 to the state call."""

    job_id: str
    events: list[Event]
    run_id: str = "1"
    attempt: str = "1"
    commit_sha: str = "a" * 40
    repository: str = ""
    repository_id: int | None = None  # as a workflow has proven it
    state: str | None = "RUNNING"
    message: str = ""
    ended_at: str | None = None
    watches: list[Watch] = field(default_factory=list)
    watched: int = 0
    sent: int = 0
    forgotten: bool = False

    def encode(self, index: int, *, numbered: bool) -> bytes:
        event = self.events[index]
        if isinstance(event, bytes):
            return event + b"\n"
        seq = 1 + sum(isinstance(e, dict) for e in self.events[:index])
        extra = {"seq": seq, "ts": "2026-01-01T00:00:00Z"} if numbered else {}
        return json.dumps({**extra, **event}, ensure_ascii=False).encode() + b"\n"

    def as_json(self) -> dict[str, Any]:
        return {
            "job_id": self.job_id,
            "status": self.state,
            "message": self.message,
            "rayjob_status": "",
            "job_deployment_status": "",
            "github_run_id": self.run_id,
            "github_run_attempt": self.attempt,
            "commit_sha": self.commit_sha,
            "repository": self.repository,
            "repository_id": self.repository_id,
            "created_at": "2026-01-01T00:00:00Z",
            "ended_at": self.ended_at,
        }


@dataclass(frozen=True)
class Call:
    """A request that came in; `name` is the call's name, `query` and `headers` plain dicts."""

    name: Name
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any = None


class FaultySubmitter:
    """The server. `calls` are all requests in order, `deleted` the (run, attempt) pairs."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.calls: list[Call] = []
        self.deleted: list[tuple[str, str]] = []
        self.honours_keys = True
        self.next_events: list[Event] = [final("SUCCEEDED")]  # of jobs that are posted
        self.next_watches: list[Watch] = []
        self.release = asyncio.Event()
        self._keys: dict[str, str] = {}
        self._faults: dict[str, list[int | str]] = {}
        self._lacking: dict[str, int] = {}
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_post("/api/v1/rayjobs", self._post)
        app.router.add_get("/api/v1/rayjobs/{job_id}", self._state)
        app.router.add_get("/api/v1/rayjobs/{job_id}/watch", self._watch)
        app.router.add_get("/api/v1/workflows/{run_id}", self._list)
        app.router.add_delete("/api/v1/workflows/{run_id}", self._delete)
        self._server = TestServer(app)

    async def __aenter__(self) -> Self:
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release.set()
        await self._server.close()

    @property
    def url(self) -> str:
        return str(self._server.make_url("")).rstrip("/")

    def add(self, events: Sequence[Event], job_id: str = "rj-1", **more: Any) -> Job:
        """Make a job known without a POST."""
        job = Job(job_id, list(events), **more)
        self.jobs[job_id] = job
        return job

    def fail(self, name: Name, *faults: int | str, times: int = 1) -> None:
        """Let the next calls of a kind fail, each with one of `faults` in turn.

        A number is a status code; "refuse" cuts the connection before anything was done, "drop"
        after it was done, "garbage" answers 200 with a body that is no JSON.
        """
        self._faults.setdefault(name, []).extend(faults * times)

    def lack(self, *names: Name, code: int = 404) -> None:
        """Answer 404 (or 405) to calls that only our own submitter offers."""
        self._lacking.update(dict.fromkeys(names, code))

    def have(self, *names: Name) -> None:
        """Offer calls again that were lacking."""
        for name in names:
            del self._lacking[name]

    def restart(self) -> None:
        """Forget every job, as a submitter without memory does; their RayJobs live on."""
        self.jobs.clear()
        self._keys.clear()

    def named(self, name: Name) -> list[Call]:
        """Return the calls of a kind."""
        return [call for call in self.calls if call.name == name]

    async def _before(self, request: web.Request, name: Name) -> str:
        text = await request.text() if request.can_read_body else ""
        body = json.loads(text) if text else None
        call = Call(name, request.path, dict(request.query), dict(request.headers), body)
        self.calls.append(call)
        if name in self._lacking:
            raise _Status(self._lacking[name])
        fault = self._faults[name].pop(0) if self._faults.get(name) else ""
        if isinstance(fault, int):
            raise _Status(fault)
        if fault == "refuse":
            _cut(request)
            raise _Status(500)
        return str(fault)

    async def _healthz(self, request: web.Request) -> web.Response:
        await self._before(request, "healthz")
        return web.json_response({"status": "ok"})

    async def _post(self, request: web.Request) -> web.Response:
        fault = await self._before(request, "post")
        body = self.calls[-1].body
        key = request.headers.get("Idempotency-Key", "")
        job_id = self._keys.get(key, "") if self.honours_keys else ""
        if not job_id:
            job_id = f"rj-{len(self.jobs) + 1}-{body['name_suffix']}"
            job = self.add(self.next_events, job_id)
            job.watches = list(self.next_watches)
            job.run_id, job.attempt = body["github_run_id"], body["github_run_attempt"]
            self._keys[key] = job_id
        if fault == "drop":
            _cut(request)
        if fault == "garbage":
            return web.Response(text="<html>so sorry</html>")
        return web.json_response({"job_id": job_id})

    async def _state(self, request: web.Request) -> web.Response:
        await self._before(request, "state")
        job = self.jobs.get(request.match_info["job_id"])
        if job is None or job.state is None:
            raise _Status(404)
        return web.json_response(job.as_json())

    async def _list(self, request: web.Request) -> web.Response:
        await self._before(request, "list")
        asked = request.match_info["run_id"], request.query.get("attempt")
        jobs = [j for j in self.jobs.values() if (j.run_id, j.attempt) == asked]
        return web.json_response({"jobs": [job.as_json() for job in jobs]})

    async def _delete(self, request: web.Request) -> web.Response:
        fault = await self._before(request, "delete")
        run = request.match_info["run_id"], request.query.get("attempt", "")
        self.deleted.append(run)
        gone = [j for j in self.jobs.values() if (j.run_id, j.attempt) == run and not j.ended_at]
        for job in gone:
            job.state, job.ended_at = "STOPPED", "2026-01-01T00:00:00Z"
        if fault == "drop":
            _cut(request)
        return web.json_response({"stopped": [job.job_id for job in gone]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        await self._before(request, "watch")
        job = self.jobs.get(request.match_info["job_id"])
        if job is None:
            text = json.dumps(final("NOT_FOUND", "no such job"))  # as a stream that ends at once
            return web.Response(text=text + "\n", content_type="application/x-ndjson")
        plan = job.watches[min(job.watched, len(job.watches) - 1)] if job.watches else Watch()
        job.watched += 1
        if plan.code != 200:
            raise _Status(plan.code)
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        await self._send(response, job, plan, int(request.query.get("after", "0")))
        if plan.end == "hang":
            await self.release.wait()
        if plan.end == "cut":
            _cut(request)
        return response

    async def _send(self, response: web.StreamResponse, job: Job, plan: Watch, after: int) -> None:
        first = {"first": 0, "now": job.sent + plan.missed, "after": _index(job, after)}[plan.start]
        last = len(job.events) if plan.events is None else min(len(job.events), first + plan.events)
        data = b"".join(job.encode(i, numbered=plan.numbered) for i in range(first, last))
        if plan.torn and last < len(job.events):
            data += _torn(job.encode(last, numbered=plan.numbered), plan.torn)
        job.sent = max(job.sent, last)
        data = plan.junk + data
        step = plan.chunk or max(1, len(data))
        for start in range(0, len(data), step):
            await response.write(data[start : start + step])


def _index(job: Job, after: int) -> int:
    """Find the event behind a number; raw lines behind it are taken as not sent yet."""
    seen = 0
    for index, event in enumerate(job.events):
        if seen == after:
            return index
        seen += isinstance(event, dict)
    return len(job.events)


def _torn(line: bytes, where: int | str) -> bytes:
    if isinstance(where, int):
        return line[:where]
    return line[: line.index(where.encode()) + 1]


class _Status(web.HTTPException):
    """Any status code as an exception that is the answer."""

    def __init__(self, code: int) -> None:
        self.status_code = code
        super().__init__(text=f"<html>HTTP {code} by the ingress</html>")


def _cut(request: web.Request) -> None:
    """Break the connection off behind what was written, without the end of a chunked answer."""
    assert request.transport is not None
    request.transport.close()
