"""Everything up on loopback, in this process, and the folder that it works in."""

import asyncio
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from bot import resources
from bot.app import make_runner, open_loops, open_parts
from bot.cli.demo.log import DemoLog, logging_into
from bot.cli.demo.scenes import PEOPLE
from bot.cli.demo.strays import kill_strays, temporary_of
from bot.cli.init.templates import wanted
from bot.settings import Settings
from bot.sim import SimGitHub, SimOptions
from bot.submitter.callers import Callers, digest_of
from bot.submitter.jobs import Backend
from bot.submitter.local import LocalBackend
from bot.submitter.web import Options, create_app
from bot.telemetry import get_log

STOP_S = 8.0  # the bot finishes its steps; the submitter gives its jobs 3 s after that
REPOSITORY = "octo/project"
POLICY = ".github/ascend-ci.yml"
# Nothing else of the caller's environment: neither a proxy nor the settings of a real bot.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "PYTHONPATH", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything up and connected. `working` ends only by an error."""

    github: SimGitHub
    submitter: Backend[Any]
    bot_url: str
    log: DemoLog
    working: asyncio.Task[None]


@contextmanager
def folder() -> Iterator[Path]:
    """Make a folder for everything; nothing of it survives."""
    made = Path(tempfile.mkdtemp(prefix="ascend-ci-demo-")).resolve()
    try:
        yield made
    finally:
        shutil.rmtree(made)


def repository_in(top: Path, language: str) -> Path:
    """Put the demo's repository into the folder, with the workflows that `init` installs."""
    made = top / "repository"
    with resources.path_of("demo/repository") as source:
        shutil.copytree(source, made, ignore=shutil.ignore_patterns("__pycache__"))
    policy = made / POLICY
    rules = policy.read_text().replace("/tmp/", f"{temporary_of(top)}/")  # noqa: S108
    policy.write_text(f"{rules}report: {{language: {language}}}\n")
    for file in wanted():
        target = made / file.path
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
    return made


@contextmanager
def environment(top: Path) -> Iterator[None]:
    """Give this process, and all that it starts, the demo's environment for a while.

    The bot reads proxies from it, and jobs and steps find their `python3` by its PATH: this one.
    """
    before = dict(os.environ)
    kept = {name: before[name] for name in INHERITED if name in before}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", os.defpath)])
    temporary_of(top).mkdir()
    os.environ.clear()
    os.environ.update({**kept, "PATH": path, "TMPDIR": str(temporary_of(top))})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@asynccontextmanager
async def stage(top: Path, language: str = "en") -> AsyncIterator[Stage]:
    """Start everything, connect it, stop it in the end. No process outlives it."""
    async with AsyncExitStack() as stack:
        stack.enter_context(environment(top))
        log = stack.enter_context(logging_into(top / "demo.log"))
        stack.push_async_callback(kill_strays, top)
        github = await stack.enter_async_context(SimGitHub(options=SimOptions(folder=top)))
        _fill(github, repository_in(top, language))
        (top / "staging").mkdir()
        submitter = LocalBackend(top / "submitter", workdir=top / "staging")
        token = secrets.token_urlsafe()
        options = Options(Callers(digest_of(token)), stop_jobs_on_exit=True)
        app = create_app(submitter, options)
        submitter_url = await _serve(stack, web.AppRunner(app, access_log=None, shutdown_timeout=1))
        given = {"submitter_url": submitter_url, "submitter_token": token}
        bot_url, working = await _bot(stack, _settings(top, github, given))
        github.state.the_app().webhook_url = f"{bot_url}/webhook"
        github.state.repo().secrets["SUBMITTER_TOKEN"] = token
        github.state.repo().vars |= {
            "SUBMITTER_URL": submitter_url,
            "ASCEND_CI_URL": bot_url,
            "ASCEND_CI_STAGING_DIR": str(top / "staging"),
        }
        yield Stage(github, submitter, bot_url, log, working)


def _fill(github: SimGitHub, source: Path) -> None:
    """Make the repository, with the runners of its policy, and everybody there is."""
    github.create_app()
    github.create_repo(REPOSITORY, source)
    github.install(REPOSITORY.partition("/")[0])
    policy = yaml.safe_load((source / POLICY).read_text())
    for label, runner in policy["runners"].items():
        github.actions.runners.register(label, runner["slots"])
    for login, level in PEOPLE.items():
        github.grant(login, level)


def _settings(top: Path, github: SimGitHub, given: dict[str, str]) -> Settings:
    """Return the bot's settings. It looks often: calls cost nothing here."""
    app = github.state.the_app()
    return Settings.model_validate(
        {
            "github_app_id": app.id,
            "github_private_key": app.private_key,
            "github_webhook_secret": app.secret,
            "github_api_url": github.url,
            "github_oidc_issuer": github.url,
            **given,
            "github_writes_per_second": 5,  # this GitHub has no limit that would ask for less
            "dashboard": "public",  # on loopback, with nothing in it but the demo
            "database_url": f"sqlite:///{top / 'ascend-ci.db'}",
            "data_dir": top / "data",
            "poll_seconds": 2,
        }
    )


async def _bot(stack: AsyncExitStack, settings: Settings) -> tuple[str, asyncio.Task[None]]:
    """Start the bot as `ascend-ci serve` does; return where it listens and the task it works in.

    The task opens and closes the bot's parts itself: a scene's error must not pass through them.
    """
    listening = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    working = asyncio.create_task(_work(settings, listening, stop))
    stack.push_async_callback(_stop, working, stop)
    await asyncio.wait([working, listening], return_when=asyncio.FIRST_COMPLETED)
    if working.done():
        working.result()
    return listening.result(), working


async def _work(settings: Settings, listening: asyncio.Future[str], stop: asyncio.Event) -> None:
    async with AsyncExitStack() as stack:
        parts = await stack.enter_async_context(open_parts(settings))
        loops = await stack.enter_async_context(open_loops(parts))
        url = await _serve(stack, make_runner(parts, loops))
        get_log("demo").info("listening", url=url)
        listening.set_result(url)
        await loops.run(stop)


async def _stop(working: asyncio.Task[None], stop: asyncio.Event) -> None:
    """Let the bot finish its steps; cancel them when that takes too long."""
    stop.set()
    await asyncio.wait([working], timeout=STOP_S)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


async def _serve(stack: AsyncExitStack, runner: web.AppRunner) -> str:
    """Serve on a free port of loopback until the stack unwinds; return the address."""
    stack.push_async_callback(runner.cleanup)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return f"http://127.0.0.1:{runner.addresses[0][1]}"
