"""RayJobs under the follower's lease, which ends with their run."""

from dataclasses import replace

import pytest

from bot.core.digest.result import Digest, Progress
from bot.core.model.rayjobs import RayJob, ResumeState
from bot.core.model.run_events import RayJobSeen, RunEvent, Source
from bot.core.model.runs import Run
from bot.ports.wake import Topic
from bot.store import Store
from bot.store.rayjobs import ClaimedRayJob, SaveRayJob
from bot.store.runs import ClaimedRun, SaveRun
from tests.conftest import StoreFactory
from tests.store.building import NOW, after, done, put, run
from tests.store.recording_wake import RecordingWake


async def claims(store: Store, at: float = 0, owner: str = "me") -> tuple[ClaimedRayJob, ...]:
    return await store.rayjobs.claim(owner, after(at), lease_s=30, limit=9)


async def claim(store: Store, at: float = 0, owner: str = "me") -> ClaimedRayJob:
    (claimed,) = await claims(store, at, owner)
    return claimed


async def claim_run(store: Store) -> ClaimedRun:
    (claimed,) = await store.runs.claim("runner", NOW, lease_s=30, limit=1)
    return claimed


async def seen(store: Store, *names: str) -> Run:
    """Store a run with RayJobs."""
    made = run()
    await put(store, made)
    jobs = tuple(RayJob(name, made.id, "workflow", confirmed=True) for name in names)
    claimed = await claim_run(store)
    assert await store.runs.save(claimed.lease, SaveRun(made, due=None, rayjobs=jobs), NOW)
    return made


async def test_a_rayjob_seen_is_claimed_with_its_run(store: Store) -> None:
    made = await seen(store, "one", "two")
    found = await claims(store)
    assert [(item.rayjob.job_id, item.run) for item in found] == [("one", made), ("two", made)]
    assert await claims(store) == ()


@pytest.mark.both_databases
async def test_every_field_is_saved(store: Store) -> None:
    await seen(store, "one")
    claimed = await claim(store)
    moved = replace(
        claimed.rayjob,
        confirmed=False,
        status="RUN\x00NING",
        deployment="Running",
        message="half \ud83d",
        final="FAILED",
        final_from="watch",
        silent_since=after(1),
        last_line_at=after(2),
        lines=3,
        progress=Progress(7),
        digest=Digest(failure_class="oom"),
        resume=ResumeState(seq=9),
        log_bytes=2**40,
    )
    assert await store.rayjobs.save(claimed.lease, SaveRayJob(moved, due=NOW), NOW)
    expected = replace(moved, status="RUN\ufffdNING", message="half ?")
    assert (await claim(store)).rayjob == expected


async def test_a_lease_that_is_kept_is_prolonged(store: Store) -> None:
    await seen(store, "one")
    claimed = await claim(store)
    assert await store.rayjobs.save(claimed.lease, SaveRayJob(claimed.rayjob, keep_s=30), after(20))
    assert await claims(store, 49) == ()
    assert await store.rayjobs.save(claimed.lease, SaveRayJob(claimed.rayjob, keep_s=30), after(40))
    assert (await claim(store, 70, "other")).lease.number == 2


@pytest.mark.both_databases
async def test_a_lease_that_is_given_back_is_due_when_it_said(store: Store) -> None:
    await seen(store, "one")
    claimed = await claim(store)
    assert await store.rayjobs.save(claimed.lease, SaveRayJob(claimed.rayjob, due=after(9)), NOW)
    assert await claims(store, 8) == ()
    assert len(await claims(store, 9)) == 1


async def test_a_complete_rayjob_is_never_claimed_again(store: Store) -> None:
    await seen(store, "one")
    claimed = await claim(store)
    complete = SaveRayJob(replace(claimed.rayjob, complete=True), due=NOW)
    assert await store.rayjobs.save(claimed.lease, complete, NOW)
    assert await claims(store, 99) == ()


async def test_a_lost_lease_writes_nothing(store: Store) -> None:
    made = await seen(store, "one")
    late = await claim(store)
    fresh = await claim(store, 30, "other")
    save = SaveRayJob(
        replace(late.rayjob, lines=9),
        run_events=(RunEvent(made.id, Source.WATCH, NOW, RayJobSeen("j")),),
        poke=True,
    )
    assert not await store.rayjobs.save(late.lease, save, after(31))
    assert await store.runs.claim("runner", after(31), lease_s=30, limit=1) == ()
    assert await store.rayjobs.save(fresh.lease, SaveRayJob(fresh.rayjob, due=NOW), after(32))
    assert (await claim(store, 32)).rayjob.lines == 0


async def test_the_rayjobs_of_a_done_run_are_neither_claimed_nor_written(store: Store) -> None:
    made = await seen(store, "one", "two")
    claimed = (await store.rayjobs.claim("me", NOW, lease_s=30, limit=1))[0]
    poke = SaveRayJob(claimed.rayjob, poke=True, keep_s=30)
    assert await store.rayjobs.save(claimed.lease, poke, NOW)
    ending = await claim_run(store)
    assert await store.runs.save(ending.lease, SaveRun(done(made), due=None), NOW)
    assert not await store.rayjobs.save(claimed.lease, poke, NOW)
    assert await claims(store, 99) == ()


@pytest.mark.both_databases
async def test_news_pokes_the_run_and_shows_progress(store_factory: StoreFactory) -> None:
    pokes = RecordingWake()
    store = await store_factory(wake=pokes)
    made = await seen(store, "one")
    (check,) = await store.checks.claim("me", NOW, lease_s=30, limit=1)
    await store.checks.shown(check.lease, github_id=1, version=1, ended=False, now=NOW)
    claimed = await claim(store)
    pokes.topics()
    run_event = RunEvent(made.id, Source.WATCH, NOW, RayJobSeen("j"))
    save = SaveRayJob(claimed.rayjob, run_events=(run_event,), poke=True, progress=True, keep_s=30)
    assert await store.rayjobs.save(claimed.lease, save, NOW)
    assert pokes.topics() == [Topic.REPORTER, Topic.RUNNER]
    assert (await claim_run(store)).run_events == (run_event,)
    assert len(await store.checks.claim("me", after(60), lease_s=30, limit=1)) == 1
    assert await store.rayjobs.save(claimed.lease, SaveRayJob(claimed.rayjob, keep_s=30), NOW)
    assert pokes.topics() == []


async def test_one_id_in_two_runs_is_two_rows(store: Store) -> None:
    """A run that names another's RayJob must not take it away from it."""
    first = await seen(store, "job")
    second = run("other")
    await put(store, second)
    claimed = await claim_run(store)
    job = RayJob("job", second.id, "log", confirmed=False)
    assert await store.runs.save(claimed.lease, SaveRun(second, due=None, rayjobs=(job,)), NOW)
    assert [item.run.id for item in await claims(store)] == [first.id, second.id]
