"""Two replicas on one database, and a process that dies while it holds a lease."""

import asyncio
import subprocess
import sys

import pytest

from bot.core.planning.plan import Plan
from bot.store import Store
from bot.store.polls import write_share
from tests.conftest import StoreFactory
from tests.store.building import NOW, REPO, SHA, after, claimant, delivery, put, run

pytestmark = pytest.mark.both_databases

_CLAIM_AND_DIE = """
import asyncio, os, signal, sys
from datetime import datetime
from bot.store import Store

async def main():
    store = await Store.open(sys.argv[1])
    now = datetime.fromisoformat(sys.argv[2])
    assert len(await store.deliveries.claim("dead", now, lease_s=30, limit=9)) == 1
    assert len(await store.runs.claim("dead", now, lease_s=30, limit=9)) == 1
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_two_owners_claim_disjointly(store_factory: StoreFactory) -> None:
    stores = [await store_factory(), await store_factory()]
    await put(stores[0], *(run(f"s{n}") for n in range(40)))
    claims = [stores[n % 2].runs.claim(f"owner {n}", NOW, lease_s=30, limit=7) for n in range(8)]
    found = [item.run.id for part in await asyncio.gather(*claims) for item in part]
    assert len(found) == len(set(found))
    rest = await stores[0].runs.claim("rest", NOW, lease_s=30, limit=99)
    assert len(found) + len(rest) == 40


async def test_two_owners_never_share_a_subject(store_factory: StoreFactory) -> None:
    stores = [await store_factory(), await store_factory()]
    for n in range(30):
        await stores[0].deliveries.put(delivery(f"g{n}", subject=f"7:{n % 10}"))
    claims = [
        stores[n % 2].deliveries.claim(f"owner {n}", NOW, lease_s=30, limit=4) for n in range(8)
    ]
    subjects = [item.subject for part in await asyncio.gather(*claims) for _, item in part]
    assert sorted(subjects) == sorted({f"7:{n}" for n in range(10)})


async def test_commits_at_once_make_one_open_run_with_every_claimant(
    store_factory: StoreFactory,
) -> None:
    stores = [await store_factory(), await store_factory()]

    def commit(n: int) -> Plan:
        made = run()
        return Plan(repo=REPO, new_runs=((made, (claimant(made, f"pr:{n}"),)),))

    await asyncio.gather(*(stores[n % 2].commit(commit(n), NOW, done=None) for n in range(12)))
    (found,) = await stores[0].runs.at(REPO.id, SHA)
    assert {item.source for item in found.claimants} == {f"pr:{n}" for n in range(12)}


async def test_a_poll_is_taken_once_whoever_asks(store_factory: StoreFactory) -> None:
    stores = [await store_factory(), await store_factory()]
    for at, expected in ((0, 1), (59, 0), (60, 1)):
        asked = (stores[n % 2].polls.take("list", after(at), every_s=60) for n in range(6))
        assert sum(await asyncio.gather(*asked)) == expected
    assert await stores[1].polls.resting(after(119)) == {"list"}
    assert await stores[1].polls.resting(after(120)) == frozenset()


async def test_replicas_count_each_other_for_a_minute_and_are_forgotten_later(
    store_factory: StoreFactory,
) -> None:
    stores = [await store_factory(), await store_factory()]
    for number, one in enumerate(stores):
        await one.polls.announce(f"replica {number}", after(number), writes_wait=number == 0)
    shares = [
        write_share(await stores[0].polls.resting(after(at)), "replica 1", is_known=False)
        for at in (2, 60, 61)
    ]
    assert shares == [0.125, 1.0, 1.0]
    await stores[1].polls.prune(after(61))
    names = ("replica:replica 0", "writer:replica 0", "replica:replica 1")
    assert [await stores[0].polls.noted(name) for name in names] == [None, None, after(61)]


@pytest.mark.parametrize(
    ("writers", "shares"),
    [
        ((), [1 / 3, 1 / 3, 1 / 3]),
        ((0,), [5 / 6, 1 / 12, 1 / 12]),
        ((0, 1), [11 / 24, 11 / 24, 1 / 12]),
        ((0, 1, 2), [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_replicas_whose_writes_wait_have_what_idle_ones_leave(
    writers: tuple[int, ...], shares: list[float]
) -> None:
    rows = frozenset([f"replica:{n}" for n in range(3)] + [f"writer:{n}" for n in writers])
    found = [write_share(rows, str(n), is_known=n in writers) for n in range(3)]
    assert found == pytest.approx(shares)
    new = [write_share(rows, str(n), is_known=False) for n in range(3)]
    assert sum(new) <= 1.0001, "a need that is not known yet takes nothing"


def test_a_new_writer_takes_nothing_of_the_pace_before_the_busy_one_has_read_of_it() -> None:
    rows = frozenset([*(f"replica:{n}" for n in range(3)), "writer:0"])
    busy = write_share(rows, "0", is_known=True)  # has not read the row of the new one
    new = write_share(rows | {"writer:1"}, "1", is_known=False)
    assert busy + new + write_share(rows, "2", is_known=False) == pytest.approx(1)


async def test_what_a_killed_process_held_is_claimed_when_its_lease_ends(
    store: Store, database_url: str
) -> None:
    await put(store, run())
    await store.deliveries.put(delivery("g"))
    command = [sys.executable, "-c", _CLAIM_AND_DIE, database_url, NOW.isoformat()]
    process = await asyncio.create_subprocess_exec(*command)
    assert await process.wait() == -9, subprocess.list2cmdline(command)
    assert await store.runs.claim("me", after(29), lease_s=30, limit=9) == ()
    assert await store.deliveries.claim("me", after(29), lease_s=30, limit=9) == ()
    assert len(await store.runs.claim("me", after(30), lease_s=30, limit=9)) == 1
    assert len(await store.deliveries.claim("me", after(30), lease_s=30, limit=9)) == 1


async def freed(store: Store) -> int:
    """Return how many runs nobody leases."""
    return len(await store.runs.claim("test", NOW, lease_s=0, limit=9))


async def test_a_starting_process_frees_what_its_dead_predecessor_leased(store: Store) -> None:
    for life in range(2):
        async with store.instance("replica-0") as owner:
            assert await freed(store) == life
            await put(store, run())
            assert len(await store.runs.claim(owner, NOW, lease_s=30, limit=9)) == 1


async def test_a_starting_process_frees_nothing_that_a_living_one_leased(
    store: Store, store_factory: StoreFactory
) -> None:
    await put(store, run())
    twin = await store_factory()
    async with store.instance("replica-0") as owner:
        assert len(await store.runs.claim(owner, NOW, lease_s=30, limit=9)) == 1
        for name in ("replica-1", "replica-0", "replica_0", ""):
            async with twin.instance(name) as other:
                assert await freed(store) == 0
                assert other != owner


async def test_a_cancelled_write_leaves_the_store_usable(store: Store) -> None:
    for _ in range(20):
        writing = asyncio.create_task(put(store, run("gone")))
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
    await put(store, run("stays"))
    assert "stays" in {item.run.suite for item in await store.runs.at(REPO.id, SHA)}
