"""The three real processes on loopback, and the folder that they work in."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bot import resources
from bot.cli.demo.github import GitHub, Submitter, open_session
from bot.cli.demo.processes import Child, children, temporary_of
from bot.cli.demo.scenes import PEOPLE
from bot.cli.init.templates import wanted

START_S = 60.0  # each starts in under 2 s on an idle machine
REPOSITORY = "octo/project"
POLICY = ".github/ascend-ci.yml"
# Nothing else of the caller's environment: neither a proxy nor the settings of a real bot.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "PYTHONPATH", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything up and connected."""

    github: GitHub
    bot: Child
    bot_url: str
    submitter: Submitter

    def page(self, number: int) -> str:
        """Return the address of a pull request's page."""
        return f"{self.github.url}/{REPOSITORY}/pull/{number}"


@contextmanager
def folder() -> Iterator[Path]:
    """Make a folder for everything; nothing of it survives."""
    made = Path(tempfile.mkdtemp(prefix="ascend-ci-demo-")).resolve()
    try:
        yield made
    finally:
        shutil.rmtree(made)


def repository_in(top: Path) -> Path:
    """Put the demo's repository into the folder, with the workflows that `init` installs."""
    made = top / "repository"
    (top / "staging").mkdir()
    with resources.path_of("demo/repository") as source:
        shutil.copytree(source, made, ignore=shutil.ignore_patterns("__pycache__"))
    policy = made / POLICY
    policy.write_text(policy.read_text().replace("/tmp/", f"{temporary_of(top)}/"))  # noqa: S108
    for file in wanted():
        target = made / file.path
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
    return made


def environment(top: Path) -> dict[str, str]:
    """Return the environment of all three; their `python3` is this one."""
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", os.defpath)])
    temporary_of(top).mkdir()
    return {**kept, "PATH": path, "TMPDIR": str(temporary_of(top)), "PYTHONUNBUFFERED": "1"}


@asynccontextmanager
async def stage(top: Path) -> AsyncIterator[Stage]:
    """Start everything, connect it, stop it in the end."""
    secret = secrets.token_hex(16)
    async with children(top) as home:
        env = environment(top)
        argv = _github_argv(repository_in(top), secret, env["PATH"])
        simulation = await home.start("github", argv, env)
        submitter = await home.start("submitter", _submitter_argv(top), env)
        ready = await simulation.heard(_ready, within_s=START_S)
        submitter_url = await submitter.heard(_submitter_listens, within_s=START_S)
        settings = _settings(top, ready, secret, submitter_url)
        bot = await home.start("bot", [sys.executable, "-m", "bot", "serve"], env | settings)
        bot_url = await bot.heard(_bot_listens, within_s=START_S)
        async with open_session() as session:
            github = GitHub(session, ready["url"])
            values = {"SUBMITTER_URL": submitter_url, "ASCEND_CI_URL": bot_url}
            staging = {"ASCEND_CI_STAGING_DIR": str(top / "staging")}
            await github.do("vars", values=values | staging)
            await github.do("app", webhook_url=f"{bot_url}/webhook")
            yield Stage(github, bot, bot_url, Submitter(session, submitter_url))


def _github_argv(source: Path, secret: str, path: str) -> list[str]:
    """Return the simulation's command: with the runners of the policy, and everybody there is."""
    owner, _, name = REPOSITORY.partition("/")
    argv = [sys.executable, "-m", "bot.sim", "--from", str(source), "--secret", secret]
    argv += ["--owner", owner, "--name", name, "--runner-env", f"PATH={path}"]
    policy = yaml.safe_load((source / POLICY).read_text())
    for label, runner in policy["runners"].items():
        argv += ["--runner", f"{label}={runner['slots']}"]
    for login, level in PEOPLE.items():
        argv += ["--user", f"{login}={level}"]
    return argv


def _submitter_argv(top: Path) -> list[str]:
    argv = [sys.executable, "-m", "bot", "submitter", "--backend", "local", "--port", "0"]
    argv += ["--workdir", str(top / "staging"), "--data-dir", str(top / "submitter")]
    return [*argv, "--kill-jobs-on-exit"]


def _settings(top: Path, ready: dict[str, Any], secret: str, submitter_url: str) -> dict[str, str]:
    """Return the bot's settings; it looks often, for nobody pays for calls here."""
    return {
        "GITHUB_APP_ID": str(ready["app_id"]),
        "GITHUB_PRIVATE_KEY": ready["private_key"],
        "GITHUB_WEBHOOK_SECRET": secret,
        "GITHUB_API_URL": ready["url"],
        "GITHUB_OIDC_ISSUER": ready["url"],
        "SUBMITTER_URL": submitter_url,
        "GITHUB_WRITES_PER_SECOND": "5",  # this GitHub has no limit that would ask for less
        "DASHBOARD": "public",  # on loopback, with nothing in it but the demo
        "DATABASE_URL": f"sqlite+aiosqlite:///{top / 'ascend-ci.db'}",
        "DATA_DIR": str(top / "data"),
        "PORT": "0",
        "POLL_SECONDS": "2",
        "LOG_FORMAT": "json",
    }


def _object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _ready(line: str) -> dict[str, Any] | None:
    found = _object(line)
    return found if "private_key" in found else None


def _bot_listens(line: str) -> str | None:
    found = _object(line)
    return str(found["url"]) if found.get("event") == "listening" else None


def _submitter_listens(line: str) -> str | None:
    match = re.search(r"listening on (http://\S+)", line)
    return match[1] if match else None
