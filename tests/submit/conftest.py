"""The workflows' helper as the process that it is."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.submitter.backend import Limits
from bot.submitter.local import LocalBackend
from bot.submitter.web import Options, create_app
from tests.submitter.conftest import CALLERS, TOKEN
from tests.submitter.faulty_submitter import FaultySubmitter

HELPER = Path(__file__).parents[2] / "bot" / "submit.py"
INPUTS = {
    "GITHUB_REPOSITORY": "octo/verl",
    "ASCEND_CI_SHA": "b" * 40,
    "GITHUB_SHA": "a" * 40,
    "GITHUB_RUN_ID": "77",
    "GITHUB_RUN_ATTEMPT": "3",
    "ASCEND_CI_SCRIPT": "tests/x.sh",
    "ASCEND_CI_NAME_SUFFIX": "ppo",
    "ASCEND_CI_RETRY_SECONDS": "1",
}


@dataclass
class Done:
    """How a helper ended; `lines` are its stdout, `said` its stderr."""

    code: int
    lines: list[str]
    said: str

    @property
    def log(self) -> list[str]:
        return [line for line in self.lines if not line.startswith("ascend-ci: ")]


async def start(url: str, *argv: str, **more: str) -> asyncio.subprocess.Process:
    given = {"PATH": os.environ["PATH"], "SUBMITTER_URL": url, "SUBMITTER_TOKEN": TOKEN}
    environ = {**given, **INPUTS, **more}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-I", str(HELPER), *argv, env=environ,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, limit=2**24,
    )  # fmt: skip


async def end(process: asyncio.subprocess.Process) -> Done:
    out, said = await process.communicate()
    assert process.returncode is not None
    return Done(process.returncode, out.decode().split("\n")[:-1], said.decode())


async def run(url: str, *argv: str, **more: str) -> Done:
    return await end(await start(url, *argv, **more))


@pytest.fixture
async def faulty() -> AsyncIterator[FaultySubmitter]:
    async with FaultySubmitter() as server:
        yield server


@pytest.fixture
async def ours(tmp_path: Path) -> AsyncIterator[str]:
    backend = LocalBackend(tmp_path / "data", workdir=tmp_path, limits=Limits(grace_s=0.3))
    options = Options(CALLERS, stop_jobs_on_exit=True)
    async with TestServer(create_app(backend, options)) as server:
        yield str(server.make_url("")).rstrip("/")


@dataclass
class Bot:
    """What the bot and the token service of Actions were asked."""

    url: str
    codes: list[int]
    asked: list[tuple[str, str, Any]]

    @property
    def environ(self) -> dict[str, str]:
        return {
            "ASCEND_CI_URL": self.url,
            "ASCEND_CI_RUN": "01RUN",
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.url}/token?api=1",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "proof",
        }


@pytest.fixture
async def bot() -> AsyncIterator[Bot]:
    codes: list[int] = []
    asked: list[tuple[str, str, Any]] = []

    async def token(request: web.Request) -> web.Response:
        assert request.query["audience"] == "ascend-ci"
        assert request.headers["Authorization"] == "Bearer proof"
        return web.json_response({"value": "oidc"})

    async def announced(request: web.Request) -> web.Response:
        asked.append((request.path, request.headers["Authorization"], await request.json()))
        return web.Response(status=codes.pop(0) if codes else 202)

    app = web.Application()
    app.router.add_get("/token", token)
    app.router.add_post("/api/v1/runs/{run}/rayjobs", announced)
    app.router.add_post("/api/v1/rayjobs", announced)
    async with TestServer(app) as server:
        yield Bot(str(server.make_url("")).rstrip("/"), codes, asked)
