"""The whole bot against the simulated GitHub over real HTTP, stepped by hand under one clock."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from aiohttp import web
from pydantic import SecretStr
from sqlalchemy.engine import make_url

from bot.app import Parts, make_runner, open_loops, open_parts
from bot.ports.sandbox import Sandbox
from bot.ports.wake import Topic
from bot.services.workers import WorkerPool
from bot.settings import Settings
from bot.sim import ManualClock, SimGitHub, SimOptions
from bot.sim.model import CheckRun, Pull, Run
from tests.core.commands.commenting import offered
from tests.e2e.at_once import AtOnce, SandboxAtOnce
from tests.e2e.database_connections import ConnectionsInUse
from tests.github.validator import Validator
from tests.submitter.conftest import TOKEN

GATE = "ascend-ci"
LABEL = "linux-aarch64-a2b3-8"

POLICY = f"""
version: 1
runners:
  {LABEL}: {{npus: 8, chip: a2, slots: 2}}
  linux-aarch64-a3-16: {{npus: 16, chip: a3, slots: 1}}
pools: {{a2-cluster: {{npus: 16, chip: a2}}}}
suites:
  unit:
    title: NPU unit tests
    workflow: unit.yml
    runners: [{LABEL}]
    paths: ["verl/**", "!**/*.md"]
    timeout_minutes: 60
  multinode:
    title: Two nodes
    workflow: multinode.yml
    inputs: {{script: "run.sh", worker_replicas: "2"}}
    runners: [{LABEL}]
    nodes: 2
    npus: 4
    pool: a2-cluster
    rayjob: true
    paths: ["multi/**"]
  nightly-grpo:
    workflow: unit.yml
    runners: [linux-aarch64-a3-16]
    tier: heavy
    triggers: [pull_request, command, nightly]
    paths: ["nightly/**"]
limits: {{debounce_seconds: 0}}
log: {{repo_roots: ["/verl"]}}
"""

WORKFLOW = """
name: NAME
run-name: NAME ${{ inputs.ascend_ci }}
on:
  workflow_dispatch:
    inputs:
      ascend_ci: {required: true}
      sha: {required: true}
      pr: {required: false}
      runner: {required: true}
      timeout_minutes: {required: true}
      script: {required: false}
      worker_replicas: {required: false}
jobs:
  run:
    runs-on: ${{ inputs.runner }}
    steps:
      - run: echo hello
"""

FILES = {
    ".github/ascend-ci.yml": POLICY,
    ".github/workflows/unit.yml": WORKFLOW.replace("NAME", "Unit"),
    ".github/workflows/multinode.yml": WORKFLOW.replace("NAME", "Multinode"),
    "verl/trainer/main_ppo.py": "print('train')\n",
    "README.md": "hello\n",
}

PEOPLE = {
    "maintainer": "maintain",
    "writer": "write",
    "triager": "triage",
    "reader": "read",
    "stranger": "none",
}

SHORT_S = 9.5  # below what renews leases and polls; a paced write waits for 10 s at most

PATIENT = ContextVar("PATIENT", default=False)  # a follower's regular saves pass no time

Step = Callable[[], Awaitable[bool]]
Wrap = Callable[[Parts], Parts]


def _as_they_are(parts: Parts) -> Parts:
    return parts


class BotClock:
    """The world's clock for the bot: a short wait, like the pace of writes, passes at once."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        if seconds <= SHORT_S and not PATIENT.get():
            await self._clock.advance(seconds)
        else:
            await self._clock.sleep(seconds)


@dataclass
class Bot:
    """One process's worth of the bot, without the process."""

    parts: Parts
    loops: WorkerPool
    stack: AsyncExitStack
    connections: ConnectionsInUse

    def step(self, name: str) -> Step:
        """Return a loop's step."""
        return next(loop.step for loop in self.loops.loops if loop.name.startswith(name))

    async def round(self) -> bool:
        """Step each loop that has something due, once; tell whether there was any."""
        busy, due = False, None
        follower = [Topic.FOLLOWER] if self.parts.rayjobs else []
        for topic in (Topic.INBOX, Topic.RUNNER, Topic.REPORTER, *follower):
            if due is None:
                due = await self._due()
            if topic in due:
                busy |= await self._step(topic)
                due = None  # the step may have made others due
        return busy

    async def _due(self) -> tuple[Topic, ...]:
        return await self.parts.store.due(self.parts.clock.now())

    async def _step(self, topic: Topic) -> bool:
        """Step a loop; what the follower starts waits for the world's time."""
        token = PATIENT.set(topic is Topic.FOLLOWER)
        try:
            return await self.step(topic)()
        finally:
            PATIENT.reset(token)

    async def close(self) -> None:
        """Stop as SIGTERM does."""
        await self.stack.aclose()


@dataclass
class World:
    """A GitHub, a bot, and the time both share."""

    github: SimGitHub
    clock: ManualClock
    settings: Settings
    bot: Bot
    validator: Validator
    bots: list[Bot] = field(default_factory=list)
    dropped: list[Bot] = field(default_factory=list)
    wrap: Wrap = _as_they_are  # what a new bot gets in place of its parts
    sandbox: Sandbox | None = field(default_factory=SandboxAtOnce)  # None: processes of its own

    async def settle(self) -> None:
        """Let everything that is due happen, now."""
        for _ in range(500):
            await self.github.deliveries.idle()
            busy = False
            for bot in self.bots:
                busy |= await bot.round()
            if not busy:
                return
        raise AssertionError("the bot does not come to rest")

    async def sweep(self) -> None:
        """Let the safety nets look, then settle."""
        await self.bot.step("sweeper")()
        await self.settle()

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, then settle."""
        await self.clock.advance(seconds)
        await self.settle()

    async def until(self, test: Callable[[], bool], *, every_s: float = 0.0) -> None:
        """Settle, and let streams flow, until it is so; each round takes ``every_s``."""
        async with asyncio.timeout(60):  # of the machine's time: far above what it needs
            while True:
                await self.pass_time(every_s)
                if test():
                    return
                await asyncio.sleep(0.002)  # sockets of the other side

    def check(self, suite: str, sha: str) -> CheckRun:
        """Return a suite's newest check run on a commit."""
        found = self.github.check(f"Ascend / {suite}", sha)
        assert found is not None, f"no check run for {suite}"
        return found

    def gate(self, sha: str) -> CheckRun:
        """Return the newest gate of a commit."""
        found = self.github.check(GATE, sha)
        assert found is not None, "no gate"
        return found

    def only_run(self) -> Run:
        """Return the one workflow run that there is."""
        runs = self.github.runs()
        assert len(runs) == 1, [run.title for run in runs]
        return runs[0]

    def open_pull(
        self, author: str = "maintainer", path: str = "verl/a.py", text: str = "1"
    ) -> Pull:
        """Open a pull request that touches a file."""
        return self.github.people.open_pull(author, {path: text})

    async def restart(self) -> None:
        """Drop the bot as kill -9 does, without any clean-up, and start another."""
        self.bots.remove(self.bot)
        self.dropped.append(self.bot)  # its sockets and files are closed when the test is over
        await self.bot.connections.cut()  # its locks at once: the next one must not wait for them
        if not self.bots:  # nobody holds the lock of the living any more
            database = make_url(self.settings.database_url).database
            Path(f"{database}.live").unlink(missing_ok=True)  # SQLite only
        self.bot = await start_bot(self)
        self.bots.append(self.bot)

    async def finish(self, conclusion: str = "success", log: str = "") -> None:
        """Let the newest workflow run start and end."""
        run = self.github.runs()[-1]
        self.github.actions.start(run)
        await self.settle()
        await self.clock.advance(30)
        self.github.actions.finish(run, conclusion, log=log)
        await self.settle()

    def writes(self, operation: str) -> int:
        """Count calls by `METHOD /template`."""
        return self.github.calls.by_route()[operation]


async def start_bot(world: World) -> Bot:
    """Start the bot and its web door."""
    return await _start(
        world.github, world.clock, world.settings, wrap=world.wrap, sandbox=world.sandbox
    )


async def _start(
    github: SimGitHub,
    clock: ManualClock,
    settings: Settings,
    *,
    wrap: Wrap = _as_they_are,
    sandbox: Sandbox | None,
) -> Bot:
    stack = AsyncExitStack()
    parts = await stack.enter_async_context(
        open_parts(settings, clock=BotClock(clock), strict=True, executor=AtOnce(), sandbox=sandbox)
    )
    connections = ConnectionsInUse()
    connections.watch(parts.store)
    loops = await stack.enter_async_context(open_loops(wrap(parts)))
    runner = make_runner(parts, loops)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    github.state.the_app().webhook_url = f"http://127.0.0.1:{port}/webhook"
    return Bot(parts, loops, stack, connections)


def settings_for(github: SimGitHub, folder: Path, database_url: str) -> Settings:
    """Return the bot's settings."""
    app = github.state.the_app()
    assert app.private_key is not None
    return Settings(
        github_app_id=app.id,
        github_private_key=app.private_key,
        github_webhook_secret=app.secret,
        github_api_url=github.url,
        github_oidc_issuer=github.url,
        database_url=database_url,
        data_dir=folder / "data",
    )


def offer_only_commands(github: SimGitHub) -> None:
    """Check that each command that the bot offers in a text can be typed."""
    shown = [comment.body for comment in github.state.comments.values() if comment.app]
    for check in github.state.checks.values():
        shown += [check.title or "", check.summary or "", check.text or ""]
    for text in shown:
        offered(text)


@asynccontextmanager
async def open_world(
    folder: Path, database_url: str, *, submitter_url: str | None = None
) -> AsyncIterator[World]:
    """Open a world with a repository, its policy, its people; no process runs in its jobs."""
    clock = ManualClock()
    async with SimGitHub(clock, SimOptions(scripted=True, folder=folder / "github")) as github:
        validator = Validator()
        github.validate(validator)
        github.create_app()
        github.create_repo("octo/project", FILES)
        github.people.protect("main", "v0.*")
        github.install("octo")
        for login, level in PEOPLE.items():
            github.grant(login, level)
        github.actions.runners.register(LABEL, 4)
        settings = settings_for(github, folder, database_url)
        if submitter_url:
            given = {"submitter_url": submitter_url, "submitter_token": SecretStr(TOKEN)}
            settings = settings.model_copy(update=given)
        bot = await _start(github, clock, settings, sandbox=SandboxAtOnce())
        world = World(github, clock, settings, bot, validator, [bot])
        try:
            await world.settle()
            yield world
            offer_only_commands(github)
        finally:
            for one in (*world.bots, *world.dropped):
                await one.close()
            assert github.all_problems() == [], github.all_problems()
