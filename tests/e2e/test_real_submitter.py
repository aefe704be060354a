"""The bot beside the real submitter, which is killed as a node that fails kills it."""

import contextlib
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from bot.sim.model import CheckRun, Pull, Run
from tests.databases import SqliteTemplate
from tests.e2e.cluster import ONE_TRY
from tests.e2e.kept_logs import kept_bytes, kept_lines, output_of
from tests.e2e.world import World, open_world
from tests.submitter.conftest import BEARER, Process, Service, pids_with

LINES = 300


@dataclass
class Site:
    """A world, and a submitter in a process of its own."""

    world: World
    process: Process
    service: Service

    async def begin(self, script: str) -> tuple[Pull, Run, str]:
        """Open a pull request, let its workflow start, and submit a RayJob as it would."""
        pull = self.world.open_pull(path="multi/a.py")
        await self.world.settle()
        run = self.world.only_run()
        self.world.github.actions.start(run)
        job_id = await self.service.post(
            script,
            key=f"{run.id}-1",
            repository="octo/project",
            commit_sha=pull.head_sha,
            github_run_id=str(run.id),
        )
        await self.world.settle()
        return pull, run, job_id

    async def some_is_kept(self, job_id: str) -> None:
        await self.world.until(lambda: kept_bytes(self.world, job_id) > 0, every_s=1)

    async def start_again(self) -> None:
        """Start the submitter where the bot looks for it."""
        await self.process.start("--port", self.service.url.rpartition(":")[2])

    def go(self) -> None:
        """Let the script of the job go on."""
        (self.service.folder / "go").touch()

    def check(self, pull: Pull) -> CheckRun:
        return self.world.check("multinode", pull.head_sha)

    def text(self, pull: Pull) -> str:
        return f"{self.check(pull).title} {self.check(pull).summary}"

    async def ended(self, pull: Pull, every_s: float = 5) -> CheckRun:
        await self.world.until(lambda: self.check(pull).status == "completed", every_s=every_s)
        return self.check(pull)


@pytest.fixture
async def site(tmp_path: Path, sqlite_template: SqliteTemplate) -> AsyncIterator[Site]:
    async with aiohttp.ClientSession(headers=BEARER) as http:
        process = Process(tmp_path / "submitter", http)
        process.folder.mkdir()
        try:
            service = await process.start()
            url = sqlite_template.fresh(tmp_path)
            async with open_world(tmp_path, url, submitter_url=service.url) as world:
                world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": ONE_TRY})
                await world.settle()
                yield Site(world, process, service)
        finally:
            await _leave_nothing(process)


async def _leave_nothing(process: Process) -> None:
    if process.process is not None and process.process.returncode is None:
        await process.end(signal.SIGKILL)
    for pid in pids_with(str(process.folder)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def chatter(folder: Path) -> str:
    """Return a script that prints in bursts and waits in its middle."""
    return f"""
    say() {{ for ((i = $1; i <= $2; i++)); do
        echo "line $i"; ((i % 50)) || sleep 0.02
    done; }}
    say 1 {LINES // 2}
    until [ -e {folder}/go ]; do sleep 0.02; done
    say {LINES // 2 + 1} {LINES}
    """


async def test_a_submitter_killed_in_mid_stream_costs_no_line_and_no_verdict(site: Site) -> None:
    pull, run, job_id = await site.begin(chatter(site.service.folder))
    await site.some_is_kept(job_id)
    await site.process.end(signal.SIGKILL)
    site.go()  # its supervisor lives, and the job with it
    for _ in range(3):
        await site.world.pass_time(5)
    assert site.check(pull).status == "in_progress"
    await site.start_again()
    site.world.github.actions.finish(run, "success")
    assert (await site.ended(pull)).conclusion == "success"
    printed = [f"line {number}" for number in range(1, LINES + 1)]
    assert output_of(kept_lines(site.world, job_id)) == printed


async def test_a_submitter_that_never_comes_back_leaves_a_detached_run_broken(site: Site) -> None:
    pull, run, job_id = await site.begin(chatter(site.service.folder))
    await site.some_is_kept(job_id)
    site.world.github.actions.finish(run, "success")
    await site.world.settle()
    assert site.check(pull).status == "in_progress"
    await site.process.end(signal.SIGKILL)
    await site.world.until(lambda: "submitter has not answered" in site.text(pull), every_s=30)
    assert site.check(pull).status == "in_progress"
    check = await site.ended(pull, every_s=1800)
    assert check.conclusion == "failure"
    assert "Result unknown" in str(check.title)
    gate = site.world.gate(pull.head_sha)
    assert (gate.status, gate.conclusion) != ("completed", "success")
