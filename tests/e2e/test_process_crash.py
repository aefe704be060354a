"""The bot as a real process beside a simulated GitHub in another one: killed, and told to stop."""

import asyncio
import json
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.cli.demo.github import Check, GitHub, Seen, open_session
from bot.cli.demo.processes import Child, Children, children
from bot.cli.demo.stage import environment
from tests.e2e.world import FILES, GATE, LABEL

START_S = 60.0  # beyond a lease of 30 s that the killed bot may have held, on a busy machine
SECRET = "hook-secret"
SUITE = "Ascend / unit"
LEASED = ("deliveries", "runs", "checks", "rayjobs", "replies")


@dataclass
class Site:
    """Both processes, on one folder."""

    home: Children
    github: GitHub
    env: dict[str, str]
    bot: Child

    async def until(self, test: Any) -> Seen:
        """Look until it is so."""
        async with asyncio.timeout(START_S):
            while not test(seen := await self.github.look()):  # noqa: ASYNC110  another process
                await asyncio.sleep(0.05)
        return seen

    async def is_running(self) -> str:
        """Open a pull request, wait until its suite runs and nobody works on anything."""
        pull = await self.github.do("open_pull", author="mia", files={"verl/a.py": "1"})
        sha = str(pull["head_sha"])
        await self.until(lambda seen: _is(seen.check(SUITE, sha), "in_progress"))
        async with asyncio.timeout(START_S):
            while self.leases():  # noqa: ASYNC110  another process
                await asyncio.sleep(0.01)
        return sha

    async def begin_again(self) -> None:
        """Start a bot where the one before it was."""
        self.bot = await _start_bot(self.home, self.env)

    def leases(self) -> list[tuple[str, int]]:
        """Return the tables in which something is leased, and until when."""
        with closing(sqlite3.connect(self.home.folder / "bot.db")) as database:
            return [
                (table, until)
                for table in LEASED
                for (until,) in database.execute(
                    f"SELECT lease_until FROM {table} WHERE lease_until > 0"
                )
            ]

    def go(self) -> None:
        """Let the workflow's step end."""
        (self.home.folder / "go").touch()


def _is(check: Check | None, status: str) -> bool:
    return check is not None and check.status == status


def _url(line: str) -> str | None:
    found = json.loads(line) if line.startswith("{") else {}
    return str(found["url"]) if found.get("event") == "listening" else None


async def _start_bot(home: Children, env: dict[str, str]) -> Child:
    """Start a bot; the second one takes the first one's port."""
    name = f"bot-{len(home.started)}"
    bot = await home.start(name, [sys.executable, "-m", "bot", "serve"], env)
    env["PORT"] = (await bot.heard(_url, within_s=START_S)).rpartition(":")[2]
    return bot


async def _start_github(home: Children, env: dict[str, str]) -> dict[str, Any]:
    source = home.folder / "repository"
    wait = f"until [ -e {home.folder}/go ]; do sleep 0.02; done"
    for name, text in FILES.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("echo hello", wait))
    argv = [sys.executable, "-m", "bot.sim", "--from", str(source), "--secret", SECRET]
    argv += ["--runner", f"{LABEL}=2", "--user", "mia=maintain", "--lag", "0.1"]
    simulation = await home.start("github", argv, env)
    return await simulation.heard(
        lambda line: json.loads(line) if "private_key" in line else None, within_s=START_S
    )


def _settings(home: Children, ready: dict[str, Any]) -> dict[str, str]:
    return {
        "GITHUB_APP_ID": str(ready["app_id"]),
        "GITHUB_PRIVATE_KEY": ready["private_key"],
        "GITHUB_WEBHOOK_SECRET": SECRET,
        "GITHUB_API_URL": ready["url"],
        "DATABASE_URL": f"sqlite+aiosqlite:///{home.folder / 'bot.db'}",
        "DATA_DIR": str(home.folder / "data"),
        "PORT": "0",
        "POLL_SECONDS": "1",
        "LOG_FORMAT": "json",
    }


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with children(tmp_path) as home, open_session() as session:
        env = environment(tmp_path) | {"PYTHONPATH": str(Path(__file__).parents[2])}
        ready = await _start_github(home, env)
        env |= _settings(home, ready)
        bot = await _start_bot(home, env)
        github = GitHub(session, ready["url"])
        await github.do("app", webhook_url=f"http://127.0.0.1:{env['PORT']}/webhook")
        yield Site(home, github, env, bot)
        seen = await github.look()
        assert seen.raw["problems"] == []


async def test_a_bot_killed_in_mid_run_goes_on_with_that_run(site: Site) -> None:
    sha = await site.is_running()
    site.bot.process.kill()
    assert await site.bot.process.wait() == -signal.SIGKILL
    site.go()
    await site.until(lambda seen: seen.dispatches[0].status == "completed")  # nobody hears of it
    await site.begin_again()
    seen = await site.until(
        lambda seen: all(_is(seen.check(name, sha), "completed") for name in (SUITE, GATE))
    )
    for name in (SUITE, GATE):
        check = seen.check(name, sha)
        assert check is not None
        assert (check.status, check.conclusion) == ("completed", "success")
    assert len(seen.dispatches) == 1
    assert [check.name for check in seen.checks if check.sha == sha].count(SUITE) == 1


async def test_a_bot_told_to_stop_in_mid_run_leaves_no_lease(site: Site) -> None:
    sha = await site.is_running()
    for number in range(5):  # something to do while it is told
        await site.github.do("open_pull", author="mia", files={f"verl/{number}.py": "1"})
    site.bot.process.terminate()
    assert await site.bot.process.wait() == 0
    assert site.leases() == []
    site.go()
    await site.begin_again()
    await site.until(lambda seen: _is(seen.check(SUITE, sha), "completed"))
