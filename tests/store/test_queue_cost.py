"""A place, or the end of one, costs as much beside many runs that go as beside few."""

import time
from dataclasses import replace

from bot.core.model.ids import Sha
from bot.core.model.runs import State
from bot.core.queue.state import Acquired
from bot.store import Store
from bot.store.runs import SaveRun
from tests.bench.acquire_bench import FROZEN, NEEDS, hold
from tests.store.building import after, put, run

FEW, MANY = 50, 1500
TIMES = 12


async def cost(store: Store, first: int) -> float:
    """Return the CPU time of some runs that get a place and end."""
    made = [
        run("ppo", snapshot=FROZEN, sha=Sha(f"{n:040x}"), number=n)
        for n in range(first, first + TIMES)
    ]
    await put(store, *made)
    claimed = await store.runs.claim("me", after(1), lease_s=30, limit=TIMES)
    began = time.process_time()
    for one in claimed:
        assert await store.queue.acquire(one.run, NEEDS, after(1)) == Acquired(0)
    for one in claimed:
        ended = replace(one.run, state=State.DONE, ended_at=after(2))
        assert await store.runs.save(one.lease, SaveRun(ended, None, release_all=True), after(2))
    return time.process_time() - began


async def test_a_start_and_an_end_cost_the_same_beside_few_and_many_that_go(store: Store) -> None:
    await hold(store, FEW)
    await cost(store, 10**6)  # statements are made
    beside_few = await cost(store, 2 * 10**6)
    await hold(store, MANY, first=FEW)
    beside_many = await cost(store, 3 * 10**6)
    assert beside_many < 2 * beside_few
