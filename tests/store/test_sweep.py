"""Lists, counts and pruning."""

from dataclasses import replace

from bot.core.github.events import InstallationEvent
from bot.core.model.ids import Sha
from bot.core.model.pulls import Pull
from bot.core.model.run_events import DispatchStarted, RunEvent, Source
from bot.core.model.runs import Outcome
from bot.core.model.views import Gate
from bot.core.planning.plan import Plan
from bot.store import Store
from bot.store.runs import SaveRun
from tests.store.rows import NOW, REPO, SHA, after, delivery, done, put, run


async def test_live_runs_are_the_open_dispatched_ones_of_active_repositories(
    store: Store,
) -> None:
    await put(store, run("live"), run("queued"), run("ended"))
    found = await store.runs.claim("me", NOW, lease_s=30, limit=9)
    rows = {claimed.run.suite: claimed for claimed in found}
    live = replace(rows["live"].run, dispatched_at=NOW)
    assert await store.repos.with_dispatched_runs() == ()
    await store.runs.save(rows["live"].lease, SaveRun(live, due=None), NOW)
    ended = done(rows["ended"].run, dispatched_at=NOW)
    await store.runs.save(rows["ended"].lease, SaveRun(ended, due=None), NOW)
    assert await store.runs.dispatched(REPO.id) == (live,)
    assert await store.repos.with_dispatched_runs() == (REPO,)
    gone = InstallationEvent(70, active=False)
    await store.commit(Plan(installation=gone), NOW, done=None)
    assert await store.repos.with_dispatched_runs() == ()


async def test_health_counts_what_waits(store: Store) -> None:
    assert (await store.health.counts(NOW)).oldest_delivery_s is None
    await put(store, run("a"), run("b"))
    for n in range(3):
        await store.deliveries.put(delivery(f"g{n}", received_at=after(n)))
    health = await store.health.counts(after(10))
    assert (health.deliveries_waiting, health.oldest_delivery_s) == (3, 10.0)
    assert (health.runs_by_state, health.checks_behind) == ({"queued": 2}, 2)
    assert health.last_delivery_at == after(2)


async def test_old_done_rows_are_pruned_in_batches_and_live_ones_stay(store: Store) -> None:
    for n in range(5):
        await store.deliveries.put(delivery(f"old{n}"), ignored="not ours")
    await store.deliveries.put(delivery("waiting"))
    await put(store, run("old"), run("open"))
    old = next(
        item
        for item in await store.runs.claim("me", NOW, lease_s=30, limit=9)
        if item.run.suite == "old"
    )
    run_event = RunEvent(old.run.id, Source.RUNNER, NOW, DispatchStarted(1))
    end = SaveRun(done(old.run, outcome=Outcome.SUCCESS), due=None, run_events=(run_event,))
    await store.runs.save(old.lease, end, NOW)
    assert await store.prune(NOW, limit=3) == 0
    assert await store.prune(after(1), limit=3) == 4
    assert await store.prune(after(1), limit=3) == 2
    assert await store.prune(after(1), limit=3) == 0
    assert [item.run.suite for item in await store.runs.at(REPO.id, SHA)] == ["open"]
    assert await store.deliveries.known_guids(("waiting", "old0")) == {"waiting"}


async def test_a_settled_gate_is_pruned_unless_its_commit_is_a_head(store: Store) -> None:
    gone = Sha("b" * 40)
    pull = Pull(REPO.id, 1, SHA, REPO.id, "main", "ann")
    gates = (Gate(REPO.id, SHA, 1), Gate(REPO.id, gone, 1))
    await store.commit(Plan(repo=REPO, pull=pull, gates=gates), NOW, done=None)
    for due in await store.checks.claim("me", NOW, lease_s=30, limit=9):
        await store.checks.shown(due.lease, github_id=1, version=1, ended=True, now=NOW)
    assert await store.prune(after(1), limit=9) == 1
    await store.commit(Plan(gates=gates[:1]), after(2), done=None)
    (kept,) = await store.checks.claim("me", after(2), lease_s=30, limit=9)
    assert kept.github_id == 1


async def test_the_clock_of_the_database_is_compared(store: Store) -> None:
    skew = await store.health.clock_skew_s(NOW)
    if store._db.url.startswith("sqlite"):
        assert skew == 0
    else:
        assert await store.health.clock_skew_s(after(1000)) < skew
