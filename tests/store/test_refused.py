"""Check rows that GitHub refuses, and what is known of what it shows."""

import pytest

from bot.store import Store
from bot.store.checks import Written
from bot.store.published import NotShown
from tests.store.building import NOW, after
from tests.store.test_checks import claim, claims, fail, save, show, shown_run, touch


@pytest.mark.both_databases
async def test_a_refused_check_is_counted_and_shown_with_a_new_state_but_not_with_progress(
    store: Store,
) -> None:
    made = await shown_run(store)
    await save(store, made, at=1, show=True)
    due = await claim(store, 1)
    await fail(store, due, NotShown(None, "403", refused=True), at=1)
    assert (await store.health.counts(NOW)).checks_refused == 1
    await save(store, made, at=2, progress=True)
    assert await claims(store, 999) == ()
    await save(store, made, at=1000, show=True)
    due = await claim(store, 1000)
    assert (due.external_id, due.refusals) == (made.id, 1)
    await show(store, due, 1000)
    assert (await store.health.counts(NOW)).checks_refused == 0


async def test_a_state_that_comes_while_an_older_one_is_refused_is_due_at_once(
    store: Store,
) -> None:
    made = await shown_run(store)
    await save(store, made, at=1, show=True)
    due = await claim(store, 1)
    await save(store, made, at=2, show=True)
    await fail(store, due, NotShown(after(3600), "403", refused=True), at=3)
    assert len(await claims(store, 3)) == 1


async def test_contents_are_known_only_if_nobody_may_have_written_others_since(
    store: Store,
) -> None:
    await touch(store)
    due = await claim(store)
    assert not due.shows("a")
    await store.checks.shown(
        due.lease, github_id=5, version=1, ended=False, now=NOW, written=Written("a")
    )
    await touch(store, at=1)
    due = await claim(store, 1)
    assert (due.shows("a"), due.shows("b")) == (True, False)
    assert not (await claim(store, 40)).shows("a")  # its holder died
