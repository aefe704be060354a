"""The bot as a real process beside a simulated GitHub: killed, given commands, told to stop."""

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

START_S = 60.0  # far above what it needs, on a busy machine
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

    def lease_all(self) -> None:
        """Let a dead process have leased everything, for hours."""
        with closing(sqlite3.connect(self.home.folder / "bot.db")) as database:
            for table in LEASED:
                row = "lease_owner = 'dead', lease_until = 1 << 60"
                database.execute(f"UPDATE {table} SET {row}")
            database.commit()

    def newest_run(self) -> str:
        """Return the id of the newest attempt."""
        with closing(sqlite3.connect(self.home.folder / "bot.db")) as database:
            (found,) = database.execute("SELECT max(id) FROM runs").fetchone()
        return str(found)

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
        "DATABASE_URL": f"sqlite:///{folder / 'bot.db'}",
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
        (tmp_path / "bot.db").touch()  # as from a backup: others may read it
        bot = await _start_bot(home, env)
        github.state.the_app().webhook_url = f"http://127.0.0.1:{env['PORT']}/webhook"
        yield Site(home, github, env, bot)


async def test_a_bot_that_was_killed_goes_on_hears_an_operator_and_stops_when_told(
    site: Site,
) -> None:
    await killed(site)
    await given_a_command(site)
    await told_to_stop(site)


async def killed(site: Site) -> None:
    """Kill it in mid-run: the next one goes on with that run, whatever the dead one leased."""
    sha = await site.is_running("verl/killed.py")
    site.bot.process.kill()
    assert await site.bot.process.wait() == -signal.SIGKILL
    site.lease_all()
    site.go()
    await site.until(lambda: site.github.runs()[0].status == "completed")  # no bot hears of it
    site.bot = await _start_bot(site.home, site.env)
    await site.until(lambda: all(site.has(name, sha, "completed") for name in (SUITE, GATE)))
    for name in (SUITE, GATE):
        check = site.github.check(name, sha)
        assert check is not None
        assert (check.status, check.conclusion) == ("completed", "success")
    assert len(site.github.runs()) == 1
    assert [check.name for check in site.github.check_runs(sha)].count(SUITE) == 1


async def given_a_command(site: Site) -> None:
    """Cancel a run by a process on the same database, which needs no key of the app."""
    sha = await site.is_running("verl/cancelled.py")
    run_id = site.newest_run()
    ours = {name: text for name, text in site.env.items() if not name.startswith("GITHUB_")}
    words = ("cancel", run_id[:12], "--reason", "not now")
    command = await site.home.start("command", *words, env={**ours, "USER": "kim"})
    assert await command.process.wait() == 0, command.log.read_text()
    assert command.log.read_text() == f"{run_id} (unit) is asked to stop.\n"
    await site.until(lambda: site.has(SUITE, sha, "completed"))
    check = site.github.check(SUITE, sha)
    assert check is not None
    assert check.conclusion == "cancelled"
    assert "cancelled by kim (command line): not now" in f"{check.title} {check.summary}".lower()


async def told_to_stop(site: Site) -> None:
    """Stop in the midst of work, without a lease left."""
    others_read_nothing(site.home.folder, site.bot.process.pid)
    for number in range(5):  # something to do while it is told
        site.github.people.open_pull("mia", {f"verl/{number}.py": "1"})
    site.bot.process.terminate()
    assert await site.bot.process.wait() == 0
    assert site.leases() == []
    log = site.bot.log.read_text()
    assert '"stopped"' in log
    assert "Traceback" not in log


def others_read_nothing(folder: Path, pid: int) -> None:
    """Check the database's files, and that all later ones will be as private."""
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.glob("bot.db*")}
    assert set(modes) >= {"bot.db", "bot.db-wal", "bot.db-shm", "bot.db.lock", "bot.db.live"}
    assert {name for name, mode in modes.items() if mode & 0o077} == set()
    assert "Umask:\t0077" in Path(f"/proc/{pid}/status").read_text()
