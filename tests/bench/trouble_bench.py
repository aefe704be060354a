"""What webhooks and the log get while the database is in trouble: a real process of the bot.

    python -m tests.bench.trouble_bench [SECONDS]

For 60 s another process holds the SQLite file, or its disk is full, or nobody may connect to
PostgreSQL, while ten webhooks a second come. It prints the answers, the log of that time, what
`/readyz` says, and how many of the webhooks are stored once GitHub has sent again what was refused.
Budgets: each refusal is a 503 with `Retry-After`, nothing is lost, no traceback, 10 kB of log a
minute. Then a RayJob ends whose log has no room in `DATA_DIR`: its check run has to name the cause
that the log tells, and say that the log is cut off, and `/api/v1/health` has to say why. The disk
that gets full is mounted, which takes root: without it both are left out.
"""

import asyncio
import hashlib
import hmac
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import aiohttp
import asyncpg  # type: ignore[import-untyped]
from sqlalchemy import make_url

from bot.sim import SimGitHub, SimOptions
from bot.store import migrate
from tests.bench.log_bench import Submitter
from tests.bench.log_bench import opened as log_bench
from tests.bench.training_log import steps
from tests.databases import PostgresServer, quick_folder
from tests.e2e.processes import children
from tests.e2e.world import FILES
from tests.soak.chaos import START_S, listening, settings

SECONDS, EVERY_S = 60.0, 0.1
LOG_BYTES_A_MINUTE = 10_000
PATIENCE_S = 30.0
DISK_BYTES = 32 << 20
CUT_OFF = "its log is cut off"
TOKEN = "token-of-the-bench"
REPO = {"id": 7, "name": "other", "full_name": "octo/other", "owner": {"login": "octo"}}
BODY = json.dumps({"ref": "refs/heads/main", "after": "a" * 40, "repository": REPO}).encode()


@asynccontextmanager
async def locked(url: str) -> AsyncIterator[None]:
    """Let another process hold the file."""
    other = sqlite3.connect(url.partition("///")[2], isolation_level=None, timeout=30)
    other.execute("BEGIN EXCLUSIVE")
    yield
    other.execute("COMMIT")
    other.close()


@asynccontextmanager
async def away(url: str) -> AsyncIterator[None]:
    """Let nobody in any more."""
    where = make_url(url).set(drivername="postgresql")
    other = await asyncpg.connect(
        where.set(database="postgres").render_as_string(hide_password=False)
    )
    await other.execute(f'ALTER DATABASE "{where.database}" WITH ALLOW_CONNECTIONS false')
    await other.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", where.database
    )
    yield
    await other.execute(f'ALTER DATABASE "{where.database}" WITH ALLOW_CONNECTIONS true')
    await other.close()


@contextmanager
def small_disk() -> Iterator[Path]:
    """Mount a disk of its own."""
    with tempfile.TemporaryDirectory() as name:
        mount = ("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", name)
        subprocess.run(mount, check=True)
        try:
            yield Path(name)
        finally:
            subprocess.run(("umount", "--lazy", name), check=True)


@asynccontextmanager
async def full(disk: Path) -> AsyncIterator[None]:
    """Leave no room on a disk."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    yield
    filler.unlink()


class Sender:
    """Sends webhooks, and again what was refused."""

    def __init__(self, http: aiohttp.ClientSession, url: str, secret: str) -> None:
        self._http, self._url = http, url
        digest = hmac.new(secret.encode(), BODY, hashlib.sha256).hexdigest()
        self._headers = {"X-GitHub-Event": "push", "X-Hub-Signature-256": f"sha256={digest}"}
        self.answers: Counter[str] = Counter()
        self.refused: list[str] = []
        self.said = ""

    async def send(self, guid: str) -> None:
        """Send one."""
        headers = {
            **self._headers,
            "X-GitHub-Delivery": guid,
            "Content-Type": "application/json",
        }
        async with self._http.post(f"{self._url}/webhook", data=BODY, headers=headers) as answer:
            later = " with Retry-After" if "Retry-After" in answer.headers else ""
            self.answers[f"{answer.status}{later}"] += 1
            if answer.status != 202:
                self.refused.append(guid)

    async def during(self, seconds: float) -> None:
        """Send ten a second; read what the probe says at the end."""
        async with asyncio.TaskGroup() as group:
            for number in range(int(seconds / EVERY_S)):
                group.create_task(self.send(f"guid-{number}"))
                await asyncio.sleep(EVERY_S)
        async with self._http.get(f"{self._url}/readyz") as answer:
            self.said = f"{answer.status} {(await answer.text())[:120]}"

    async def again(self) -> int:
        """Send again what was refused, until nothing is; return how many stay refused."""
        for _ in range(int(PATIENCE_S)):
            guids, self.refused = self.refused, []
            for guid in guids:
                await self.send(guid)
            if not self.refused:
                break
            await asyncio.sleep(1)
        return len(self.refused)


async def measure(
    name: str, trouble: AbstractAsyncContextManager[None], url: str, seconds: float
) -> bool:
    """Print what happens in one kind of trouble; return True if no budget is missed."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sim = SimOptions(scripted=True, folder=folder / "github", per_hour=10**6)
        async with (
            SimGitHub(options=sim) as github,
            children(folder) as home,
            aiohttp.ClientSession() as http,
        ):
            github.create_app()
            github.create_repo("octo/project", FILES)
            github.install("octo")
            env = {**settings(folder, github, url), "PORT": "0"}
            bot = await home.start("bot", "serve", env=env)
            address = await bot.heard(listening, within_s=START_S)
            sender = Sender(http, address, github.state.the_app().secret)
            await asyncio.sleep(5)
            before = bot.log.stat().st_size
            async with trouble:
                await sender.during(seconds)
            answers = dict(sender.answers)
            lost = await sender.again()
            log = bot.log.read_bytes()[before:]
    lines = log.count(b"\n")
    traces, a_minute = log.count(b"Traceback"), len(log) * 60 / seconds
    _write(f"{name}: {answers}; /readyz {sender.said}")
    _write(f"  {len(log)} bytes, {lines} lines of log, {traces} tracebacks")
    _write(f"  refused for good: {lost}")
    fine = set(answers) <= {"202", "503 with Retry-After"}
    return fine and not lost and not traces and a_minute <= LOG_BYTES_A_MINUTE


async def log_without_room(disk: Path) -> bool:
    """Let a RayJob fail whose log can't be stored; print what is told of it."""
    with tempfile.TemporaryDirectory() as made:
        folder, submitter = Path(made), Submitter()
        serving = await submitter.start()
        env = {"SUBMITTER_URL": submitter.url, "SUBMITTER_TOKEN": "x"}
        env |= {"DATA_DIR": str(disk), "DASHBOARD_TOKEN": TOKEN}
        async with log_bench(folder, submitter, env) as bench, full(disk):
            lines = list(steps(5_000_000))
            await bench.measure("multinode", "multi/a.py", lines, rayjob=True)
            token = {"Authorization": f"Bearer {TOKEN}"}
            async with (
                aiohttp.ClientSession(headers=token) as http,
                http.get(f"{bench.url}/api/v1/health") as answer,
            ):
                problem = (await answer.json())["logs"]["problem"]
        await serving.cleanup()
    assert bench.told is not None
    cut = CUT_OFF in f"{bench.told.summary}{bench.told.text}"
    _write(f"DATA_DIR full: {bench.told.title}; health: {problem}")
    _write(f"  the log is said to be cut off: {cut}")
    return cut and bool(problem)


async def main(seconds: float) -> int:
    """Measure all; return 1 beyond a budget."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/bot.db"
        await migrate(url)
        fine = await measure("SQLite locked", locked(url), url, seconds)
    server = PostgresServer(quick_folder())
    try:
        url = server.fresh()
        fine &= await measure("PostgreSQL away", away(url), url, seconds)
    finally:
        server.close()
    if os.geteuid():
        _write("full disks are not measured: to mount one takes root")
        return int(not fine)
    with small_disk() as disk:
        url = f"sqlite:///{disk}/bot.db"
        await migrate(url)
        fine &= await measure("SQLite full", full(disk), url, seconds)
    with small_disk() as disk:
        fine &= await log_without_room(disk)
    return int(not fine)


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)))
