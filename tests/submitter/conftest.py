"""A submitter as a process of its own, over real HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from bot.submitter.backend import Limits
from bot.submitter.callers import Callers, digest_of
from bot.submitter.local import LocalBackend
from bot.submitter.web import Options, create_app

TOKEN = "a-token-of-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
CALLERS = Callers(digest_of(TOKEN))

BODY: dict[str, Any] = {
    "repository": "octo/verl",
    "commit_sha": "a" * 40,
    "branch": "main",
    "github_run_id": "77",
    "github_run_attempt": "1",
    "image": "quay.io/ascend/verl:latest",
    "name_suffix": "ppo",
    "args": [],
    "env": {},
    "worker_replicas": 2,
    "template_patches": [],
}


@dataclass
class Service:
    """A running submitter and a client of it; `script` writes a script and gives its path."""

    url: str
    http: aiohttp.ClientSession
    folder: Path
    scripts: int = field(default=0)

    def script(self, text: str) -> str:
        self.scripts += 1
        path = self.folder / f"script{self.scripts}.sh"
        path.write_text(text)
        return str(path)

    async def post(self, text: str = "true", *, key: str | None = None, **more: Any) -> str:
        status, answer = await self.try_post(self.body(text, **more), key=key)
        assert status in (200, 201), answer
        return str(answer["job_id"])

    def body(self, text: str = "true", **more: Any) -> dict[str, Any]:
        return {**BODY, "script": self.script(text), **more}

    async def try_post(self, body: Any, *, key: str | None = None) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"}
        headers |= {} if key is None else {"Idempotency-Key": key}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.call("POST", "/api/v1/rayjobs", data=data, headers=headers)

    async def call(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        async with self.http.request(method, self.url + path, **more) as answer:
            return answer.status, await answer.json(content_type=None)

    async def state(self, job_id: str) -> dict[str, Any]:
        status, answer = await self.call("GET", f"/api/v1/rayjobs/{job_id}")
        assert status == 200, answer
        return dict(answer)

    def watch(self, job_id: str, after: int | None = None) -> Any:
        query = {"format": "ndjson"} | ({} if after is None else {"after": str(after)})
        return self.http.get(f"{self.url}/api/v1/rayjobs/{job_id}/watch", params=query)

    async def events(self, job_id: str, after: int | None = None) -> list[dict[str, Any]]:
        async with self.watch(job_id, after) as answer:
            assert answer.status == 200
            return [json.loads(line) for line in (await answer.read()).splitlines()]

    def sleeper(self) -> str:
        """Return a command that sleeps under a name of this test's own, for `sleepers`."""
        return f"bash -c 'exec -a {self.folder}/sleeper sleep 600'"

    def sleepers(self) -> list[int]:
        return pids_with(f"{self.folder}/sleeper\0")

    async def until_line(self, job_id: str, text: str) -> list[dict[str, Any]]:
        """Read a watch up to a log line, then leave."""
        seen = []
        async with self.watch(job_id) as answer:
            async for raw in answer.content:
                seen.append(json.loads(raw))
                if seen[-1].get("line") == text:
                    return seen
        raise AssertionError(seen)


def lines(events: list[dict[str, Any]]) -> list[str]:
    return [event["line"] for event in events if event["type"] == "log"]


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(
        timeout=timeout, read_bufsize=2**24, headers=BEARER
    ) as session:
        yield session


@contextlib.asynccontextmanager
async def at_loopback(
    app: web.Application, http: aiohttp.ClientSession, folder: Path
) -> AsyncIterator[Service]:
    """Serve an app in this process; `folder` is where its jobs are."""
    # Not aiohttp's TestServer: that one cancels handlers whose client has left, ours does not.
    runner = web.AppRunner(app, shutdown_timeout=5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield Service(f"http://127.0.0.1:{runner.addresses[0][1]}", http, folder)
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def in_process(
    http: aiohttp.ClientSession,
    folder: Path,
    options: Options | None = None,
    limits: Limits | None = None,
) -> AsyncIterator[Service]:
    """Serve in this process; its jobs end with it."""
    backend = LocalBackend(folder / "data", limits=limits or Limits(grace_s=0.3))
    options = options or Options(CALLERS, stop_jobs_on_exit=True)
    async with at_loopback(create_app(backend, options), http, folder) as service:
        yield service


@pytest.fixture
async def service(http: aiohttp.ClientSession, tmp_path: Path) -> AsyncIterator[Service]:
    async with in_process(http, tmp_path) as made:
        yield made


@dataclass
class Process:
    """The submitter as its command, to be killed and started again on the same data."""

    folder: Path
    http: aiohttp.ClientSession
    process: asyncio.subprocess.Process | None = None

    async def start(self, *options: str) -> Service:
        argv = ["-m", "bot", "submitter", "--port", "0", "--data-dir", str(self.folder / "data")]
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *argv,
            *options,
            stderr=asyncio.subprocess.PIPE,
            umask=0,
            env={**os.environ, "SUBMITTER_TOKEN": TOKEN},
        )
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            if b"listening on " in line:
                return Service(line.decode().split()[-1], self.http, self.folder)
        raise AssertionError("it does not listen")

    async def end(self, number: int) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        await self.process.communicate()
        return self.process.returncode or 0


@pytest.fixture
async def process(http: aiohttp.ClientSession, tmp_path: Path) -> AsyncIterator[Process]:
    made = Process(tmp_path, http)
    yield made
    if made.process is not None and made.process.returncode is None:
        await made.end(signal.SIGKILL)
    for pid in pids_with(str(tmp_path)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def pids_with(text: str) -> list[int]:
    """Find processes by their command line: supervisors, and the scripts of jobs."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


@contextlib.contextmanager
def full_above(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size, as a full disk would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
