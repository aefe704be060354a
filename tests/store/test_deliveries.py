"""Deliveries: stored once, claimed one at a time a subject, oldest first."""

import pytest

from bot.core.planning.plan import Plan
from bot.ports.wake import Topic
from bot.store import Store
from bot.store.leases import Lease
from tests.conftest import StoreFactory
from tests.store.building import NOW, after, delivery

pytestmark = pytest.mark.both_databases


async def claimed(store: Store, at: float = 0, limit: int = 10, owner: str = "me") -> list[str]:
    found = await store.deliveries.claim(owner, after(at), lease_s=30, limit=limit)
    return [item.guid for _, item in found]


async def claim_one(store: Store, at: float = 0, owner: str = "me") -> Lease:
    ((lease, _),) = await store.deliveries.claim(owner, after(at), lease_s=30, limit=1)
    return lease


async def finish(store: Store, lease: Lease, at: float = 0) -> bool:
    return await store.commit(Plan(), after(at), done=lease, note="nothing to do")


async def test_a_delivery_comes_back_as_it_was_stored(store: Store) -> None:
    stored = delivery("g", body=bytes(range(256)) * 9, repo_id=None, subject="app", tries=3)
    assert await store.deliveries.put(stored)
    ((lease, found),) = await store.deliveries.claim("me", NOW, lease_s=30, limit=1)
    assert found == stored
    assert (lease.owner, lease.number) == ("me", 1)


async def test_a_known_guid_changes_nothing(store: Store) -> None:
    assert await store.deliveries.put(delivery("g"))
    assert not await store.deliveries.put(delivery("g", action="closed"))
    ((_, found),) = await store.deliveries.claim("me", NOW, lease_s=30, limit=9)
    assert found.action == "opened"


async def test_an_ignored_delivery_is_known_but_never_claimed_and_has_no_body(
    store: Store,
) -> None:
    assert await store.deliveries.put(delivery("g"), ignored="another app's check run")
    assert await store.deliveries.known_guids(("g", "h")) == {"g"}
    assert await claimed(store) == []


async def test_one_delivery_a_subject_is_claimed_at_a_time_the_oldest_first(store: Store) -> None:
    await store.deliveries.put(delivery("late", received_at=after(2)))
    await store.deliveries.put(delivery("early", received_at=after(1)))
    await store.deliveries.put(delivery("same time", received_at=after(1)))
    await store.deliveries.put(delivery("other", received_at=after(3), subject="7:2"))
    assert await claimed(store, 5) == ["early", "other"]
    assert await claimed(store, 5) == []


async def test_the_next_of_a_subject_follows_the_end_of_the_one_before(store: Store) -> None:
    for guid in ("a", "b"):
        await store.deliveries.put(delivery(guid))
    assert await finish(store, await claim_one(store))
    assert await claimed(store) == ["b"]


async def test_an_older_delivery_stored_later_waits_while_its_subject_is_in_work(
    store: Store,
) -> None:
    await store.deliveries.put(delivery("in work", received_at=after(2)))
    lease = await claim_one(store, 3)
    await store.deliveries.put(delivery("older", received_at=after(1)))
    assert await claimed(store, 3) == []
    await finish(store, lease, 3)
    assert await claimed(store, 3) == ["older"]


async def test_the_limit_counts_subjects(store: Store) -> None:
    for number in range(5):
        await store.deliveries.put(delivery(f"g{number}", subject=f"7:{number}"))
    assert await claimed(store, limit=2) == ["g0", "g1"]
    assert await claimed(store, limit=9) == ["g2", "g3", "g4"]


async def test_a_delivery_that_backs_off_holds_up_its_subject_for_a_minute(store: Store) -> None:
    for guid in ("a", "b"):
        await store.deliveries.put(delivery(guid))
    lease = await claim_one(store)
    await store.deliveries.retry(lease, due=after(80), note="GitHub 502", park=False, counts=True)
    assert await claimed(store, 59) == []
    lease = await claim_one(store, 60)
    assert Topic.INBOX not in await store.due(after(80)), "the other one is in work"
    assert await finish(store, lease, 80)
    ((_, again),) = await store.deliveries.claim("me", after(80), lease_s=30, limit=9)
    assert (again.guid, again.tries) == ("a", 1)


async def test_of_one_that_was_passed_by_and_a_later_one_only_the_first_is_claimed(
    store: Store,
) -> None:
    await store.deliveries.put(delivery("a"))
    lease = await claim_one(store)
    await store.deliveries.retry(lease, due=after(90), note="GitHub 502", park=False, counts=True)
    await store.deliveries.put(delivery("b", received_at=after(80)))
    assert await claimed(store, 90) == ["a"]


async def test_a_command_waits_for_an_earlier_one_and_not_for_a_push(store: Store) -> None:
    for guid, event in (("p", "pull_request"), ("a", "issue_comment"), ("b", "issue_comment")):
        await store.deliveries.put(delivery(guid, event=event))
        if guid != "b":
            at = 0 if guid == "p" else 60
            ((lease, found),) = await store.deliveries.claim("me", after(at), lease_s=30, limit=9)
            assert found.guid == guid
            await store.deliveries.retry(
                lease, due=after(900), note="GitHub 502", park=False, counts=True
            )
    assert await claimed(store, 899) == []


async def test_a_retry_that_does_not_count_leaves_the_tries(store: Store) -> None:
    await store.deliveries.put(delivery("a"))
    lease = await claim_one(store)
    await store.deliveries.retry(lease, due=NOW, note="limit", park=False, counts=False)
    ((_, again),) = await store.deliveries.claim("me", NOW, lease_s=30, limit=9)
    assert again.tries == 0


async def test_a_parked_delivery_lets_its_subject_go_on(store: Store) -> None:
    for guid in ("a", "b"):
        await store.deliveries.put(delivery(guid))
    lease = await claim_one(store)
    await store.deliveries.retry(lease, due=NOW, note="8 tries", park=True, counts=True)
    assert await claimed(store) == ["b"]
    assert (await store.health.counts(NOW)).deliveries_parked == 1


async def test_an_expired_lease_can_be_claimed_and_the_late_owner_writes_nothing(
    store: Store,
) -> None:
    await store.deliveries.put(delivery("a"))
    late = await claim_one(store)
    assert await claimed(store, 29) == []
    fresh = await claim_one(store, 30, owner="other")
    assert fresh.number == late.number + 1
    assert not await finish(store, late, 31)
    await store.deliveries.retry(late, due=NOW, note="late", park=True, counts=True)
    assert (await store.health.counts(NOW)).deliveries_parked == 0
    assert await finish(store, fresh, 31)
    assert await claimed(store, 99) == []


async def test_a_delivery_is_finished_once(store: Store) -> None:
    await store.deliveries.put(delivery("a"))
    lease = await claim_one(store)
    assert await finish(store, lease)
    assert not await finish(store, lease)


async def test_a_second_store_sees_what_the_first_stored(store_factory: StoreFactory) -> None:
    first, second = await store_factory(), await store_factory()
    assert await first.deliveries.put(delivery("a"))
    assert not await second.deliveries.put(delivery("a"))
    assert await claimed(second) == ["a"]
    assert await claimed(first) == []
