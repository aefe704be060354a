"""The bot as a real process beside a simulated GitHub: killed, and told to stop."""

import asyncio
import json
import signal
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.sim import SimGitHub, SimOptions
from tests.e2e.processes import Child, Children, children
from tests.e2e.world import FILES, GATE, LABEL

START_S = 60.0  # beyond a lease of 30 s that the killed bot may have held, on a busy machine
SUITE = "Ascend / unit"
LEASED = ("deliveries", "runs", "checks", "rayjobs", "replies")


@dataclass
class Site:
    """The process and the GitHub, on one folder."""

    home: Children
    github: SimGitHub
    env: dict[str, str]
    bot: Child

    async def until(self, test: Callable[[], bool]) -> None:
        """Wait until it is so."""
        async with asyncio.timeout(START_S):
            while not test():  # noqa: ASYNC110  another process
                await asyncio.sleep(0.05)

    def has(self, name: str, sha: str, status: str) -> bool:
        """Return True if the newest check run of that name has this status."""
        check = self.github.check(name, sha)
        return check is not None and check.status == status

    async def is_running(self, path: str) -> str:
        """Open a pull request, wait until its suite runs and nothing is leased."""
        (self.home.folder / "go").unlink(missing_ok=True)
        sha = self.github.people.open_pull("mia", {path: "1"}).head_sha
        await self.until(lambda: self.has(SUITE, sha, "in_progress"))
        await self.until(lambda: not self.leases())
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


def _url(line: str) -> str | None:
    found = json.loads(line) if line.startswith("{") else {}
    return str(found["url"]) if found.get("event") == "listening" else None


async def _start_bot(home: Children, env: dict[str, str]) -> Child:
    """Start a bot; the second one takes the first one's port."""
    bot = await home.start(f"bot-{len(home.started)}", "serve", env=env)
    env["PORT"] = (await bot.heard(_url, within_s=START_S)).rpartition(":")[2]
    return bot


def _fill(github: SimGitHub, go: Path) -> None:
    wait = f"until [ -e {go} ]; do sleep 0.02; done"
    github.create_app()
    github.create_repo(
        "octo/project", {name: text.replace("echo hello", wait) for name, text in FILES.items()}
    )
    github.install("octo")
    github.grant("mia", "maintain")
    github.actions.runners.register(LABEL, 2)


def _settings(folder: Path, github: SimGitHub) -> dict[str, str]:
    app = github.state.the_app()
    return {
        "GITHUB_APP_ID": str(app.id),
        "GITHUB_PRIVATE_KEY": str(app.private_key),
        "GITHUB_WEBHOOK_SECRET": app.secret,
        "GITHUB_API_URL": github.url,
        "DATABASE_URL": f"sqlite+aiosqlite:///{folder / 'bot.db'}",
        "DATA_DIR": str(folder / "data"),
        "PORT": "0",
        "POLL_SECONDS": "1",
        "LOG_FORMAT": "json",
    }


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    options = SimOptions(folder=tmp_path / "github", lag_s=0.1)
    async with SimGitHub(options=options) as github, children(tmp_path) as home:
        _fill(github, tmp_path / "go")
        env = _settings(tmp_path, github)
        bot = await _start_bot(home, env)
        github.state.the_app().webhook_url = f"http://127.0.0.1:{env['PORT']}/webhook"
        yield Site(home, github, env, bot)


async def test_a_bot_killed_or_told_to_stop_in_mid_run_goes_on_with_that_run(site: Site) -> None:
    await killed(site)
    await told_to_stop(site)


async def killed(site: Site) -> None:
    sha = await site.is_running("verl/killed.py")
    site.bot.process.kill()
    assert await site.bot.process.wait() == -signal.SIGKILL
    site.go()
    await site.until(lambda: site.github.runs()[0].status == "completed")  # no bot hears of it
    await site.begin_again()
    await site.until(lambda: all(site.has(name, sha, "completed") for name in (SUITE, GATE)))
    for name in (SUITE, GATE):
        check = site.github.check(name, sha)
        assert check is not None
        assert (check.status, check.conclusion) == ("completed", "success")
    assert len(site.github.runs()) == 1
    assert [check.name for check in site.github.check_runs(sha)].count(SUITE) == 1


async def told_to_stop(site: Site) -> None:
    """Stop in the midst of work, without a lease left."""
    sha = await site.is_running("verl/stopped.py")
    for number in range(5):  # something to do while it is told
        site.github.people.open_pull("mia", {f"verl/{number}.py": "1"})
    site.bot.process.terminate()
    assert await site.bot.process.wait() == 0
    assert site.leases() == []
    site.go()
    await site.begin_again()
    await site.until(lambda: site.has(SUITE, sha, "completed"))
