"""How operators find runs: by the start of an id, by a label, and what shows them."""

import pytest

from bot.core.model.ids import RunId
from bot.core.queue.state import Acquired
from bot.store import Store
from bot.store.run_reads import RunQuery
from tests.store.rows import NOW, put, run
from tests.store.test_checks import claim, show
from tests.store.test_holds import OTHER_SLOT, SLOT, runs


@pytest.mark.parametrize(
    ("start", "found"),
    [("01A", ["01AC", "01AB"]), ("01AB", ["01AB"]), ("01_", []), ("%", []), ("9", [])],
)
async def test_runs_are_found_by_the_start_of_their_id(
    store: Store, start: str, found: list[str]
) -> None:
    await put(store, *(run(name, id=RunId(name)) for name in ("01AB", "01AC", "01B")))
    assert list(await store.runs.ids_from(start, limit=9)) == found
    assert len(await store.runs.ids_from(start, limit=1)) == min(1, len(found))


async def on(store: Store, label: str) -> list[str]:
    return [item.run.suite for item in await store.runs.search(RunQuery(label=label))]


async def test_runs_are_found_by_the_label_they_took_or_wait_for(store: Store) -> None:
    holder, waits, both = await runs(store, 3)
    assert await store.queue.acquire(holder, ((SLOT,),), NOW) == Acquired(0)
    await put(store, run("took", label="a2"))
    await store.queue.acquire(waits, ((SLOT,),), NOW)
    await store.queue.acquire(both, ((SLOT, OTHER_SLOT),), NOW)
    assert await on(store, "a3") == ["s2", "s1"]
    assert await on(store, "a2") == ["took", "s2"]
    assert await on(store, "a") == []
    assert await on(store, "a_") == []


async def test_a_run_leads_to_the_check_run_that_shows_it(store: Store) -> None:
    made = run()
    await put(store, made)
    assert await store.checks.of_run(made.id) is None
    await show(store, await claim(store))
    assert await store.checks.of_run(made.id) == 5
    assert await store.checks.of_run(RunId("nobody")) is None
