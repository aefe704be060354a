"""A place, or the end of one, takes as much work beside many runs as beside few.

The work is what SQLite counts: the steps of its machine. Time would depend on the tests beside it.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bot.core.model.ids import Sha
from bot.core.model.runs import Run, State
from bot.core.policy.models import Start
from bot.core.queue.state import Acquired
from bot.store import Store
from bot.store.runs import SaveRun
from tests.bench.acquire_bench import FROZEN, NEED_SLOT, NEEDS, hold, line_up
from tests.core.building import with_changes
from tests.steps import Work, counting
from tests.store.building import REPO, after, put, run

FEW, MANY = 50, 1500
TIMES = 12


@pytest.fixture
def work() -> Iterator[Work]:
    """Count the steps of all connections."""
    with counting() as made:
        yield made


async def arrive(store: Store, first: int) -> list[Run]:
    """Put runs in."""
    made = [
        run("ppo", snapshot=FROZEN, sha=Sha(f"{n:040x}"), number=n)
        for n in range(first, first + TIMES)
    ]
    await put(store, *made)
    return made


async def start_and_end(store: Store, work: Work, first: int) -> int:
    """Return the steps for some runs that get a place and end."""
    await arrive(store, first)
    claimed = await store.runs.claim("me", after(1), lease_s=30, limit=TIMES)
    before = work.steps
    for one in claimed:
        assert await store.queue.acquire(one.run, NEEDS, after(1)) == Acquired(0)
    for one in claimed:
        ended = replace(one.run, state=State.DONE, ended_at=after(2))
        assert await store.runs.save(one.lease, SaveRun(ended, None, release_all=True), after(2))
    return (work.steps - before) // TIMES


async def wait_and_leave(store: Store, work: Work, first: int) -> int:
    """Return the steps for some runs that wait, and then are cancelled."""
    await arrive(store, first)
    claimed = await store.runs.claim("me", after(1), lease_s=30, limit=TIMES)
    await store.queue.acquire(claimed[0].run, NEED_SLOT, after(1))  # the queue is known
    before = work.steps
    for one in claimed[1:]:
        assert not isinstance(await store.queue.acquire(one.run, NEED_SLOT, after(1)), Acquired)
    for one in claimed[1:]:
        ended = replace(one.run, state=State.DONE, ended_at=after(2))
        assert await store.runs.save(one.lease, SaveRun(ended, None, release_all=True), after(2))
    return (work.steps - before) // (TIMES - 1)


async def test_a_start_and_an_end_take_few_steps_for_each_run_that_goes(
    work: Work, store: Store
) -> None:
    await hold(store, FEW)
    await start_and_end(store, work, 10**6)
    beside_few = await start_and_end(store, work, 2 * 10**6)
    await hold(store, MANY, first=FEW)
    beside_many = await start_and_end(store, work, 3 * 10**6)
    assert beside_many - beside_few < 60 * MANY  # the sums of places, hours and jobs


async def test_a_run_that_waits_or_leaves_takes_the_same_steps_beside_few_and_many_that_wait(
    work: Work, store: Store
) -> None:
    await line_up(store, FEW)
    beside_few = await wait_and_leave(store, work, 10**6)
    await line_up(store, MANY, first=FEW)
    beside_many = await wait_and_leave(store, work, 2 * 10**6)
    assert beside_many < 1.2 * beside_few


async def test_native_runs_are_looked_for_in_the_same_steps_beside_few_and_many_others(
    work: Work, store: Store
) -> None:
    lint = replace(run("lint"), snapshot=with_changes(FROZEN, start=Start.NATIVE))
    await put(store, lint)
    steps = []
    for first, others in ((0, FEW), (FEW, MANY)):
        await hold(store, others, first=first)
        assert [repo.id for repo, _ in await store.runs.native()] == [REPO.id]
        before = work.steps
        await store.runs.native()
        steps.append(work.steps - before)
    assert steps[1] <= steps[0] + 100  # a level more of an index
