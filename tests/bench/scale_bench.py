"""What a run costs to start, and what a running one costs while nothing happens.

Run `python -m tests.bench.scale_bench [RUNS]` (3,000 by default). The bot's own loops work on an
SQLite file; GitHub is a few lines that answer at once, so all CPU time is the bot's. Webhooks are
taken from the simulated GitHub once and put into the inbox, without HTTP. It prints the CPU time of
a run for each batch of starts, then the share of a core while all of them run, and the memory.
"""

import asyncio
import copy
import hashlib
import json
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, cast

import structlog

from bot.adapters.github import GitHubClient
from bot.app import Parts
from bot.core.github.events import repo_id_of, subject
from bot.core.github.payloads import parse
from bot.core.model.deliveries import Delivery
from bot.core.model.ids import Sha
from bot.core.model.people import Account
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.policy.levels import Level
from bot.core.policy.selection import ChangedFile
from bot.ports.github import ChangedFiles, FileText
from bot.sim import ManualClock
from bot.store import migrate
from tests.e2e.world import POLICY, Bot, World, open_world, start_bot

BATCH = 500
IDLE_MINUTES = 5
MANY = POLICY.replace("slots: 2", "slots: 100000").replace(
    "timeout_minutes: 60", "timeout_minutes: 1440"
)


@dataclass
class AtOnce:
    """A GitHub that knows pull requests and starts workflows; it has no other state."""

    clock: ManualClock
    pulls: dict[int, Pull] = field(default_factory=dict)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    ids: Any = field(default_factory=lambda: count(10_000_000))
    calls: int = 0

    async def pull(self, _repo: Repo, number: int) -> Pull:
        self.calls += 1
        return self.pulls[number]

    async def open_pulls(self, _repo: Repo) -> tuple[Pull, ...]:
        self.calls += 1
        return tuple(self.pulls.values())

    async def pull_files(self, _repo: Repo, number: int, _count: int) -> ChangedFiles:
        self.calls += 1
        file = ChangedFile("verl/a.py", "modified")
        return ChangedFiles((file,), heads=frozenset({self.pulls[number].head_sha}))

    async def permission(self, _repo: Repo, _account: Account) -> Level:
        return Level.MAINTAIN

    async def is_protected(self, _repo: Repo, _branch: str) -> bool:
        return True

    async def file(self, _repo: Repo, _path: str, _ref: str) -> FileText:
        text = MANY.encode()
        return FileText(text, hashlib.sha1(text).hexdigest())

    async def create_check(self, _repo: Repo, _check: object) -> int:
        self.calls += 1
        return int(next(self.ids))

    async def update_check(self, _repo: Repo, _github_id: int, _check: object) -> None:
        self.calls += 1

    async def dispatch(
        self, _repo: Repo, _workflow: str, _ref: str, inputs: dict[str, str]
    ) -> WorkflowRun:
        self.calls += 1
        number = next(self.ids)
        self.runs[number] = WorkflowRun(
            id=number,
            attempt=1,
            status="queued",
            event="workflow_dispatch",
            head_sha=Sha(inputs["sha"]),
            html_url=f"https://github.com/octo/project/actions/runs/{number}",
            created_at=self.clock.now(),
        )
        return self.runs[number]

    async def dispatched_runs(self, _repo: Repo, _since: datetime) -> tuple[WorkflowRun, ...]:
        self.calls += 1
        return tuple(self.runs.values())[-1000:]

    async def started_runs(self, *_: object) -> tuple[WorkflowRun, ...]:
        return ()

    async def deliveries(self, _since: datetime) -> tuple[()]:
        return ()

    def share(self, _replicas: int) -> None:
        return None

    async def actions_run(self, _repo: Repo, run_id: int) -> WorkflowRun:
        self.calls += 1
        return self.runs[run_id]


def payloads(world: World) -> dict[str, Any]:
    """Return one webhook of each kind as the simulated GitHub sends it."""
    found = {}
    for one in world.github.deliveries.sent:
        found[f"{one.event}.{one.action}"] = (one.event, one.payload())
    return found


class Bench:
    """A bot beside a GitHub that answers at once."""

    def __init__(self, world: World, templates: dict[str, Any]) -> None:
        self.world, self.templates = world, templates
        self.github = AtOnce(world.clock)
        self.guids = count()
        self.bot: Bot = world.bot

    async def start(self) -> None:
        """Start a bot with that GitHub in place of the simulated one."""

        def wrap(parts: Parts) -> Parts:
            return replace(parts, github=cast("GitHubClient", self.github))

        self.world.wrap = wrap
        self.bot = await start_bot(self.world)
        self.world.bots = [self.bot]

    async def put(self, kind: str, change: Any) -> None:
        """Store a webhook as the web door does."""
        event, payload = self.templates[kind]
        payload = copy.deepcopy(payload)
        change(payload)
        read = parse(event, payload, None)
        delivery = Delivery(
            guid=f"g{next(self.guids)}",
            event=event,
            action=payload["action"],
            repo_id=repo_id_of(cast("Any", read)),
            subject=subject(cast("Any", read)),
            received_at=self.world.clock.now(),
            body=json.dumps(payload).encode(),
        )
        await self.bot.parts.store.deliveries.put(delivery)

    async def open(self, number: int) -> None:
        """Open a pull request."""
        sha = hashlib.sha1(str(number).encode()).hexdigest()

        def change(payload: Any) -> None:
            pull = payload["pull_request"]
            payload["number"] = pull["number"] = number
            pull["head"]["sha"], pull["changed_files"] = sha, 1
            repo = parse("pull_request", payload, None)
            self.github.pulls[number] = cast("Any", repo).pull

        await self.put("pull_request.opened", change)

    async def begin(self, run: WorkflowRun) -> None:
        """Let a runner take a run's job."""
        self.github.runs[run.id] = replace(run, status="in_progress")

        def of_run(payload: Any) -> None:
            payload["workflow_run"]["id"] = run.id

        def of_job(payload: Any) -> None:
            payload["workflow_job"] |= {"id": run.id + 1, "run_id": run.id}

        await self.put("workflow_run.in_progress", of_run)
        await self.put("workflow_job.in_progress", of_job)

    async def settle(self) -> None:
        """Let everything that is due happen."""
        while await self.bot.round():
            pass


async def main(runs: int) -> None:
    """Print the figures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/bot.db"
        await migrate(url)
        async with open_world(Path(folder), url) as world:
            world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": MANY})
            pull = world.open_pull()
            await world.settle()
            world.github.actions.start(world.only_run())
            await world.settle()
            world.github.actions.finish(world.only_run())
            await world.settle()
            world.github.people.close(pull)
            await world.settle()
            bench = Bench(world, payloads(world))
            await bench.start()
            await _starts(bench, runs)
            await _idle(bench, runs)
            world.github.deliveries.hold()


async def _starts(bench: Bench, runs: int) -> None:
    for first in range(0, runs, BATCH):
        began, calls = time.process_time(), bench.github.calls
        known = set(bench.github.runs)
        last = min(first + BATCH, runs)
        for number in range(1000 + first, 1000 + last):
            await bench.open(number)
        await bench.settle()
        for new in [run for key, run in bench.github.runs.items() if key not in known]:
            await bench.begin(new)
        await bench.world.clock.advance(61)
        await bench.settle()
        cpu = (time.process_time() - began) / (last - first) * 1000
        made = (bench.github.calls - calls) / (last - first)
        sys.stdout.write(f"runs {first:6}-{last}: {cpu:6.1f} ms of CPU a run, {made:.1f} calls\n")


async def _idle(bench: Bench, runs: int) -> None:
    states = (await bench.bot.parts.store.health.counts(bench.world.clock.now())).runs_by_state
    for _ in range(2):
        began, calls = time.process_time(), bench.github.calls
        for _ in range(60 * IDLE_MINUTES):
            await bench.world.clock.advance(1)
            await bench.bot.step("sweeper")()
            await bench.settle()
        cpu = time.process_time() - began
        share, made = cpu / IDLE_MINUTES / 60, (bench.github.calls - calls) / IDLE_MINUTES
        sys.stdout.write(f"idle with {states}: {share:.1%} of a core, {made:.0f} calls a minute\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"memory: {peak:.0f} MB at most, the simulated GitHub included\n")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000))
