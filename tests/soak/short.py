"""Bad days in one process and in no time: a bot beside a simulated GitHub under one clock.

    python -m tests.soak.short --days 20 --seed 1

Each day has a seed of its own, and the judge of the long soak. All dice of a day follow from its
seed: who does what, which webhooks are lost, when the bot is killed. What the dice meet may differ
a little: requests go over real sockets and the database answers from threads, so the order of the
bot's tasks is not always the same. A day that ended wrong may have to be played again a few times.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

import structlog

from bot.sim import SimGitHub
from bot.store import migrate
from tests.e2e.world import World, open_world
from tests.soak.crowd import Crowd

ACT_S = 0.8
ACTS = 60
KILL_EVERY = 25
SWEEP_EVERY = 8
PEACE_ROUNDS = 60
PEACE_S = 10.0


async def day(world: World, seed: int, acts: int = ACTS) -> Crowd:
    """Play a day, and the peace after it."""
    crowd = Crowd(world.github, random.Random(seed))
    dice = random.Random(seed + 1)
    world.github.deliveries.drop_if(crowd.loses)
    for turn in range(1, acts + 1):
        crowd.act()
        disturb(world.github, crowd, dice, turn)
        await world.github.deliveries.idle()
        for _ in range(dice.randint(0, 4)):
            await world.bot.round()
        if turn % SWEEP_EVERY == 0:
            await world.bot.step("sweeper")()
        if turn % KILL_EVERY == 0:
            await world.restart()
        await world.clock.advance(ACT_S)
    leave_in_peace(world.github)
    for _ in range(PEACE_ROUNDS):
        crowd.finish()
        await world.sweep()
        await world.pass_time(PEACE_S)
        if not crowd.wrong():
            break
    await world.pass_time(PEACE_S)  # nothing may begin again by itself
    return crowd


def disturb(github: SimGitHub, crowd: Crowd, dice: random.Random, turn: int) -> bool:
    """Double, hold and shuffle webhooks by turns; return True if calls will fail, too."""
    deliveries = github.deliveries
    if turn % 5 == 0:
        deliveries.duplicate(dice.randint(1, 3))
    if turn % 7 == 0:
        deliveries.hold()
    elif turn % 7 == 2:
        deliveries.shuffle(turn)
        deliveries.release()
    if turn % 4:
        return False
    crowd.stumble()
    return True


def leave_in_peace(github: SimGitHub) -> None:
    """Let nothing be lost any more, and no call fail."""
    github.deliveries.drop_if(None)
    github.deliveries.release()
    github.faults.clear()


async def _days(seeds: range, acts: int) -> int:
    bad = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory() as name:
            url = f"sqlite:///{name}/bot.db"
            await migrate(url)
            async with open_world(Path(name), url) as world:
                crowd = await day(world, seed, acts)
                found = sorted(crowd.broken) + crowd.wrong()
        bad += bool(found)
        sys.stdout.write(f"seed {seed}: {len(crowd.seen)} runs, {found or 'all right'}\n")
        sys.stdout.flush()
    return bad


def main() -> int:
    """Play days; return 1 if one ended wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--acts", type=int, default=ACTS)
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    return int(asyncio.run(_days(range(given.seed, given.seed + given.days), given.acts)) > 0)


if __name__ == "__main__":
    sys.exit(main())
