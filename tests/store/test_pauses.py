"""Pauses in the database: one for a resource, in force until it ends; waiting runs are poked."""

import pytest
from sqlalchemy import select

from bot.core.messages import quote
from bot.core.model.ids import RepoId
from bot.core.model.queue import Need
from bot.core.model.repos import StoredPolicy
from bot.core.model.snapshot import SnapshotPool
from bot.core.planning.plan import AuditEntry, Plan
from bot.core.queue.state import Acquired, Blocked, Pause
from bot.store import Store
from bot.store.database import all_scalars
from bot.store.pauses import KnownResources
from bot.store.tables import audit
from tests.store.building import NOW, REPO, after, put, run, snapshot
from tests.store.test_holds import OTHER_SLOT, SLOT, poked, runs

PAUSE = Pause("label:a3", "kim", "maintenance", None, NOW)


def entry(what: str = "pause", **more: object) -> AuditEntry:
    fields = {"at": NOW, "who": "kim", "what": what, "allowed": True, "rule": "operator", **more}
    return AuditEntry(**fields)  # type: ignore[arg-type]


async def test_a_pause_bars_its_label_until_it_is_resumed(store: Store) -> None:
    (first,) = await runs(store, 1)
    assert await store.pauses.start(PAUSE, entry()) is None
    assert await store.pauses.in_force(NOW) == (PAUSE,)
    why = "a3 is paused by kim (maintenance)"
    assert await store.queue.acquire(first, ((SLOT,),), NOW) == Blocked(quote(why), None, "pause")
    assert await store.pauses.end("label:a3", entry("resume")) == PAUSE
    assert await store.pauses.in_force(NOW) == ()
    assert await store.queue.acquire(first, ((SLOT,),), NOW) == Acquired(0)


@pytest.mark.both_databases
async def test_a_pause_takes_the_place_of_the_one_before(store: Store) -> None:
    again = Pause("label:a3", "lee", "longer", after(60), after(1))
    await store.pauses.start(PAUSE, entry())
    assert await store.pauses.start(again, entry()) == PAUSE
    assert await store.pauses.in_force(after(1)) == (again,)


async def test_a_pause_that_ran_out_is_none(store: Store) -> None:
    await store.pauses.start(Pause("label:a3", "kim", "short", after(60), NOW), entry())
    await store.pauses.start(Pause("all", "kim", "short, too", after(60), NOW), entry())
    assert await store.pauses.in_force(after(60)) == ()
    assert await store.pauses.end("label:a3", entry("resume", at=after(60))) is None
    assert await store.pauses.start(Pause("all", "kim", "", None, after(60)), entry()) is None


async def test_only_what_was_done_is_audited(store: Store) -> None:
    await store.pauses.start(PAUSE, entry("pause label:a3"))
    assert await store.pauses.end("label:a2", entry("resume label:a2")) is None
    await store.pauses.end("label:a3", entry("resume label:a3"))
    query = select(audit.c.what).order_by(audit.c.seq)
    found = await store._db.read(lambda conn: all_scalars(conn, query))
    assert found == ("pause label:a3", "resume label:a3")


@pytest.mark.both_databases
async def test_who_waits_there_is_poked_in_every_repository(store: Store) -> None:
    ours, elsewhere = await runs(store, 2)
    (theirs,) = await runs(store, 1, repo_id=RepoId(8))
    for slot, items in ((SLOT, (ours, theirs)), (OTHER_SLOT, (elsewhere,))):
        full = Need(slot.resource, 2, 1)
        for item in items:
            await store.queue.acquire(item, ((full,),), NOW)
    await store.pauses.start(PAUSE, entry())
    assert sorted(await poked(store)) == ["s0", "s0"]
    await store.pauses.end("label:a3", entry())
    assert sorted(await poked(store)) == ["s0", "s0"]
    await store.pauses.start(Pause("all", "kim", "", None, NOW), entry())
    assert sorted(await poked(store)) == ["s0", "s0", "s1"]


@pytest.mark.both_databases
async def test_policies_and_snapshots_tell_what_there_is(store: Store) -> None:
    frozen = snapshot("ppo", pool=SnapshotPool("a3-pool", 32))
    await put(store, run("ppo", snapshot=frozen))
    for ref, text in (("main", "version: 1"), ("v0.1", None)):
        row = StoredPolicy(REPO.id, ref, "b", text, NOW)
        assert await store.commit(Plan(policy=row), NOW, done=None)
    assert await store.pauses.known_resources() == KnownResources(("version: 1",), (frozen,))
