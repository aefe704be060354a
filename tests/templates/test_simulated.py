"""The workflows as `init` installs them, executed for real, with a real submitter beside."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.cli.init.templates import wanted
from bot.sim import NewPull, RunnerOptions, SimGitHub, SimOptions
from bot.sim.model import Run
from bot.submitter.limits import Limits
from bot.submitter.local import LocalBackend
from bot.submitter.web import Options, create_app

LABEL = "linux-aarch64-a2b3-8"
SCRIPT = "tests/special_npu/run.sh"
ID = "01JB00000000000000000000AA"


@dataclass
class Site:
    """A repository with the templates, a runner, a submitter, and what the bot was told."""

    github: SimGitHub
    folder: Path
    announced: list[tuple[str, Any]]

    @property
    def shared(self) -> Path:
        return self.folder / "shared"

    def begin(self, workflow: str, text: str, **more: str) -> Run:
        """Dispatch a workflow as the bot does, for a fork's pull request with this script."""
        new = NewPull(title="Change", fork=True)
        pull = self.github.people.open_pull("bob", {SCRIPT: text}, new)
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
        repo, by = self.github.state.repo(), self.github.user("mia")
        body = {"ref": "main", "inputs": inputs}
        return self.github.actions.dispatch(repo, workflow, body, by)

    async def run(self, workflow: str, text: str, **more: str) -> Run:
        run = self.begin(workflow, text, **more)
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


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    announced: list[tuple[str, Any]] = []

    async def take(request: web.Request) -> web.Response:
        assert request.headers["Authorization"].startswith("Bearer ey")
        announced.append((request.path, await request.json()))
        return web.Response(status=202)

    bot = web.Application()
    bot.router.add_post("/api/v1/runs/{run}/rayjobs", take)
    work = {"ASCEND_CI_WORK_ROOT": str(tmp_path / "work"), "HOME": str(tmp_path)}
    (tmp_path / "shared").mkdir()
    backend = LocalBackend(tmp_path / "jobs", limits=Limits(grace_s=0.3), environ=work)
    options = SimOptions(lag_s=0, runner=RunnerOptions(term_s=5, kill_s=1))
    async with (
        TestServer(create_app(backend, Options(stop_jobs_on_exit=True))) as submitter,
        TestServer(bot) as door,
        SimGitHub(options=options) as github,
    ):
        files = {file.path: file.content.decode() for file in wanted()}
        repo = github.create_repo("octo/project", files)
        github.user("bob")
        github.grant("mia", "maintain")
        github.actions.runners.register(LABEL, 1)
        repo.vars["SUBMITTER_URL"] = str(submitter.make_url("")).rstrip("/")
        repo.vars["ASCEND_CI_STAGING_DIR"] = str(tmp_path / "shared")
        site = Site(github, tmp_path, announced)
        repo.vars["ASCEND_CI_URL"] = str(door.make_url("")).rstrip("/")
        yield site


SIZES = {"worker_replicas": "2", "npus_per_worker": "4"}


async def test_a_detached_rayjob_is_announced_and_clears_up_itself(site: Site) -> None:
    go = site.folder / "go"
    script = f"until [ -e {go} ]; do sleep 0.01; done; pwd > {go}; touch {go}.done\n"
    run = await site.run("ascend_multinode.yml", script, **SIZES)
    assert run.conclusion == "success", log(run)
    ((path, body),) = site.announced
    assert path == f"/api/v1/runs/{ID}/rayjobs"
    assert f"ascend-ci: rayjob {body['job_id']}" in log(run)
    assert [folder.name for folder in site.left()] == [f"{run.id}-1"]
    go.touch()
    await until(lambda: not site.left())
    assert go.read_text() == f"{site.folder}/work/{run.id}-1/project\n"


@pytest.mark.parametrize(("last", "conclusion"), [("true", "success"), ("exit 3", "failure")])
async def test_without_detaching_the_verdict_is_the_rayjobs(
    site: Site, last: str, conclusion: str
) -> None:
    script = f"echo $NNODES x $NPUS_PER_NODE\n{last}\n"
    run = await site.run("ascend_multinode.yml", script, **SIZES, detach="false")
    assert run.conclusion == conclusion, log(run)
    assert run.title == f"Ascend multinode {ID}"
    assert "2 x 4" in log(run)
    assert site.left() == []


async def test_without_a_bot_the_job_stays_with_its_rayjob(site: Site) -> None:
    del site.github.state.repo().vars["ASCEND_CI_URL"]
    run = await site.run("ascend_multinode.yml", "echo trained\n", **SIZES)
    assert run.conclusion == "success"
    assert "ascend-ci: final SUCCEEDED" in log(run)


async def test_a_cancelled_job_deletes_its_rayjob_and_its_folder(site: Site) -> None:
    script = f"touch {site.folder}/begun; sleep 60\n"
    run = site.begin("ascend_multinode.yml", script, **SIZES, detach="false")
    await until((site.folder / "begun").exists)
    site.github.actions.cancel(run)
    await site.github.engine.wait(run)
    assert run.conclusion == "cancelled"
    assert "no RayJob of this attempt is left" in log(run)
    assert site.left() == []


async def test_a_script_that_the_commit_lacks_submits_nothing(site: Site) -> None:
    run = await site.run("ascend_multinode.yml", "true\n", **SIZES | {"script": "none.sh"})
    assert run.conclusion == "failure"
    assert "the commit has no script 'none.sh'" in log(run)
    assert "rayjob" not in log(run)
    assert site.left() == []


@pytest.mark.parametrize(("last", "conclusion"), [("true", "success"), ("exit 3", "failure")])
async def test_a_nightly_runs_the_commit_and_holds_nothing(
    site: Site, last: str, conclusion: str
) -> None:
    script = f"echo here: $(git rev-parse HEAD)\nenv | grep -c ID_TOKEN\n{last}\n"
    run = await site.run("ascend_nightly.yml", script, job="gspo-qwen3-8b")
    assert run.conclusion == conclusion, log(run)
    assert run.title == f"Ascend nightly gspo-qwen3-8b {ID}"
    assert f"here: {run.inputs['sha']}\n0\n" in log(run)
