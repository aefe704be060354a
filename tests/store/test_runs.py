"""Runs under a lease: claimed when due, saved fenced, kept due by a poke."""

from dataclasses import replace

import pytest

from bot.core.messages import quote
from bot.core.model.ids import Sha
from bot.core.model.people import NOBODY
from bot.core.model.queue import Need, QueuePosition
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import (
    DispatchStarted,
    RayJobSeen,
    RunEvent,
    Source,
    WorkflowRunChanged,
)
from bot.core.model.runs import Outcome, Run, State, StopReason, StopRequest
from bot.core.planning.plan import DropClaimant, Plan
from bot.core.queue.state import Acquired
from bot.ports.wake import Topic
from bot.store import Store
from bot.store.runs import ClaimedRun, SaveRun
from tests.accounts import account
from tests.conftest import StoreFactory
from tests.store.building import NOW, REPO, SHA, after, claimant, done, put, run
from tests.store.recording_wake import RecordingWake

pytestmark = pytest.mark.both_databases


STOP = StopRequest(StopReason.STALL, by="", reason=quote("no output"), at=NOW)


async def claims(store: Store, at: float = 0, owner: str = "me") -> tuple[ClaimedRun, ...]:
    return await store.runs.claim(owner, after(at), lease_s=30, limit=9)


async def claim(store: Store, at: float = 0, owner: str = "me") -> ClaimedRun:
    (claimed,) = await claims(store, at, owner)
    return claimed


async def one(store: Store, **more: object) -> ClaimedRun:
    """Store and claim a run."""
    await put(store, run(**more))  # type: ignore[arg-type]
    return await claim(store)


async def save(store: Store, claimed: ClaimedRun, row: Run | None = None, **more: object) -> bool:
    saved = SaveRun(row or claimed.run, **{"due": None, **more})  # type: ignore[arg-type]
    return await store.runs.save(claimed.lease, saved, NOW)


async def attempts(store: Store) -> list[Run]:
    return [item.run for item in await store.runs.at(REPO.id, SHA)]


async def test_every_field_that_moves_is_saved(store: Store) -> None:
    claimed = await one(store)
    moved = replace(
        claimed.run,
        state=State.RUNNING,
        why=quote("step 7"),
        number=1,
        not_before=after(1),
        dispatch_id="D",
        label="a3",
        actions_run_id=9,
        actions_attempt=2,
        actions_url="https://example.org/9",
        stop_request=STOP,
        queue_position=QueuePosition("a3", 2),
        dispatched_at=after(2),
        started_at=after(3),
        ended_at=after(4),
        retries=1,
        rerun_of=8,
    )
    assert await save(store, claimed, moved)
    assert await attempts(store) == [moved]


async def test_what_identifies_a_run_is_never_rewritten(store: Store) -> None:
    claimed = await one(store)
    other = replace(claimed.run, suite="x", attempt=9, sha=Sha("b" * 40), origin=quote("lie"))
    assert await save(store, claimed, other)
    assert await attempts(store) == [claimed.run]


async def test_a_run_is_due_again_when_it_said(store: Store) -> None:
    claimed = await one(store)
    assert await save(store, claimed, due=after(60))
    assert await claims(store, 59) == ()
    assert (await claim(store, 60)).lease.number == 2


async def test_the_longest_due_come_first_within_the_limit(store: Store) -> None:
    rows = [run(suite) for suite in "abc"]
    await put(store, *rows)
    for claimed, due in zip(await claims(store), (30, 10, 20), strict=True):
        await save(store, claimed, due=after(due))
    found = await store.runs.claim("me", after(99), lease_s=30, limit=2)
    assert [item.run.suite for item in found] == ["b", "c"]


async def test_a_lost_lease_writes_nothing(store: Store) -> None:
    late = await one(store)
    fresh = await claim(store, 30, "other")
    moved = replace(late.run, state=State.RUNNING)
    run_event = RunEvent(late.run.id, Source.RUNNER, NOW, DispatchStarted(1))
    assert not await save(store, late, moved, run_events=(run_event,), retry=run(attempt=2))
    assert not await store.runs.note(late.lease, moved, (run_event,), NOW)
    assert not await store.runs.renew(late.lease, NOW, lease_s=99)
    assert await attempts(store) == [late.run]
    assert await save(store, fresh)


async def test_the_same_owner_claiming_again_fences_its_own_past(store: Store) -> None:
    late = await one(store)
    await claim(store, 30)
    assert not await save(store, late)


async def test_a_lease_given_back_cannot_be_used_again(store: Store) -> None:
    claimed = await one(store)
    assert await save(store, claimed)
    assert not await save(store, claimed, replace(claimed.run, why=quote("late")))


async def test_a_note_writes_at_once_and_keeps_the_lease(store: Store) -> None:
    claimed = await one(store)
    intent = replace(claimed.run, state=State.DISPATCHING, dispatch_id="D")
    run_event = RunEvent(intent.id, Source.RUNNER, NOW, DispatchStarted(1))
    assert await store.runs.note(claimed.lease, intent, (run_event,), NOW)
    assert await store.runs.of_dispatch("D") == intent
    assert await claims(store, 29, "other") == ()
    assert (await claim(store, 30, "other")).run_events == (run_event,)


async def test_a_renewed_lease_lasts_longer(store: Store) -> None:
    claimed = await one(store)
    assert await store.runs.renew(claimed.lease, after(20), lease_s=30)
    assert await claims(store, 49) == ()
    assert len(await claims(store, 50)) == 1


async def test_a_run_with_a_next_step_at_once_keeps_its_place(store: Store) -> None:
    await put(store, run("a"), run("b"))
    for claimed in await claims(store):
        assert await save(store, claimed, due=after(10))
    (first,) = await store.runs.claim("me", after(50), lease_s=30, limit=1)
    assert await store.runs.save(first.lease, SaveRun(first.run, after(50)), after(50))
    (again,) = await store.runs.claim("me", after(50), lease_s=30, limit=1)
    assert again.run.id == first.run.id


async def test_a_run_that_may_have_ended_comes_before_those_that_are_only_due(
    store: Store,
) -> None:
    await put(store, run("goes-on"), run("ended"))
    for claimed in await claims(store):
        assert await save(store, claimed, due=after(60))
    ended = claimed.run.id
    over = RunEvent(ended, Source.POLL, after(90), WorkflowRunChanged(1, "completed"))
    assert await store.commit(Plan(run_events=(over,)), after(90), done=None)
    first, _ = await claims(store, 90)
    assert first.run.id == ended


async def test_a_poke_during_a_claim_keeps_the_run_due(store: Store) -> None:
    claimed = await one(store)
    run_event = RunEvent(claimed.run.id, Source.WEBHOOK, NOW, WorkflowRunChanged(1, "completed"))
    assert await store.commit(Plan(run_events=(run_event,)), NOW, done=None)
    assert await save(store, claimed, due=after(600))
    assert (await claim(store)).run_events == (run_event,)


async def test_a_stop_request_that_came_during_a_claim_survives_the_save(store: Store) -> None:
    claimed = await one(store)
    stop_requests = ((claimed.run.id, STOP),)
    assert await store.commit(Plan(stop_requests=stop_requests), NOW, done=None)
    assert await save(store, claimed, replace(claimed.run, why=quote("moved")))
    assert (await claim(store)).run.stop_request == STOP


async def test_a_done_run_is_claimed_only_to_clean_up_and_never_saved_by_a_former_lease(
    store: Store,
) -> None:
    claimed = await one(store)
    assert await save(store, claimed, done(claimed.run), due=after(1))
    assert not await store.runs.note(claimed.lease, claimed.run, (), NOW)
    (cleaning,) = await claims(store, 2)
    assert await save(store, cleaning, done(claimed.run), due=None, was_done=True)
    assert await claims(store, 99) == ()


async def test_a_retry_is_the_next_attempt_with_the_same_claimants(store: Store) -> None:
    claimed = await one(store)
    added = claimant(claimed.run, "pin:5", auto=False, by=account("ann"))
    await store.commit(Plan(add_claimants=(added,)), NOW, done=None)
    retry = run(attempt=2, origin="retry: HCCL", retries=1)
    ended = done(claimed.run, outcome=Outcome.FAILURE)
    assert await save(store, claimed, ended, retry=retry)
    again = await claim(store)
    assert again.run == retry
    assert {(item.source, item.auto, item.by) for item in again.claimants} == {
        ("pr:1", True, NOBODY),
        ("pin:5", False, account("ann")),
    }
    assert await store.runs.of_check(REPO.id, retry.id) == retry


async def test_rayjobs_are_added_once_and_known_ones_are_left_alone(store: Store) -> None:
    claimed = await one(store)
    job = RayJob("job", claimed.run.id, "workflow", confirmed=True, status="RUNNING")
    assert await save(store, claimed, rayjobs=(job,), due=NOW)
    again = await claim(store)
    assert again.rayjobs == (job,)
    assert await save(store, again, rayjobs=(replace(job, status=""),), due=NOW)
    assert (await claim(store)).rayjobs == (job,)


async def test_events_are_told_in_the_order_of_their_times(store: Store) -> None:
    claimed = await one(store)
    run_events = [
        RunEvent(claimed.run.id, Source.RUNNER, after(n), RayJobSeen(name))
        for n, name in enumerate("cab")
    ]
    assert await save(store, claimed, run_events=tuple(reversed(run_events)), due=NOW)
    assert (await claim(store)).run_events == tuple(run_events)


async def test_a_run_that_gets_a_claimant_while_it_ends_superseded_is_due_again(
    store: Store,
) -> None:
    claimed = await one(store)
    await save(store, claimed, replace(claimed.run, state=State.RUNNING))
    gone = DropClaimant(claimed.run.id, "pr:1", quote("closed"))
    await store.commit(Plan(drop_claimants=(gone,)), NOW, done=None)
    ending = await claim(store)
    assert ending.claimants == ()
    await store.commit(Plan(add_claimants=(claimant(ending.run, "pr:2"),)), NOW, done=None)
    ended = done(ending.run, outcome=Outcome.SUPERSEDED)
    assert not await save(store, ending, ended)
    seen = await claim(store)
    assert [item.source for item in seen.claimants] == ["pr:2"]
    assert await save(store, seen, ended, retry=run(attempt=2))
    assert [item.state for item in await attempts(store)] == [State.DONE, State.QUEUED]


async def test_a_done_run_releases_its_holds_to_waiting_runs(store: Store) -> None:
    holder, pending = run("a"), run("b")
    await put(store, holder, pending)
    first, second = await claims(store)
    needs = ((Need("label:x", 1, 1),),)
    assert await store.queue.acquire(holder, needs, NOW) == Acquired(0)
    assert isinstance(await store.queue.acquire(pending, needs, NOW), QueuePosition)
    assert await save(store, second)
    assert await claims(store) == ()
    assert await save(store, first, done(holder), release_all=True)
    assert (await claim(store)).run == pending
    assert await store.queue.acquire(pending, needs, NOW) == Acquired(0)


async def test_a_save_pokes_those_it_has_work_for(store_factory: StoreFactory) -> None:
    pokes = RecordingWake()
    store = await store_factory(wake=pokes)
    claimed = await one(store)
    pokes.topics()
    await save(store, claimed, due=NOW)
    assert pokes.topics() == []
    job = RayJob("job", claimed.run.id, "workflow", confirmed=True)
    await save(store, await claim(store), rayjobs=(job,), progress=True, due=NOW)
    assert pokes.topics() == [Topic.FOLLOWER, Topic.REPORTER]
    await save(store, await claim(store), release=("label:x",), due=NOW)
    assert pokes.topics() == [Topic.RUNNER]
    await save(store, await claim(store), done(claimed.run))
    assert pokes.topics() == [Topic.REPORTER]
