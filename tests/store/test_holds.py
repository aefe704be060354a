"""Holds: never more than the capacity, in the order of the queue, released to waiting runs."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from bot.core.model.ids import RepoId
from bot.core.model.queue import Need, QueuePosition
from bot.core.model.runs import Run
from bot.core.queue.state import Acquired, Answer, Blocked
from bot.store import Store
from bot.store.database import DbConnection
from bot.store.queue import lock_queue, release
from bot.store.runs import SaveRun
from bot.store.tables import holds
from tests.conftest import StoreFactory
from tests.store.building import NOW, after, done, put, run

pytestmark = pytest.mark.both_databases


SLOT = Need("label:a3", amount=1, capacity=1)
OTHER_SLOT = Need("label:a2", amount=1, capacity=1)
POOL = Need("pool:cluster", amount=16, capacity=32)


async def runs(store: Store, count: int, **more: object) -> list[Run]:
    """Store runs, each created a second after the one before, none of them due."""
    made = [run(f"s{n}", created_at=after(n), **more) for n in range(count)]
    await put(store, *made)
    for claimed in await store.runs.claim("setup", NOW, lease_s=30, limit=999):
        await store.runs.save(claimed.lease, SaveRun(claimed.run, due=None), NOW)
    return made


async def poked(store: Store) -> list[str]:
    """Return the suites of the runs that are due, and let them rest again."""
    found = await store.runs.claim("me", NOW, lease_s=30, limit=999)
    for claimed in found:
        await store.runs.save(claimed.lease, SaveRun(claimed.run, due=None), NOW)
    return [claimed.run.suite for claimed in found]


async def give_back(store: Store, item: Run, *names: str) -> None:
    """Give back these places; without a name all of them and the place in the queue."""

    async def work(conn: DbConnection) -> None:
        await lock_queue(conn, item.repo_id)
        await release(conn, item.repo_id, item.id, names or None, NOW)

    await store._db.write(work)


def standing(answer: Answer) -> tuple[str, int]:
    """Return what a run waits for, and how many are ahead."""
    assert isinstance(answer, QueuePosition)
    return answer.resource, answer.ahead


async def test_a_resource_is_held_once_however_often_it_is_acquired(store: Store) -> None:
    (first,) = await runs(store, 1)
    assert await store.queue.acquire(first, ((SLOT,),), NOW) == Acquired(0)
    assert await store.queue.acquire(first, ((SLOT,),), NOW) == Acquired(0)
    query = select(func.count()).select_from(holds)
    assert await store._db.read(lambda conn: conn.scalar(query)) == 1


async def test_a_full_resource_queues_behind_its_holders(store: Store) -> None:
    first, second, third = await runs(store, 3)
    assert await store.queue.acquire(first, ((SLOT,),), NOW) == Acquired(0)
    assert standing(await store.queue.acquire(second, ((SLOT,),), NOW)) == ("a3", 1)
    assert standing(await store.queue.acquire(third, ((SLOT,),), NOW)) == ("a3", 2)
    assert standing(await store.queue.acquire(second, ((SLOT,),), NOW)) == ("a3", 1)


async def test_the_first_alternative_that_fits_is_taken(store: Store) -> None:
    first, second, third = await runs(store, 3)
    choices = ((SLOT,), (OTHER_SLOT,))
    assert await store.queue.acquire(first, choices, NOW) == Acquired(0)
    assert await store.queue.acquire(second, choices, NOW) == Acquired(1)
    assert await store.queue.acquire(second, choices, NOW) == Acquired(1)
    assert standing(await store.queue.acquire(third, choices, NOW)) == ("a3", 1)


async def test_an_alternative_is_taken_whole_or_not_at_all(store: Store) -> None:
    first, second = await runs(store, 2)
    assert await store.queue.acquire(first, ((POOL,),), NOW) == Acquired(0)
    wide = Need("pool:cluster", amount=32, capacity=32)
    assert standing(await store.queue.acquire(second, ((OTHER_SLOT, wide),), NOW)) == ("cluster", 1)
    query = select(func.sum(holds.c.amount))
    assert await store._db.read(lambda conn: conn.scalar(query)) == POOL.amount


async def test_nothing_to_need_is_always_taken(store: Store) -> None:
    (first,) = await runs(store, 1)
    assert await store.queue.acquire(first, ((),), NOW) == Acquired(0)


async def test_a_small_run_does_not_overtake_an_earlier_big_one(store: Store) -> None:
    first, big, small = await runs(store, 3)
    assert await store.queue.acquire(first, ((POOL,),), NOW) == Acquired(0)
    wide = Need("pool:cluster", amount=32, capacity=32)
    assert standing(await store.queue.acquire(big, ((wide,),), NOW)) == ("cluster", 1)
    assert standing(await store.queue.acquire(small, ((POOL,),), NOW)) == ("cluster", 2)


async def test_an_earlier_run_that_asks_later_is_served_first(store: Store) -> None:
    holder, early, late = await runs(store, 3)
    await store.queue.acquire(holder, ((SLOT,),), NOW)
    await store.queue.acquire(late, ((SLOT,),), NOW)
    assert standing(await store.queue.acquire(early, ((SLOT,),), NOW)) == ("a3", 1)
    await give_back(store, holder, "label:a3")
    assert standing(await store.queue.acquire(late, ((SLOT,),), NOW)) == ("a3", 1)
    assert await store.queue.acquire(early, ((SLOT,),), NOW) == Acquired(0)


async def test_runs_created_at_one_moment_are_served_by_id(store: Store) -> None:
    holder, one, two = [run(suite) for suite in "abc"]
    await put(store, holder, one, two)
    await store.queue.acquire(holder, ((SLOT,),), NOW)
    await store.queue.acquire(two, ((SLOT,),), NOW)
    assert standing(await store.queue.acquire(one, ((SLOT,),), NOW)) == ("a3", 1)
    assert standing(await store.queue.acquire(two, ((SLOT,),), NOW)) == ("a3", 2)


async def test_resources_are_of_a_repository(store: Store) -> None:
    (ours,) = await runs(store, 1)
    (theirs,) = await runs(store, 1, repo_id=RepoId(8))
    assert await store.queue.acquire(ours, ((SLOT,),), NOW) == Acquired(0)
    assert await store.queue.acquire(theirs, ((SLOT,),), NOW) == Acquired(0)


async def test_giving_back_pokes_those_who_wait_there_and_nobody_else(store: Store) -> None:
    holder, waits, elsewhere = await runs(store, 3)
    await store.queue.acquire(holder, ((SLOT, OTHER_SLOT),), NOW)
    await store.queue.acquire(waits, ((SLOT,),), NOW)
    await store.queue.acquire(elsewhere, ((OTHER_SLOT,),), NOW)
    await give_back(store, holder, "label:a3")
    assert await poked(store) == ["s1"]
    assert await store.queue.acquire(waits, ((SLOT,),), NOW) == Acquired(0)


async def test_a_run_that_leaves_the_queue_lets_the_next_one_in(store: Store) -> None:
    holder, first, second = await runs(store, 3)
    wide = Need("pool:cluster", amount=32, capacity=32)
    await store.queue.acquire(holder, ((POOL,),), NOW)
    await store.queue.acquire(first, ((wide,),), NOW)
    await store.queue.acquire(second, ((POOL,),), NOW)
    await give_back(store, first)
    assert await poked(store) == ["s2"]
    assert await store.queue.acquire(second, ((POOL,),), NOW) == Acquired(0)


async def test_only_the_first_of_a_long_queue_are_poked(store: Store) -> None:
    holder, *waiting = await runs(store, 30)
    for item in (holder, *waiting):
        await store.queue.acquire(item, ((SLOT,),), NOW)
    await give_back(store, holder, "label:a3")
    assert await poked(store) == ["s1", "s2", "s3"]


async def test_a_late_runner_takes_nothing_for_a_done_run(store: Store) -> None:
    ended, next_one = run("a"), run("b")
    await put(store, ended, next_one)
    claimed = (await store.runs.claim("me", NOW, lease_s=30, limit=1))[0]
    end = SaveRun(done(claimed.run), due=None, release_all=True)
    assert await store.runs.save(claimed.lease, end, NOW)
    assert isinstance(await store.queue.acquire(claimed.run, ((SLOT,),), NOW), Blocked)
    assert await store.queue.acquire(next_one, ((SLOT,),), NOW) == Acquired(0)
    assert isinstance(await store.queue.acquire(claimed.run, ((SLOT,),), NOW), Blocked)
    await give_back(store, next_one, "label:a3")
    assert await store.queue.acquire(next_one, ((SLOT,),), NOW) == Acquired(0)


async def used(store: Store) -> int:
    query = select(func.coalesce(func.sum(holds.c.amount), 0))
    return int(await store._db.read(lambda conn: conn.scalar(query)))


async def test_holds_never_exceed_the_capacity_whoever_takes_at_once(
    store_factory: StoreFactory,
) -> None:
    """Twelve runs, two replicas, room for three at once: each ends up served, never four."""
    stores = [await store_factory(), await store_factory()]
    waiting = await runs(stores[0], 12)
    need = Need("pool:cluster", amount=2, capacity=7)
    most = 0
    while waiting:
        answers = await asyncio.gather(
            *(stores[n % 2].queue.acquire(item, ((need,),), NOW) for n, item in enumerate(waiting))
        )
        most = max(most, await used(stores[0]))
        acquired = [
            item for item, answer in zip(waiting, answers, strict=True) if answer == Acquired(0)
        ]
        assert acquired, "the first in the queue is always served"
        assert most <= 7
        waiting = [item for item in waiting if item not in acquired]
        await asyncio.gather(
            *(give_back(stores[n % 2], i, "pool:cluster") for n, i in enumerate(acquired))
        )
    assert most == 6


STEPS = st.lists(
    st.tuples(st.sampled_from(["take", "give"]), st.integers(0, 4)), min_size=1, max_size=25
)


@given(steps=STEPS, amounts=st.lists(st.integers(1, 4), min_size=5, max_size=5))
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
async def test_whatever_the_order_capacity_holds_and_nobody_overtakes(
    store: Store, steps: list[tuple[str, int]], amounts: list[int]
) -> None:
    made = await runs(store, 5, sha="c" * 39 + str(len(amounts)), repo_id=RepoId(_repo()))
    holding: set[int] = set()
    queued: set[int] = set()
    for step, index in steps:
        if step == "give":
            await give_back(store, made[index])
            holding.discard(index)
            queued.discard(index)
            continue
        need = Need("pool:p", amounts[index], capacity=4)
        answer = await store.queue.acquire(made[index], ((need,),), NOW)
        used_now = sum(amounts[item] for item in holding)
        earlier = sum(amounts[item] for item in queued if item < index)
        fits = index in holding or used_now + earlier + amounts[index] <= 4
        assert (answer == Acquired(0)) == fits
        (holding if fits else queued).add(index)
        if fits:
            queued.discard(index)
        assert sum(amounts[item] for item in holding) <= 4


_repo_numbers = iter(range(1000, 10**6))


def _repo() -> int:
    """Return a repository of its own for each example: they share a database."""
    return next(_repo_numbers)
