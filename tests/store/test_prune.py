"""Old rows are deleted in small batches, and nothing that is still needed."""

import pytest

from bot.core.model.ids import Sha
from bot.core.model.pulls import Pull
from bot.core.model.run_events import DispatchStarted, RunEvent, Source
from bot.core.model.runs import Outcome
from bot.core.model.views import GateDue
from bot.core.planning.plan import Plan
from bot.store import Store
from bot.store.runs import SaveRun
from tests.accounts import account
from tests.store.building import NOW, REPO, SHA, after, delivery, done, put, run


@pytest.mark.both_databases
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


@pytest.mark.both_databases
async def test_a_settled_gate_is_pruned_unless_its_commit_is_a_head(store: Store) -> None:
    gone = Sha("b" * 40)
    pull = Pull(REPO.id, 1, SHA, REPO.id, "main", account("ann"))
    gates = (GateDue(REPO.id, SHA, 1), GateDue(REPO.id, gone, 1))
    await store.commit(Plan(repo=REPO, pull=pull, gates=gates), NOW, done=None)
    for due in await store.checks.claim("me", NOW, lease_s=30, limit=9):
        await store.checks.shown(due.lease, github_id=1, version=1, ended=True, now=NOW)
    assert await store.prune(after(1), limit=9) == 1
    await store.commit(Plan(gates=gates[:1]), after(2), done=None)
    (kept,) = await store.checks.claim("me", after(2), lease_s=30, limit=9)
    assert kept.github_id == 1
