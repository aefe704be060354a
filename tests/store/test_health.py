"""Health counts what waits, and compares the clock of the database."""

import pytest

from bot.store import Store
from tests.store.building import NOW, after, delivery, put, run

pytestmark = pytest.mark.both_databases


async def test_health_counts_what_waits(store: Store) -> None:
    assert (await store.health.counts(NOW)).oldest_delivery_s is None
    await put(store, run("a"), run("b"))
    for n in range(3):
        await store.deliveries.put(delivery(f"g{n}", received_at=after(n)))
    health = await store.health.counts(after(10))
    assert (health.deliveries_waiting, health.oldest_delivery_s) == (3, 10.0)
    assert (health.runs_by_state, health.checks_behind) == ({"queued": 2}, 2)
    assert health.last_delivery_at == after(2)


async def test_the_clock_of_the_database_is_compared(store: Store) -> None:
    skew = await store.health.clock_skew_s(NOW)
    if store._db.url.startswith("sqlite"):
        assert skew == 0
    else:
        assert await store.health.clock_skew_s(after(1000)) < skew
