"""What a log costs end to end: from the other side's answer to the finished check run.

    python -m tests.bench.log_bench [MEGABYTES]

A real process of the bot beside a simulated GitHub and a submitter, which serve logs of 200 MB by
default. It prints how much a second of processor time reads, of the bot and its workers together:
from the end of the job to the finished check run. A RayJob's log comes as a stream, is stored
without its secrets, compressed, and read for the cause. That of an Actions job is downloaded and
read. The budget is 60 MB a second. A small log comes first and is not counted: with it a worker
starts, once for many logs.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from bot.sim import SimGitHub, SimOptions
from bot.sim.model import CheckRun, Run
from tests.bench.training_log import KINDS
from tests.e2e.processes import Child, children
from tests.e2e.world import FILES, LABEL
from tests.soak.chaos import START_S, listening, settings

BUDGET_MB_S = 60
_TICKS = os.sysconf("SC_CLK_TCK")
_PATIENCE_S = 600.0
_FIRST_BYTES = 5_000_000


@dataclass
class Submitter:
    """A submitter with one job, whose stream is ready."""

    stream: bytes = b""
    run: Run | None = None
    url: str = ""

    async def start(self) -> web.AppRunner:
        """Serve."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/healthz", self._health),
                web.get("/api/v1/workflows/{id}", self._jobs),
                web.delete("/api/v1/workflows/{id}", self._health),
                web.get("/api/v1/rayjobs/{job}", self._job),
                web.get("/api/v1/rayjobs/{job}/watch", self._watch),
            ]
        )
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    def _record(self) -> dict[str, object]:
        """Return the job's record: it has failed."""
        assert self.run is not None
        return {
            "job_id": f"rj-{self.run.id}",
            "status": "FAILED",
            "job_deployment_status": "Failed",
            "repository": "octo/project",
            "github_run_id": str(self.run.id),
            "github_run_attempt": "1",
        }

    async def _health(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _jobs(self, request: web.Request) -> web.Response:
        known = self.run is not None and request.match_info["id"] == str(self.run.id)
        return web.json_response({"jobs": [self._record()] if known else []})

    async def _job(self, _request: web.Request) -> web.Response:
        return web.json_response(self._record())

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        for start in range(0, len(self.stream), 1 << 16):
            await response.write(self.stream[start : start + (1 << 16)])
        await response.write_eof()
        return response


def _stream(lines: Iterator[str]) -> bytes:
    events = [{"type": "log", "line": line, "seq": seq} for seq, line in enumerate(lines, 1)]
    final = {"type": "final", "status": "FAILED", "message": "", "seq": len(events) + 1}
    texts = (json.dumps(event, ensure_ascii=False) for event in (*events, final))
    return "".join(f"{text}\n" for text in texts).encode()


def cpu_s(process: int) -> float:
    """Return the processor time of a process and its children, dead ones included."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    tasks = Path(f"/proc/{process}/task").iterdir()
    living = [one for task in tasks for one in (task / "children").read_text().split()]
    return sum(map(int, fields[11:15])) / _TICKS + sum(cpu_s(int(one)) for one in living)


@dataclass
class Bench:
    """A GitHub, a submitter, and the bot."""

    github: SimGitHub
    submitter: Submitter
    bot: Child
    url: str
    told: CheckRun | None = None  # of the last run

    async def measure(self, suite: str, path: str, lines: list[str], *, rayjob: bool) -> float:
        """Let a run end that printed these lines; return the seconds of processor time."""
        pull = self.github.people.open_pull("mia", {path: lines[0]})
        await self._until(suite, pull.head_sha, "in_progress", begin=True)
        run = self.github.runs()[-1]
        log = ""
        if rayjob:
            self.submitter.stream, self.submitter.run = _stream(iter(lines)), run
        else:
            log = "\n".join(lines)
        began = cpu_s(self.bot.process.pid)
        self.github.actions.finish(run, "failure", log=log)
        self.told = check = await self._until(suite, pull.head_sha, "completed")
        assert "out of memory" in (check.title or ""), check.title
        return cpu_s(self.bot.process.pid) - began

    async def _until(self, suite: str, sha: str, status: str, *, begin: bool = False) -> CheckRun:
        limit = time.monotonic() + _PATIENCE_S
        while time.monotonic() < limit:
            for run in self.github.runs() if begin else ():
                if run.status == "queued":
                    self.github.actions.start(run)
            check = self.github.check(f"Ascend / {suite}", sha)
            if check and check.status == status:
                return check
            await asyncio.sleep(0.2)
        raise AssertionError(f"{suite} is not {status}")


async def main(megabytes: int, kinds: list[str]) -> int:
    """Print the rates; return 1 beyond the budget."""
    with tempfile.TemporaryDirectory() as name:
        submitter = Submitter()
        serving = await submitter.start()
        env = {"SUBMITTER_URL": submitter.url, "SUBMITTER_TOKEN": "x"}
        async with opened(Path(name), submitter, env) as bench:
            slowest = await _rates(bench, megabytes, kinds)
        await serving.cleanup()
    return int(slowest < BUDGET_MB_S)


@asynccontextmanager
async def opened(folder: Path, submitter: Submitter, more: dict[str, str]) -> AsyncIterator[Bench]:
    """Start a bot with these settings beside a GitHub."""
    sim = SimOptions(scripted=True, folder=folder / "github", per_hour=10**6)
    async with SimGitHub(options=sim) as github, children(folder) as home:
        github.create_app()
        github.create_repo("octo/project", FILES)
        github.install("octo")
        github.grant("mia", "maintain")
        github.actions.runners.register(LABEL, 20)
        env = settings(folder, github, f"sqlite:///{folder / 'bot.db'}")
        bot = await home.start("bot", "serve", env={**env, "PORT": "0", **more})
        url = await bot.heard(listening, within_s=START_S)
        github.state.the_app().webhook_url = f"{url}/webhook"
        yield Bench(github, submitter, bot, url)


async def _rates(bench: Bench, megabytes: int, kinds: list[str]) -> float:
    slowest = float("inf")
    ways = ("stream", "multinode", "multi"), ("job log", "unit", "verl")
    for _, suite, path in ways:
        first = list(KINDS["mixed"](_FIRST_BYTES))
        await bench.measure(suite, f"{path}/first.py", first, rayjob=suite == "multinode")
    for kind in kinds:
        lines = list(KINDS[kind](megabytes * 1_000_000))
        size = sum(len(line.encode()) + 1 for line in lines) / 1e6
        cells = []
        for way, suite, path in ways:
            took = await bench.measure(
                suite, f"{path}/{kind}.py", lines, rayjob=suite == "multinode"
            )
            slowest = min(slowest, size / took)
            cells.append(f"{way} {size / took:4.0f} MB/s ({took:.1f} s)")
        sys.stdout.write(f"{kind:12} {size:4.0f} MB, {len(lines):8} lines: {', '.join(cells)}\n")
        sys.stdout.flush()
    return slowest


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(asyncio.run(main(int(given[0]) if given else 200, given[1:] or list(KINDS))))
