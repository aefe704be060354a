"""What thousands of runs cost: to start, to wait, and while nothing happens.

    python -m tests.bench.scale_bench [--runs 100 1000 3000 10000] [--row go] [--database postgres]

It prints tables for `config/docs/operate.md`, with what misses its budget in bold, and then fails.
The bot's own loops and store work in this process, on a clock that is set by hand. GitHub is a few
lines that answer at once, so all CPU time is the bot's; webhooks are taken from the simulated
GitHub once and put into the inbox, without HTTP. In the row "go" so many runs go, in the row "wait"
so many wait for a few slots. In the row "restart" all of them end while no bot is there. The first
500 and the last 500 are real; the rows between them are copies. Each row is a process of its own,
so that its memory is its own. One that does not end within an hour is given up.
"""

import argparse
import asyncio
import copy
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from itertools import count, product
from pathlib import Path
from typing import Any, cast

import structlog

from bot.adapters.github import GitHubClient
from bot.app import Parts
from bot.core.github.events import repo_id_of, subject
from bot.core.github.payloads import parse
from bot.core.model.deliveries import Delivery
from bot.core.model.workflow_runs import WorkflowRun
from tests.bench.copies import copied_pull, copied_run, copies_of, copy_rows
from tests.bench.instant_github import InstantGitHub
from tests.databases import PostgresServer, quick_folder
from tests.e2e.world import POLICY, Bot, World, open_world, start_bot

SHOWN = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
BATCH = 50
PART = int(os.environ.get("PART", "500"))  # the starts that are measured first and last
SLOTS = 8  # while runs wait
TAKES = 40
IDLE_MINUTES = 20  # longer than any safety look
ROW_S = 3600.0  # a row of 10,000 on a busy machine
START_MS, IDLE, MEMORY_MB = 60.0, 0.03, 250.0  # budgets: the idle share is that of 3,000
FIRST_S, ALL_S = 10.0, 45.0
RATES = (
    "runs",
    "database",
    "CPU of a start: first, last",
    "of an end and the next start",
    "idle",
    "calls: a start, a minute",
    "memory: before, most",
    "database",
    "took",
)
RESTART = ("runs that ended", "database", "CPU: first result, all", "calls: first, all", "took")


def line(cells: Sequence[str]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |\n"


def head(titles: Sequence[str]) -> str:
    """Return the head of a table."""
    return "\n" + line(titles) + "|---|---|" + "--:|" * (len(titles) - 2) + "\n"


def within(value: float, most: float, text: str) -> str:
    """Return a figure, in bold if it is beyond its budget."""
    return text if value <= most else f"**{text}**"


def resident_mb() -> float:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def policy(slots: int) -> str:
    """Return a policy with so many slots, and runs that take long."""
    text = POLICY.replace("timeout_minutes: 60", "timeout_minutes: 1440")
    limits = "limits: {npu_hours_per_day: 1000000, runs_per_pr: 4, "
    return text.replace("slots: 2", f"slots: {slots}").replace("limits: {", limits)


def payloads(world: World) -> dict[str, Any]:
    """Return one webhook of each kind as the simulated GitHub sends it."""
    found = {}
    for one in world.github.deliveries.sent:
        found[f"{one.event}.{one.action}"] = (one.event, one.payload())
    return found


class Bench:
    """A bot beside a GitHub that answers at once."""

    def __init__(self, world: World, templates: dict[str, Any], slots: int) -> None:
        self.world, self.templates = world, templates
        self.github = InstantGitHub(world.clock, policy(slots).encode())
        self.guids = count()
        self.bot: Bot = world.bot

    async def start(self) -> None:
        """Start a bot with that GitHub in place of the simulated one."""

        def wrap(parts: Parts) -> Parts:
            return replace(parts, github=cast("GitHubClient", self.github))

        self.world.wrap = wrap
        self.world.dropped += self.world.bots
        self.bot = await start_bot(self.world)
        self.world.bots = [self.bot]

    async def multiply(self, copies: int, *, waiting: bool) -> None:
        """Copy what there is, and start anew: what a process remembers would not fit."""
        await self.bot.parts.store._db.write(lambda conn: copy_rows(conn, copies, waiting=waiting))
        github = self.github
        pulls = copies_of(github.pulls, copied_pull, copies)
        # While runs wait, those that go have no copies: see `copy_rows`.
        runs = [] if waiting else copies_of(github.runs, copied_run, copies)
        github.pulls |= {pull.number: pull for pull in pulls}
        github.runs |= {run.id: run for run in runs}
        await self.start()
        for _ in range(3):  # their gates are due within a minute: no later start is to pay for them
            await self.bot.step("sweeper")()
            await self.settle()
            await self.world.clock.advance(61)

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

    async def end(self, run: WorkflowRun) -> None:
        """Let a run end."""
        self.github.runs[run.id] = replace(run, status="completed", conclusion="success")

        def of_run(payload: Any) -> None:
            payload["workflow_run"] |= {"id": run.id}

        def of_job(payload: Any) -> None:
            payload["workflow_job"] |= {"id": run.id + 1, "run_id": run.id}

        await self.put("workflow_job.completed", of_job)
        await self.put("workflow_run.completed", of_run)

    async def settle(self) -> None:
        """Let everything that is due happen."""
        while await self.bot.round():
            pass


@asynccontextmanager
async def open_bench(url: str, folder: Path, slots: int) -> AsyncIterator[Bench]:
    """Open a bot; the simulated GitHub beside it only shows what webhooks look like."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    async with open_world(folder, url) as world:
        world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": policy(slots)})
        pull = world.open_pull()
        await world.settle()
        world.github.actions.start(world.only_run())
        await world.settle()
        world.github.actions.finish(world.only_run())
        await world.settle()
        world.github.people.close(pull)
        await world.settle()
        bench = Bench(world, payloads(world), slots)
        await bench.start()
        yield bench
        world.github.deliveries.hold()


async def starts(bench: Bench, size: int, *, waiting: bool) -> tuple[float, float]:
    """Open pull requests; return the CPU time of the first ones and of the last ones, in ms."""
    part = min(PART, size)
    early = await start(bench, 1000, part)
    if size < 2 * part:
        return early, early
    if size > 2 * part:
        await bench.multiply((size - part) // part - 1, waiting=waiting)
        await start(bench, 2000, BATCH)  # what a new process does once
    return early, await start(bench, 3000, part)


async def start(bench: Bench, number: int, count: int) -> float:
    """Open pull requests, and let their runs start; return the CPU time of each in ms."""
    began = time.process_time()
    for first in range(0, count, BATCH):
        known = set(bench.github.runs)
        for each in range(first, min(first + BATCH, count)):
            await bench.open(number + each)
        await bench.settle()
        for new in bench.github.runs.keys() - known:
            await bench.begin(bench.github.runs[new])
        await bench.world.clock.advance(10)
        await bench.settle()
    return (time.process_time() - began) / count * 1000


async def idle(bench: Bench, minutes: float) -> tuple[float, float]:
    """Let time pass without news; return the share of a core, and GitHub's calls a minute."""
    for _ in range(20):  # what the starts left: their check runs are shown
        await bench.world.clock.advance(61)
        await bench.bot.step("sweeper")()
        await bench.settle()
    began, calls = time.process_time(), bench.github.calls
    for _ in range(round(60 * minutes)):
        await bench.world.clock.advance(1)
        await bench.bot.step("sweeper")()
        await bench.settle()
    share = (time.process_time() - began) / minutes / 60
    return share, (bench.github.calls - calls) / minutes


async def restart(size: int, kind: str) -> str:
    """Let all runs end while no bot is there; return how long the next one takes for them."""
    with tempfile.TemporaryDirectory() as made, database(kind, Path(made)) as (url, _):
        async with open_bench(url, Path(made), 100_000) as bench:
            await starts(bench, size, waiting=False)
            github = bench.github
            began_s = time.monotonic()
            for run in list(github.runs.values()):
                github.runs[run.id] = replace(run, status="completed", conclusion="success")
            await bench.world.clock.advance(300)
            github.ended.clear()
            began, calls = time.process_time(), github.calls
            await bench.start()
            while len(github.ended) < len(github.runs):
                await bench.bot.step("sweeper")()
                await bench.settle()
                await bench.world.clock.advance(1)
            told = sorted(github.ended.values())
            (first, first_call), (last, last_call) = told[0], told[-1]
            cells = (
                f"{len(github.runs):,}",
                SHOWN[kind],
                within(first - began, FIRST_S, f"{first - began:.1f} s")
                + within(last - began, ALL_S, f", {last - began:.1f} s"),
                f"{first_call - calls:,}, {last_call - calls:,}",
                f"{time.monotonic() - began_s:.0f} s",
            )
            return line(cells)


async def takes(bench: Bench, most: int) -> float:
    """Let runs end while others wait; return the CPU time of an end and the next start, in ms."""
    began, count = time.process_time(), min(TAKES, most)
    for _ in range(count):
        known = set(bench.github.runs)
        live = next(run for run in bench.github.runs.values() if run.status == "in_progress")
        await bench.end(live)
        await bench.world.clock.advance(5)
        await bench.settle()
        [new] = bench.github.runs.keys() - known
        await bench.begin(bench.github.runs[new])
        await bench.settle()
    return (time.process_time() - began) / count * 1000


async def row(size: int, kind: str, *, waiting: bool, minutes: float = IDLE_MINUTES) -> str:
    """Return a row of figures, of which some are those of so many idle minutes."""
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as made, database(kind, Path(made)) as (url, disk_mb):
        async with open_bench(url, Path(made), SLOTS if waiting else 100_000) as bench:
            before = resident_mb()
            first, last = await starts(bench, size, waiting=waiting)
            say(f"{size} runs are there")
            calls = bench.github.calls / min(size, 2 * PART)
            share, asked = await idle(bench, minutes)
            say("nothing happened")
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            cells = (
                f"{size:,} {'wait' if waiting else 'go'}",
                SHOWN[kind],
                within(max(first, last), START_MS, f"{first:.0f} ms, {last:.0f} ms"),
                f"{await takes(bench, size - SLOTS):.0f} ms" if waiting else "",
                within(share, IDLE * max(1, size / 3000), f"{share:.1%} of a core"),
                f"{calls:.1f}, {asked:.0f}",
                within(most, MEMORY_MB, f"{before:.0f} MB, {most:.0f} MB"),
                f"{disk_mb():.0f} MB",
                f"{time.monotonic() - began_s:.0f} s",
            )
            return line(cells)


@contextmanager
def database(kind: str, folder: Path) -> Iterator[tuple[str, Callable[[], float]]]:
    """Open a database; give its address, and how to ask for its size."""
    if kind == "sqlite":
        file = folder / "bot.db"
        yield f"sqlite:///{file}", lambda: file.stat().st_size / 1e6
        return
    server = PostgresServer(quick_folder())
    url = server.fresh()
    try:
        yield url, lambda: server.size_mb(url)
    finally:
        server.close()


def say(what: str) -> None:
    """Tell whoever waits how far a row is; the tables go elsewhere."""
    sys.stderr.write(f"{time.strftime('%X')} {what}\n")
    sys.stderr.flush()


def made_elsewhere(size: int, kind: str, how: str) -> str:
    """Return a row that another process makes; its error is on stderr."""
    chosen = ("--runs", str(size), "--database", kind, "--row", how, "--here")
    command = (sys.executable, "-m", "tests.bench.scale_bench", *chosen)
    say(f"{size} {how} {kind}")
    try:
        made = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=ROW_S, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return line((f"{size:,} {how}", SHOWN[kind], f"**{type(error).__name__}**"))
    return made.stdout


def main() -> int:
    """Print the rows, each by a process of its own; return 1 if one misses its budget."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[100, 1000, 3000, 10_000])
    parser.add_argument("--database", nargs="+", choices=SHOWN, default=["sqlite"])
    parser.add_argument(
        "--row", nargs="+", choices=("go", "wait", "restart"), default=["go", "wait"]
    )
    parser.add_argument("--here", action="store_true", help="print one row, by this process")
    given = parser.parse_args()
    if given.here:
        size, kind, how = given.runs[0], given.database[0], given.row[0]
        made = restart(size, kind) if how == "restart" else row(size, kind, waiting=how == "wait")
        sys.stdout.write(asyncio.run(made))
        return 0
    missed = 0
    for rows, titles in ((("go", "wait"), RATES), (("restart",), RESTART)):
        chosen = [how for how in rows if how in given.row]
        sys.stdout.write(head(titles) if chosen else "")
        for kind, size, how in product(given.database, given.runs, chosen):
            shown = made_elsewhere(size, kind, how)
            missed |= "**" in shown
            sys.stdout.write(shown)
            sys.stdout.flush()
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
