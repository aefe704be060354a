"""The dashboard of a Ray cluster as far as we use it, with the faults that a test asks for.

What it answers is what Ray 2.60 answered when asked: texts, codes, and that a refusal of the job
manager comes as 500 with a traceback.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web
from aiohttp.test_utils import TestServer

NODE = "0f" * 28
TRACE = "Traceback (most recent call last):\n  File ...\nRuntimeError: Request failed: {}\n"


@dataclass
class RayJob:
    """A submitted job; a test sets its `status` and what its log holds."""

    body: dict[str, Any]
    status: str = "RUNNING"
    message: str = "Job is currently running."
    exit_code: int | None = None
    node: str | None = NODE
    output: bytearray = field(default_factory=bytearray)
    grown: asyncio.Event = field(default_factory=asyncio.Event)

    def write(self, data: bytes) -> None:
        self.output += data
        self.grown.set()
        self.grown = asyncio.Event()

    def end(self, status: str, message: str = "", exit_code: int | None = None) -> None:
        self.status, self.message, self.exit_code = status, message, exit_code


class FakeRay:
    """The cluster. `calls` counts requests by name; `streams_open` are log readers right now.

    `fail(name, fault, …)` lets the next calls of a name fail: a code, "cut" before anything was
    done, "lost" after it was done. `streams` holds, for the next log streams, after how many bytes
    each breaks. `away` cuts every call. `obeys` False ignores stops.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, RayJob] = {}
        self.calls: dict[str, int] = {}
        self.nodes = 2
        self.first_status = "RUNNING"
        self.release = "2.60.0"
        self.away = False
        self.obeys = True
        self.log_is_gone = False
        self.silent = False  # streams bring nothing
        self.streams: list[int] = []
        self.streams_open = 0
        self.streams_most = 0
        self.stopped: list[str] = []
        self.headers: dict[str, str] = {}
        self._faults: dict[str, list[int | str]] = {}
        app = web.Application()
        app.router.add_get("/api/version", self._version)
        app.router.add_get("/api/v0/nodes", self._nodes)
        app.router.add_get("/api/v0/logs/{kind}", self._log)
        app.router.add_post("/api/jobs/", self._submit)
        app.router.add_get("/api/jobs/{job_id}", self._job)
        app.router.add_post("/api/jobs/{job_id}/stop", self._stop)
        self._server = TestServer(app)

    async def __aenter__(self) -> Self:
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    @property
    def url(self) -> str:
        return str(self._server.make_url("")).rstrip("/")

    def fail(self, name: str, *faults: int | str) -> None:
        self._faults.setdefault(name, []).extend(faults)

    def only(self) -> RayJob:
        (job,) = self.jobs.values()
        return job

    async def started(self) -> RayJob:
        """Wait for a job to have come."""
        await until(lambda: bool(self.jobs))
        return self.only()

    async def called(self, name: str, times: int = 1) -> None:
        """Wait until a call has come so often."""
        await until(lambda: self.calls.get(name, 0) >= times)

    def _enter(self, request: web.Request, name: str) -> int | str:
        self.calls[name] = self.calls.get(name, 0) + 1
        self.headers = dict(request.headers)
        fault = self._faults[name].pop(0) if self._faults.get(name) else ""
        if self.away or fault == "cut":
            _cut(request)
            raise _status(503)
        if isinstance(fault, int):
            raise _status(fault)
        return fault

    async def _version(self, request: web.Request) -> web.Response:
        self._enter(request, "version")
        return web.json_response({"version": "4", "ray_version": self.release})

    async def _nodes(self, request: web.Request) -> web.Response:
        self._enter(request, "nodes")
        nodes = [{"node_id": str(i), "state": "ALIVE"} for i in range(self.nodes)]
        dead = [{"node_id": "x", "state": "DEAD"}]
        return web.json_response({"result": True, "data": {"result": {"result": nodes + dead}}})

    async def _submit(self, request: web.Request) -> web.Response:
        fault = self._enter(request, "submit")
        body = await request.json()
        job_id = body["submission_id"]
        if job_id in self.jobs:
            raise _status(500)
        node = NODE if self.first_status == "RUNNING" else None
        self.jobs[job_id] = RayJob(body, self.first_status, node=node)
        if fault == "lost":
            _cut(request)
        return web.json_response({"job_id": job_id, "submission_id": job_id})

    async def _job(self, request: web.Request) -> web.Response:
        self._enter(request, "job")
        job = self._known(request)
        answer = {"type": "SUBMISSION", "status": job.status, "message": job.message}
        more = {"driver_exit_code": job.exit_code, "driver_node_id": job.node}
        return web.json_response({**answer, **more, "entrypoint": job.body["entrypoint"]})

    async def _stop(self, request: web.Request) -> web.Response:
        self._enter(request, "stop")
        job = self._known(request)
        self.stopped.append(request.match_info["job_id"])
        if self.obeys and job.status in ("PENDING", "RUNNING"):
            job.end("STOPPED", "Job was intentionally stopped.")
        return web.json_response({"stopped": True})

    def _known(self, request: web.Request) -> RayJob:
        job = self.jobs.get(request.match_info["job_id"])
        if job is None:
            raise _status(404)
        return job

    async def _log(self, request: web.Request) -> web.StreamResponse:
        kind = request.match_info["kind"]
        self._enter(request, kind)
        query = request.query
        job_id = query["filename"].removeprefix("job-driver-").removesuffix(".log")
        if query["node_id"] != NODE or query["lines"] != "-1" or self.log_is_gone:
            raise _status(500)
        job = self.jobs[job_id]
        if kind == "file":
            assert "interval" not in query, "Ray refuses it"
            return web.Response(body=bytes(job.output))
        return await self._stream(request, job)

    async def _stream(self, request: web.Request, job: RayJob) -> web.StreamResponse:
        breaks_at = self.streams.pop(0) if self.streams else None
        self.streams_open += 1
        self.streams_most = max(self.streams_most, self.streams_open)
        try:
            response = web.StreamResponse()
            await response.prepare(request)
            sent = 0
            while breaks_at is None or sent < breaks_at:
                grown = job.grown
                piece = b"" if self.silent else bytes(job.output[sent:breaks_at][: 64 * 1024])
                if piece:
                    await response.write(piece)
                    sent += len(piece)
                else:
                    await grown.wait()
            _cut(request)
            return response
        finally:
            self.streams_open -= 1


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what the code under test brings about; a minute only ends a hang."""
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - no event tells of every one
            await asyncio.sleep(0.005)


def _status(code: int) -> web.HTTPException:
    text = "Job does not exist" if code == 404 else TRACE.format(f"status code {code}")
    kinds = {404: web.HTTPNotFound, 500: web.HTTPInternalServerError}
    return kinds.get(code, web.HTTPServiceUnavailable)(text=text)


def _cut(request: web.Request) -> None:
    """Break the connection off behind what was written."""
    if request.transport is not None:
        request.transport.close()
