"""Group commit: few transactions for many handlers, and nobody pays for another's bad row."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.ports.errors import Transient
from bot.ports.wake import Topic
from bot.store import Store
from bot.store.database import Database, Work
from bot.store.deliveries import _row
from bot.store.group_commit import GroupCommit
from tests.conftest import StoreFactory
from tests.store.building import NOW, delivery
from tests.store.recording_wake import RecordingWake

pytestmark = pytest.mark.both_databases


TOO_BIG = 2**70  # no database has an integer column for it


async def test_deliveries_that_wait_together_share_transactions(store: Store) -> None:
    before = store.transactions
    fresh = await asyncio.gather(*(store.deliveries.put(delivery(f"g{n}")) for n in range(400)))
    assert all(fresh)
    assert store.transactions - before <= 3
    known = await store.deliveries.known_guids(tuple(f"g{n}" for n in range(400)))
    assert len(known) == 400


async def test_handlers_that_were_told_together_come_together_again(store: Store) -> None:
    async def send(sender: int) -> None:
        for n in range(6):
            for _ in range(sender):  # the loop gets to each connection in turn
                await asyncio.sleep(0)
            assert await store.deliveries.put(delivery(f"g{sender}-{n}"))

    before = store.transactions
    await asyncio.gather(*map(send, range(8)))
    assert store.transactions - before <= 9


async def test_a_group_waits_no_longer_than_until_all_of_the_last_one_came(store: Store) -> None:
    group = GroupCommit(store._db, gather_s=3600)
    for n in range(3):
        rows = [_row(delivery(f"g{n}-{sender}"), None) for sender in range(8)]
        assert all(await asyncio.gather(*map(group.add, rows)))


async def test_a_group_does_not_wait_for_a_sender_that_went_away(store: Store) -> None:
    group = GroupCommit(store._db, gather_s=0)
    await asyncio.gather(*(group.add(_row(delivery(f"g{n}"), None)) for n in range(2)))
    assert await group.add(_row(delivery("last"), None))


async def test_a_handler_is_told_when_the_database_takes_too_long(store: Store) -> None:
    group = GroupCommit(store._db, patience_s=0)
    blocked = asyncio.Event()

    async def write(work: Work[Any]) -> Any:
        await blocked.wait()
        return await Database.write(store._db, work)

    store._db.write = write  # type: ignore[method-assign]
    rows = [_row(delivery(f"g{n}"), None) for n in range(2)]
    told = await asyncio.gather(*map(group.add, rows), return_exceptions=True)
    assert [str(error) for error in told] == ["the database takes too long"] * 2
    blocked.set()
    await group.close()
    known = await store.deliveries.known_guids(("g0", "g1"))
    assert known == {"g0", "g1"}, "sent again, they change nothing"


async def test_more_than_a_batch_is_stored_whole(store: Store) -> None:
    many = [delivery(f"g{n}", subject=str(n)) for n in range(1201)]
    assert all(await asyncio.gather(*map(store.deliveries.put, many)))
    found = await store.deliveries.claim("me", NOW, lease_s=30, limit=2000)
    assert [item.guid for _, item in found] == [item.guid for item in many]


async def test_the_same_guid_twice_in_a_batch_is_new_once(store: Store) -> None:
    told = await asyncio.gather(*(store.deliveries.put(delivery("g")) for _ in range(5)))
    assert sorted(told) == [False, False, False, False, True]


async def test_a_bad_row_fails_only_its_own_handler(store: Store) -> None:
    rows = [delivery(f"g{n}") for n in range(10)]
    rows[3] = replace(rows[3], repo_id=TOO_BIG)
    rows[7] = replace(rows[7], event=None)  # type: ignore[arg-type]
    with capture_logs() as said:
        told = await asyncio.gather(*map(store.deliveries.put, rows), return_exceptions=True)
    assert [line["event"] for line in said] == ["delivery_batch_failed"]
    failed = [n for n, answer in enumerate(told) if isinstance(answer, Exception)]
    assert failed == [3, 7]
    assert not isinstance(told[7], Transient)  # it would be sent again, for ever
    assert await store.deliveries.known_guids(tuple(row.guid for row in rows)) == {
        f"g{n}" for n in range(10) if n not in {3, 7}
    }


async def test_a_bad_row_alone_fails_and_the_next_is_stored(store: Store) -> None:
    with pytest.raises(Exception, match=r"."):
        await store.deliveries.put(delivery("bad", repo_id=TOO_BIG))
    assert await store.deliveries.put(delivery("good"))


async def test_a_handler_that_went_away_harms_nobody(store: Store) -> None:
    gone = asyncio.create_task(store.deliveries.put(delivery("gone")))
    stays = asyncio.create_task(store.deliveries.put(delivery("stays")))
    await asyncio.sleep(0)
    gone.cancel()
    assert await stays
    assert await store.deliveries.put(delivery("next"))


async def test_close_stores_what_waits(store_factory: StoreFactory) -> None:
    closing, other = await store_factory(), await store_factory()
    waiting = asyncio.create_task(closing.deliveries.put(delivery("g")))
    await asyncio.sleep(0)
    await closing.close()
    assert await waiting
    assert await other.deliveries.known_guids(("g",)) == {"g"}


async def test_a_new_delivery_pokes_the_inbox_and_a_known_or_ignored_one_does_not(
    store_factory: StoreFactory,
) -> None:
    pokes = RecordingWake()
    store = await store_factory(wake=pokes)
    await store.deliveries.put(delivery("g"))
    assert pokes.topics() == [Topic.INBOX]
    await store.deliveries.put(delivery("g"))
    await store.deliveries.put(delivery("h"), ignored="not ours")
    assert pokes.topics() == []
