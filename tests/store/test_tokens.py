"""An announced RayJob is added once, by one token, to a run that is open."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select

from bot.core.model.ids import RunId
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import RayJobAnnounced, RunEvent, Source
from bot.core.model.runs import Run
from bot.ports.oidc import Denial, Why
from bot.ports.wake import Topic
from bot.store import Store
from bot.store.runs import SaveRun
from bot.store.tables import tokens
from bot.store.tokens import Accepted, Announced
from tests.conftest import StoreFactory
from tests.store.building import NOW, after, done, put, run
from tests.store.recording_wake import RecordingWake

UNTIL = after(330)


def announced(of: Run, job_id: str = "rj-1", jti: str = "j-1", **more: Any) -> Announced:
    job = RayJob(job_id, of.id, "announcement", confirmed=False, **more)
    run_event = RunEvent(of.id, Source.ANNOUNCEMENT, NOW, RayJobAnnounced(job_id))
    return Announced(job, (run_event,), jti, UNTIL, most=9)


def why(answer: Accepted | Denial) -> Why | bool:
    return answer.new if isinstance(answer, Accepted) else answer.why


async def remembered(store: Store) -> int:
    query = select(func.count()).select_from(tokens)
    return int(await store._db.read(lambda conn: conn.scalar(query)))


@pytest.mark.both_databases
async def test_an_announced_rayjob_is_followed_at_once(store_factory: StoreFactory) -> None:
    pokes = RecordingWake()
    store = await store_factory(wake=pokes)
    one = run()
    await put(store, one)
    [claimed] = await store.runs.claim("r", NOW, lease_s=30, limit=1)
    await store.runs.save(claimed.lease, SaveRun(claimed.run, due=None), NOW)
    pokes.topics()
    assert await store.tokens.redeem(announced(one), NOW) == Accepted(new=True)
    assert pokes.topics() == [Topic.FOLLOWER, Topic.RUNNER]
    [job] = await store.rayjobs.claim("f", NOW, lease_s=30, limit=9)
    assert (job.rayjob.job_id, job.rayjob.seen, job.rayjob.confirmed) == (
        "rj-1",
        "announcement",
        False,
    )
    [again] = await store.runs.claim("r", NOW, lease_s=30, limit=9)
    assert [run_event.key for run_event in again.run_events] == ["rayjob:rj-1"]


@pytest.mark.both_databases
async def test_a_token_proves_one_rayjob_and_repeats_change_nothing(store: Store) -> None:
    one, other = run(), run("grpo")
    await put(store, one, other)
    cases: list[tuple[Announced, Why | bool]] = [
        (announced(one), True),
        (announced(one), False),
        (announced(one, jti="j-2"), False),  # the helper asks for a new token each time
        (announced(one, "rj-2"), Why.MISMATCH),
        (announced(other), Why.MISMATCH),
        (announced(one, "rj-2", "j-2"), True),
        (announced(replace(one, id=RunId("NONE")), jti="j-3"), Why.OVER),
    ]
    for item, expected in cases:
        assert why(await store.tokens.redeem(item, NOW)) == expected, item
    jobs = await store.rayjobs.claim("f", NOW, lease_s=30, limit=9)
    assert [job.rayjob.job_id for job in jobs] == ["rj-1", "rj-2"]
    assert await remembered(store) == 2


async def test_a_done_run_takes_no_new_rayjob(store: Store) -> None:
    one = run()
    await put(store, one)
    await store.tokens.redeem(announced(one), NOW)
    [claimed] = await store.runs.claim("r", NOW, lease_s=30, limit=1)
    assert await store.runs.save(claimed.lease, SaveRun(done(claimed.run), due=None), NOW)
    assert why(await store.tokens.redeem(announced(one, "rj-2", "j-2"), NOW)) is Why.OVER
    assert why(await store.tokens.redeem(announced(one), NOW)) is False
    assert await remembered(store) == 1


@pytest.mark.both_databases
async def test_of_many_that_come_at_once_with_one_token_one_counts(
    store_factory: StoreFactory,
) -> None:
    first, second = await store_factory(), await store_factory()
    one = run()
    await put(first, one)
    answers = await asyncio.gather(
        *(
            store.tokens.redeem(announced(one, f"rj-{number}"), NOW)
            for number in range(4)
            for store in (first, second)
        )
    )
    said = [why(answer) for answer in answers]
    assert said.count(True) == 1
    assert said.count(False) <= 1
    assert len(await first.rayjobs.claim("f", NOW, lease_s=30, limit=9)) == 1


@pytest.mark.both_databases
async def test_a_token_is_forgotten_when_nobody_takes_it_any_more(store: Store) -> None:
    one = run()
    await put(store, one)
    await store.tokens.redeem(announced(one), NOW)
    await store.tokens.prune(after(331))
    assert await remembered(store) == 1
    await store.tokens.prune(after(330 + 61))
    assert await remembered(store) == 0
