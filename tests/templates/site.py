"""A repository with the templates as `init` installs them, in the simulated GitHub."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.cli.init.templates import wanted
from bot.sim import NewPull, RunnerOptions, SimGitHub, SimOptions
from bot.sim.model import Run, User
from tests.submitter.conftest import TOKEN

LABEL = "linux-aarch64-a2b3-8"
SCRIPT = "tests/special_npu/run.sh"
ID = "01JB00000000000000000000AA"
SIZES = {"worker_replicas": "2", "npus_per_worker": "4"}


@dataclass
class Site:
    """A repository with the templates, a runner, a submitter, and what the bot was told."""

    github: SimGitHub
    folder: Path
    announced: list[tuple[str, Any]]

    @property
    def shared(self) -> Path:
        return self.folder / "shared"

    def begin(
        self,
        workflow: str,
        text: str,
        files: dict[str, str] | None = None,
        by: User | None = None,
        /,
        **more: str,
    ) -> Run:
        """Dispatch a workflow as the bot does, for a fork's pull request with this script."""
        new = NewPull(title="Change", fork=True)
        pull = self.github.people.open_pull("bob", {SCRIPT: text, **(files or {})}, new)
        inputs = {
            "ascend_ci": ID,
            "sha": pull.head_sha,
            "pr": str(pull.number),
            "runner": LABEL,
            "timeout_minutes": "10",
            "script": SCRIPT,
            "image": "an/image",
            "data": "",
            **more,
        }
        repo, body = self.github.state.repo(), {"ref": "main", "inputs": inputs}
        return self.github.actions.dispatch(repo, workflow, body, by or self.github.user("mia"))

    async def run(self, workflow: str, text: str, by: User | None = None, /, **more: str) -> Run:
        run = self.begin(workflow, text, None, by, **more)
        await self.github.engine.wait(run)
        return run

    def left(self) -> list[Path]:
        """Return what lies on the shared volume."""
        return list(self.shared.iterdir())


def log(run: Run) -> str:
    return "\n".join(line.split(" ", 1)[1] for line in run.jobs[0].log)


async def until(test: Callable[[], object]) -> None:
    """Wait for what a process brings about; a minute is a hang."""
    for _ in range(6000):
        if test():
            return
        await asyncio.sleep(0.01)
    pytest.fail("what was waited for never came")


@asynccontextmanager
async def open_site(folder: Path, submitter_url: str) -> AsyncIterator[Site]:
    """Open a repository whose workflows submit there, and a door that takes announcements."""
    announced: list[tuple[str, Any]] = []

    async def take(request: web.Request) -> web.Response:
        assert request.headers["Authorization"].startswith("Bearer ey")
        announced.append((request.path, await request.json()))
        return web.Response(status=202)

    bot = web.Application()
    bot.router.add_post("/api/v1/runs/{run}/rayjobs", take)
    (folder / "shared").mkdir()
    options = SimOptions(lag_s=0, runner=RunnerOptions(term_s=5, kill_s=1))
    async with TestServer(bot) as door, SimGitHub(options=options) as github:
        files = {file.path: file.content.decode() for file in wanted()}
        repo = github.create_repo("octo/project", files)
        github.user("bob")
        github.grant("mia", "maintain")
        github.actions.runners.register(LABEL, 2)
        repo.vars["SUBMITTER_URL"] = submitter_url
        repo.secrets["SUBMITTER_TOKEN"] = TOKEN
        repo.vars["ASCEND_CI_STAGING_DIR"] = str(folder / "shared")
        repo.vars["ASCEND_CI_URL"] = str(door.make_url("")).rstrip("/")
        yield Site(github, folder, announced)


def meeting(folder: Path, name: str) -> str:
    """Return lines of a script that wait until two runs are at this point."""
    both = " && ".join(f"[ -e {folder}/at-{one} ]" for one in ("one", "two"))
    return f"touch {folder}/at-{name}\nuntil {both}; do sleep 0.05; done\n"
