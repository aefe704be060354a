"""Replicas that are killed, webhooks lost, doubled and shuffled, a GitHub that stumbles.

    python -m tests.soak.chaos --seconds 600 --database sqlite
    python -m tests.soak.chaos --seconds 600 --database postgres --replicas 2

Real processes of the bot beside a simulated GitHub. Afterwards all is left in peace, and each gate
must say what GitHub's runs say, no check run stays open, each command has one reply, and no label
had more runs than slots. Prints one row; leaves with 1 if something was lost or done twice. After a
wrong end the folder is kept: logs, decisions (`audit-of-all.log`), database, and what people did.
"""

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bot.sim import SimGitHub, SimOptions
from tests.databases import PostgresServer, quick_folder
from tests.e2e.processes import Child, Children, children
from tests.soak.crowd import Crowd
from tests.soak.evidence import keep
from tests.soak.short import disturb, leave_in_peace

START_S = 60.0
MOST = ("--limit", "1000")  # rows that are written for whoever looks into a wrong end
KILL_EVERY_S = 25.0
PEACE_S = 400.0  # without progress: failed redeliveries are looked for every 5 minutes
LONGEST_PEACE_S = 1800.0  # a slow machine has a long queue to run


@dataclass(frozen=True)
class Options:
    """How long, on which database, with how many processes, by which seed."""

    seconds: float = 600.0
    database: str = "sqlite"
    replicas: int = 1
    seed: int = 1
    act_every_s: float = 0.8
    kill_every_s: float = KILL_EVERY_S


@dataclass(frozen=True)
class Figures:
    """What happened, and what was wrong at the end."""

    database: str
    replicas: int
    seconds: float
    pulls: int
    runs: int
    kills: int
    webhooks: int
    lost: int
    faults: int
    right_after_s: float
    tracebacks: int
    broken: list[str]
    wrong: list[str]


class Replicas:
    """Processes of the bot on one database; one of them gets the next webhooks."""

    def __init__(self, home: Children, github: SimGitHub, env: dict[str, str]) -> None:
        self._home, self._github, self._env = home, github, env
        self._ports: list[str] = []
        self.bots: list[Child] = []
        self.kills = 0

    async def start(self, count: int) -> None:
        """Start the first ones."""
        for number in range(count):
            self.bots.append(await self._start({**self._env, "PORT": "0"}, number))
            url = await self.bots[-1].heard(listening, within_s=START_S)
            self._ports.append(url.rpartition(":")[2])
        self.turn(0)

    async def _start(self, env: dict[str, str], number: int) -> Child:
        name = f"bot-{number}-{len(self._home.started)}"
        return await self._home.start(name, "serve", env=env)

    def turn(self, number: int) -> None:
        """Send the next webhooks to another process, as a balancer does."""
        port = self._ports[number % len(self._ports)]
        self._github.state.the_app().webhook_url = f"http://127.0.0.1:{port}/webhook"

    async def kill(self, number: int) -> None:
        """Kill one as the kernel does, and start its successor at once on the same port."""
        self.bots[number].process.kill()
        await self.bots[number].process.wait()
        self.bots[number] = await self._start({**self._env, "PORT": self._ports[number]}, number)
        self.kills += 1

    async def explain(self) -> None:
        """Write what the bot decided, and for whom, beside the logs."""
        for command in ("audit", "runs"):
            await self._home.start(f"{command}-of-all", command, "--json", *MOST, env=self._env)
        await asyncio.gather(*(one.process.wait() for one in self._home.started[-2:]))

    def tracebacks(self) -> int:
        """Count them in all logs."""
        texts = (one.log.read_text(errors="replace") for one in self._home.started)
        return sum(text.count("Traceback (most recent call last)") for text in texts)


def listening(line: str) -> str | None:
    """Read the address in the line of a replica that has started."""
    found = json.loads(line) if line.startswith("{") else {}
    return str(found["url"]) if found.get("event") == "listening" else None


def settings(folder: Path, github: SimGitHub, database_url: str) -> dict[str, str]:
    """Return the environment of a replica: quicker than a real one, and otherwise as it."""
    app = github.state.the_app()
    return {
        "GITHUB_APP_ID": str(app.id),
        "GITHUB_PRIVATE_KEY": str(app.private_key),
        "GITHUB_WEBHOOK_SECRET": app.secret,
        "GITHUB_API_URL": github.url,
        "GITHUB_WRITES_PER_SECOND": "20",
        "DATABASE_URL": database_url,
        "DATA_DIR": str(folder / "data"),
        "POLL_SECONDS": "10",
    }


@contextmanager
def _database(options: Options, folder: Path) -> Iterator[str]:
    if options.database == "sqlite":
        yield f"sqlite:///{folder / 'bot.db'}"
        return
    server = PostgresServer(quick_folder())
    try:
        url = server.fresh()
        yield url
        server.dump(url, folder / "bot.sql")
    finally:
        server.close()


@asynccontextmanager
async def site(options: Options, folder: Path, url: str) -> AsyncIterator[tuple[Crowd, Replicas]]:
    """Open a GitHub with its people, and the replicas."""
    sim = SimOptions(scripted=True, folder=folder / "github", per_hour=10**6)
    async with SimGitHub(options=sim) as github, children(folder) as home:
        crowd = Crowd(github, random.Random(options.seed))
        crowd.prepare()
        replicas = Replicas(home, github, settings(folder, github, url))
        await replicas.start(options.replicas)
        yield crowd, replicas


async def storm(options: Options, crowd: Crowd, replicas: Replicas) -> int:
    """Let all of it happen at once for as long as asked; return how many faults struck."""
    dice = random.Random(options.seed + 1)
    crowd.github.deliveries.drop_if(crowd.loses)
    began, kill_at, faults, turn = time.monotonic(), options.kill_every_s, 0, 0
    while (passed := time.monotonic() - began) < options.seconds:
        crowd.act()
        turn += 1
        replicas.turn(turn)
        faults += disturb(crowd.github, crowd, dice, turn)
        if passed > kill_at:
            await replicas.kill(dice.randrange(options.replicas))
            kill_at += options.kill_every_s
        await asyncio.sleep(options.act_every_s)
    leave_in_peace(crowd.github)
    return faults


async def peace(crowd: Crowd) -> float:
    """Wait until all is right, or nothing gets better any more; return how long that took."""
    began = better = time.monotonic()
    fewest = len(crowd.wrong())
    while (now := time.monotonic()) - better < PEACE_S and now - began < LONGEST_PEACE_S:
        crowd.finish()
        await asyncio.sleep(1)
        if not (wrong := crowd.wrong()):
            await asyncio.sleep(10)  # nothing may begin again by itself
            if not crowd.wrong():
                break
        elif len(wrong) < fewest:
            fewest, better = len(wrong), time.monotonic()
    return time.monotonic() - began


async def soak(options: Options, folder: Path) -> Figures:
    """Play it whole."""
    with _database(options, folder) as url:
        async with site(options, folder, url) as (crowd, replicas):
            faults = await storm(options, crowd, replicas)
            took = await peace(crowd)
            if crowd.broken or crowd.wrong():
                await replicas.explain()
                keep(crowd, folder)
            sent = crowd.github.deliveries
            return Figures(
                database=options.database,
                replicas=options.replicas,
                seconds=options.seconds,
                pulls=len(crowd.pulls),
                runs=len(crowd.seen),
                kills=replicas.kills,
                webhooks=len(sent.sent),
                lost=len(sent.dropped),
                faults=faults,
                right_after_s=round(took, 1),
                tracebacks=replicas.tracebacks(),
                broken=sorted(crowd.broken),
                wrong=crowd.wrong(),
            )


def main() -> int:
    """Play by the arguments; print the figures as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="work here, and keep all")
    given = vars(parser.parse_args())
    kept = given.pop("folder")
    folder = kept or Path(tempfile.mkdtemp(prefix="ascend-ci-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    figures = asyncio.run(soak(Options(**given), folder))
    sys.stdout.write(json.dumps(asdict(figures), indent=1) + "\n")
    if figures.broken or figures.wrong or figures.tracebacks:
        sys.stderr.write(f"what happened is kept in {folder}\n")
        return 1
    if not kept:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
