"""A schedule fires once, whatever the replicas, restarts and changed policies."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.model.runs import Outcome, State
from bot.core.planning.plan import AuditEntry, Plan
from bot.core.planning.schedule import (
    Firing,
    FiringState,
    Schedule,
    ScheduleChange,
    due_firing,
    firing_source,
)
from bot.store import Store
from bot.store.audit import AuditQuery
from tests.conftest import StoreFactory
from tests.store.building import REPO, SHA, after, claimant, run

AT = datetime(2026, 3, 4, 17, 0, tzinfo=UTC)
DAY = timedelta(days=1)
ROW = Schedule(REPO.id, "a2", "0 17 * * *", AT)
FIRING = Firing(REPO.id, "a2", AT, FiringState.STARTED, SHA, "2 suites started")
SOURCE = firing_source("a2", AT)


def started(*suites: str) -> Plan:
    """Return the plan of a firing."""
    new = [run(suite) for suite in suites]
    return Plan(new_runs=tuple((one, (claimant(one, SOURCE),)) for one in new))


async def scheduled(store: Store, *rows: Schedule) -> None:
    await store.commit(Plan(repo=REPO), AT, done=None)
    await store.schedules.save(ScheduleChange(put=rows or (ROW,)))


async def suites_at(store: Store) -> list[str]:
    return [item.run.suite for item in await store.runs.at(REPO.id, SHA)]


async def test_a_time_is_due_once_it_has_come(store: Store) -> None:
    await scheduled(store)
    assert (await store.schedules.due(AT - timedelta(seconds=1))).schedules == ()
    assert (await store.schedules.due(AT)).schedules == ((REPO, ROW),)


async def test_a_firing_moves_the_time_keeps_the_firing_and_starts_its_suites(store: Store) -> None:
    await scheduled(store)
    assert await store.schedules.fire(ROW, AT + DAY, FIRING, started("one", "two"), AT)
    assert (await store.schedules.due(AT + timedelta(hours=1))).schedules == ()
    (told,) = await store.schedules.listing(each=5)
    assert (told.schedule.next, told.firings) == (AT + DAY, (FIRING,))
    assert sorted(await suites_at(store)) == ["one", "two"]


@pytest.mark.both_databases
async def test_replicas_that_race_for_a_firing_start_it_once(store_factory: StoreFactory) -> None:
    stores = [await store_factory() for _ in range(3)]
    await scheduled(stores[0])
    fired = [one.schedules.fire(ROW, AT + DAY, FIRING, started("one"), AT) for one in stores]
    assert sorted(await asyncio.gather(*fired)) == [False, False, True]
    assert await suites_at(stores[0]) == ["one"]


async def test_whoever_comes_late_writes_nothing_at_all(store: Store) -> None:
    await scheduled(store)
    await store.schedules.fire(ROW, AT + DAY, FIRING, started("one"), AT)
    assert not await store.schedules.fire(
        ROW, AT + DAY, replace(FIRING, at=after(9)), started("two"), AT
    )
    (told,) = await store.schedules.listing(each=5)
    assert told.firings == (FIRING,)
    assert await suites_at(store) == ["one"]


@pytest.mark.parametrize("crash", [False, True], ids=["fired", "crashed before the commit"])
async def test_a_restart_fires_what_was_not_committed_and_no_more(
    store_factory: StoreFactory, *, crash: bool
) -> None:
    first = await store_factory()
    await scheduled(first)
    now = AT + timedelta(minutes=3)
    if not crash:
        await first.schedules.fire(ROW, AT + DAY, FIRING, started("one"), now)
    again = await store_factory()
    left = (await again.schedules.due(now)).schedules
    for _, row in left:
        found = due_firing(row, now)
        assert found is not None
        await again.schedules.fire(
            row, found.then, replace(FIRING, at=found.at), started("one"), now
        )
    assert len(left) == int(crash)
    assert await suites_at(again) == ["one"]
    assert (await again.schedules.listing(each=5))[0].schedule.next == AT + DAY


@pytest.mark.both_databases
async def test_a_changed_time_replaces_the_old_one_and_a_gone_one_is_dropped(store: Store) -> None:
    other = replace(ROW, name="a3")
    await scheduled(store, ROW, other)
    moved = replace(ROW, cron="0 18 * * *", next=AT + timedelta(hours=1))
    await store.schedules.save(ScheduleChange(put=(moved,), drop=(other,)))
    assert [item.schedule for item in await store.schedules.listing(each=1)] == [moved]


async def test_a_time_that_another_replica_has_moved_on_is_not_moved_back(store: Store) -> None:
    await scheduled(store)
    await store.schedules.fire(ROW, AT + DAY, FIRING, Plan(), AT)
    await store.schedules.save(ScheduleChange(put=(ROW,)))
    assert (await store.schedules.due(AT)).schedules == ()


@pytest.mark.both_databases
async def test_a_clock_set_back_gets_its_time_back_but_no_firing_twice(store: Store) -> None:
    await scheduled(store)
    skipped = replace(FIRING, state=FiringState.SKIPPED, sha="", note="too late")
    ahead = replace(ROW, next=AT + DAY)
    for firing, begun in ((skipped, True), (FIRING, True), (FIRING, False)):
        assert await store.schedules.fire(ROW, ahead.next, firing, Plan(), AT) is begun
        await store.schedules.move_back(
            replace(ahead, next=AT + 9 * DAY), ROW
        )  # not what it is now
        assert (await store.schedules.due(AT)).schedules == ()
        await store.schedules.move_back(ahead, ROW)
        assert (await store.schedules.due(AT)).schedules == ((REPO, ROW),)
    assert not await store.schedules.fire(ROW, ahead.next, FIRING, started("one"), AT)
    (told,) = await store.schedules.listing(each=5)
    assert (told.schedule, told.firings, await suites_at(store)) == (ahead, (FIRING,), [])


@pytest.mark.both_databases
async def test_repositories_come_with_their_policy_and_times_unless_suspended(
    store: Store,
) -> None:
    await scheduled(store)
    policy = StoredPolicy(REPO.id, "main", "b" * 40, "version: 1", AT)
    other = StoredPolicy(REPO.id, "v1", "c" * 40, "version: 1", AT)
    for row in (policy, other):
        await store.commit(Plan(policy=row), AT, done=None)
    (timed,) = await store.schedules.by_repo()
    assert (timed.repo, timed.policy, timed.schedules) == (REPO, policy, (ROW,))
    gone = Repo(RepoId(8), "x", "y", "main", active=False)
    await store.commit(Plan(repo=gone), AT, done=None)
    assert [item.repo.id for item in await store.schedules.by_repo()] == [REPO.id]


@pytest.mark.both_databases
async def test_a_firing_that_was_asked_for_starts_once_and_is_audited(
    store_factory: StoreFactory,
) -> None:
    stores = [await store_factory() for _ in range(2)]
    await scheduled(stores[0])
    asked = replace(FIRING, state=FiringState.ASKED, sha="", note="asked for by ann")
    entry = AuditEntry(AT, "ann", "nightly a2", allowed=True, rule="operator", repo_id=REPO.id)
    await stores[0].schedules.ask(asked, entry)
    await stores[1].schedules.ask(asked, entry)
    assert (await stores[1].schedules.due(AT - DAY)).asked == ((REPO, asked),)
    fired = [one.schedules.fire_asked(FIRING, started("one"), AT) for one in stores]
    assert sorted(await asyncio.gather(*fired)) == [False, True]
    assert (await stores[0].schedules.due(AT - DAY)).asked == ()
    (told,) = await stores[0].schedules.listing(each=5)
    assert (told.firings, told.schedule.next) == ((FIRING,), AT)
    found = await stores[0].audit.search(AuditQuery(who="ann", since=AT))
    assert [item.entry for item in found] == [entry, entry]


@pytest.mark.both_databases
async def test_an_open_firing_comes_with_its_runs_until_it_is_settled(store: Store) -> None:
    await scheduled(store)
    changes = started("one", "two")
    await store.schedules.fire(ROW, AT + DAY, FIRING, changes, AT)
    ((firing, runs),) = await store.schedules.open_firings()
    assert (firing, [item.run.suite for item in runs]) == (FIRING, ["one", "two"])
    done = replace(FIRING, state=FiringState.DONE, note="2 of 2 suites passed")
    await store.schedules.settle(done)
    await store.schedules.settle(replace(done, note="again"))
    assert await store.schedules.open_firings() == ()
    (told,) = await store.schedules.listing(each=5)
    assert told.firings == (done,)


async def test_ended_runs_still_tell_how_a_firing_went(store: Store) -> None:
    await scheduled(store)
    ended = run("one", state=State.DONE, outcome=Outcome.SUCCESS)
    changes = Plan(new_runs=((ended, (claimant(ended, SOURCE),)),))
    await store.schedules.fire(ROW, AT + DAY, FIRING, changes, AT)
    (item,) = await store.schedules.runs_of(REPO.id, SOURCE)
    assert (item.run.outcome, item.claimants[0].source) == (Outcome.SUCCESS, SOURCE)


@pytest.mark.both_databases
async def test_old_firings_are_forgotten_but_for_those_that_go_on(store: Store) -> None:
    await scheduled(store)
    past = [FiringState.SKIPPED, FiringState.STARTED, FiringState.DONE]
    for days, state in enumerate(past):
        firing = replace(FIRING, at=AT - days * DAY, state=state)
        row = (await store.schedules.listing(each=1))[0].schedule
        await store.schedules.fire(row, row.next + DAY, firing, Plan(), AT)
    await store.schedules.prune(AT + DAY)
    (told,) = await store.schedules.listing(each=5)
    assert [firing.state for firing in told.firings] == [FiringState.STARTED]
