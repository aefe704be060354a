"""Random days on the real store with two replicas: places hold, and none is wasted."""

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Select, select

from bot.core.model.ids import RunId, Sha
from bot.core.model.pulls import Pull
from bot.core.model.queue import Alternatives, Need, QueuePosition
from bot.core.model.runs import Claimant, Rank, State
from bot.core.planning.plan import AuditEntry, Plan
from bot.core.queue.scheduler import runnable
from bot.core.queue.state import Acquired, Holder, Pause, PendingRun, QueueState
from bot.core.runs.offline import JobSeen, JobState
from bot.ports.wake import Topic
from bot.services.runs.runner import look_again
from bot.services.workers import LEASE_S
from bot.store import Store, queue_memory
from bot.store.database import DbConnection, all_scalars
from bot.store.queue_memory import read_queue
from bot.store.queue_state import hours_used, read_queue_state
from bot.store.run_rows import poke_runs
from bot.store.runs import ClaimedRun, SaveRun
from bot.store.tables import holds, queue, runs
from tests.accounts import account
from tests.conftest import StoreFactory
from tests.store.building import NOW, REPO, claimant, done, run, snapshot

pytestmark = pytest.mark.both_databases


SLOTS = {"label:a2": 2, "label:a3": 1, "pool:cluster": 32}
A2, A3 = Need("label:a2", 1, 2), Need("label:a3", 1, 1)
NEEDS: tuple[Alternatives, ...] = (
    ((A2,),),
    ((A3,),),
    ((A3,), (A2,)),
    ((A2, Need("pool:cluster", 8, 32)),),
    ((A3, Need("pool:cluster", 32, 32)), (A2, Need("pool:cluster", 32, 32))),
)
PER_PULL = 2
HOURS = 400.0  # NPU-hours a day: a busy day of these runs reaches them
STEPS = 40


async def remembered(conn: DbConnection) -> tuple[set[PendingRun], set[Holder]]:
    """Return the queue as a process knows it that reads what changed."""
    waiting, holders = await read_queue(conn, REPO.id)
    return set(waiting), set(holders)


async def stored(conn: DbConnection) -> tuple[set[PendingRun], set[Holder]]:
    """Return the queue as a process reads it that has just started."""
    memory = await queue_memory._read_all(conn, REPO.id)
    return set(memory.waiting.values()), set(memory.holders.values())


@dataclass
class Day:
    """One repository's day, worked off by two replicas that share a database."""

    stores: list[Store]
    dice: random.Random
    now: datetime = NOW
    needs: dict[RunId, Alternatives] = field(default_factory=dict)
    jobs: list[JobSeen] = field(default_factory=list)  # of others, in progress
    lost: list[tuple[Store, ClaimedRun]] = field(default_factory=list)  # by a replica that died
    placed: set[RunId] = field(default_factory=set)
    away: bool = False  # the submitter is down: who claims a queued run lets it leave the queue

    @property
    def store(self) -> Store:
        """Return either replica."""
        return self.dice.choice(self.stores)

    async def queue_state(self) -> QueueState:
        """Return what decides now."""

        async def work(conn: DbConnection) -> QueueState:
            found = await read_queue_state(conn, REPO.id, self.now)
            assert await hours_used(conn, REPO.id, self.now) == pytest.approx(found.spent.total)
            return found

        return await self.stores[0]._db.read(work)

    async def arrive(self) -> None:
        """A run arrives, of one of four pull requests."""
        number = self.dice.randint(1, 4)
        frozen = snapshot("s", runs_per_pr=PER_PULL, npu_hours_per_day=HOURS)
        forced = self.dice.choice(["", "", "kim"])
        sha = Sha(f"{len(self.needs):040x}")
        made = run("s", sha=sha, created_at=self.now, number=number, snapshot=frozen, forced=forced)
        self.needs[made.id] = self.dice.choice(NEEDS)
        rank = self.dice.choice(list(Rank))
        wanted = claimant(made, f"pr:{number}", rank=rank)
        await self.store.commit(Plan(new_runs=((made, (wanted,)),)), self.now, done=None)

    async def settle(self) -> None:
        """Let both replicas take every step that is due, until nobody is."""
        for _ in range(200):
            store = self.store
            due = Topic.RUNNER in await store.due(self.now)
            claimed = await store.runs.claim("me", self.now, lease_s=LEASE_S, limit=3)
            assert bool(claimed) is due
            self.dice.shuffle(items := list(claimed))
            for item in items:
                await self.step(store, item)
            if not claimed:
                return
        raise AssertionError("the runs poke each other for ever")

    async def step(self, store: Store, item: ClaimedRun) -> None:
        """Take one step of a run, as the runner does."""
        if item.run.state is not State.QUEUED or item.run.label:
            await store.runs.save(item.lease, SaveRun(item.run, due=None), self.now)
        elif self.away:
            later = SaveRun(item.run, self.now + timedelta(seconds=15), release_all=True)
            await store.runs.save(item.lease, later, self.now)
        else:
            await self.take(store, item)

    async def take(self, store: Store, item: ClaimedRun) -> None:
        """Ask for a place, perhaps twice, and perhaps lose the lease before saving it."""
        answer = await store.queue.acquire(item.run, self.needs[item.run.id], self.now)
        if self.dice.random() < 0.2:
            assert isinstance(
                await self.store.queue.acquire(item.run, self.needs[item.run.id], self.now),
                type(answer),
            )
        if isinstance(answer, Acquired):
            if item.run.id not in self.placed and not item.run.forced:
                assert (await self.queue_state()).spent.total < HOURS
            self.placed.add(item.run.id)
            started = replace(item.run, state=State.RUNNING, label="a", npus=8, started_at=self.now)
            save = SaveRun(started, due=None)
        else:
            save = SaveRun(item.run, look_again(answer, self.now))
        if self.dice.random() < 0.1:
            self.lost.append((store, item))
        else:
            await store.runs.save(item.lease, save, self.now)

    async def claim(self, run_id: RunId) -> ClaimedRun | None:
        """Poke one run while nobody else is due, and claim it; None: another replica has it."""
        await self.store._db.write(lambda conn: poke_runs(conn, {run_id}, self.now))
        claimed = await self.store.runs.claim("me", self.now, lease_s=LEASE_S, limit=9)
        assert {item.run.id for item in claimed} <= {run_id}
        return claimed[0] if claimed else None

    async def pick(self, *, holding: bool) -> ClaimedRun | None:
        """Claim a run that holds resources, or one that waits."""
        queue_state = await self.queue_state()
        ids = sorted(
            item.run_id for item in (queue_state.holders if holding else queue_state.waiting)
        )
        return await self.claim(self.dice.choice(ids)) if ids else None

    async def end(self) -> None:
        """A run that holds places ends; now and then only its label is free at first."""
        item = await self.pick(holding=True)
        if item is None:
            return
        if self.dice.random() < 0.3:
            held = SaveRun(item.run, None, release=("label:a2", "label:a3"))
            await self.stores[0].runs.save(item.lease, held, self.now)
        else:
            await self.over(item)

    async def cancel(self) -> None:
        """A run that waits is cancelled."""
        item = await self.pick(holding=False)
        if item is not None:
            await self.over(item)

    async def over(self, item: ClaimedRun) -> None:
        """End a run; a late runner that still thinks it holds the lease changes nothing."""
        ended = replace(done(item.run), ended_at=self.now)
        save = SaveRun(ended, None, release_all=True)
        assert await self.store.runs.save(item.lease, save, self.now)
        assert not await self.store.runs.save(item.lease, save, self.now)
        await self.store.queue.acquire(item.run, self.needs[item.run.id], self.now)

    async def command(self) -> None:
        """Somebody asks for a run that waits."""
        ids = sorted(item.run_id for item in (await self.queue_state()).waiting)
        if ids:
            added = Claimant(
                self.dice.choice(ids), "pr:1", auto=False, by=account("kim"), rank=Rank.APPROVED
            )
            await self.store.commit(Plan(add_claimants=(added,)), self.now, done=None)

    async def pause(self) -> None:
        """Somebody pauses a resource, for an hour or until it is resumed."""
        until = self.dice.choice([None, self.now + timedelta(hours=1)])
        pause = Pause(self.dice.choice(["all", *SLOTS]), "kim", "upgrade", until, self.now)
        await self.store.pauses.start(pause, self.entry())

    async def resume(self) -> None:
        """Somebody resumes everything."""
        for resource in ("all", *SLOTS):
            await self.store.pauses.end(resource, self.entry())

    def entry(self) -> AuditEntry:
        """Return what the audit says of a pause."""
        return AuditEntry(at=self.now, who="kim", what="pause", allowed=True, rule="operator")

    async def others(self) -> None:
        """A job of another workflow takes a free runner, or gives one back."""
        label = self.dice.choice(["label:a2", "label:a3"])
        queue_state = await self.queue_state()
        used = Counter(queue_state.occupied)
        for holder in queue_state.holders:
            used.update(dict(holder.amounts))
        if self.jobs and self.dice.random() < 0.6:
            job = self.jobs.pop()
            await self.store.workflow_jobs.put(replace(job, state=JobState.COMPLETED), self.now)
        elif used[label] < SLOTS[label]:
            number = 1000 + self.dice.randrange(10**9)
            names = (label.partition(":")[2],)
            job = JobSeen(number, REPO.id, number, names, JobState.IN_PROGRESS, self.now)
            self.jobs.append(job)
            await self.store.workflow_jobs.put(job, self.now)

    async def late(self) -> None:
        """A runner whose lease was lost comes back and asks for the place again."""
        if self.lost:
            store, item = self.lost.pop()
            await store.queue.acquire(item.run, self.needs[item.run.id], self.now)

    async def submitter(self) -> None:
        """The submitter goes down, or comes back."""
        self.away = not self.away

    async def time_passes(self) -> None:
        """Time passes: at least until every look that serves as safety net is due."""
        self.now += timedelta(minutes=self.dice.choice([1, 1, 1, 1, 40, 300]), seconds=1)

    async def check(self) -> None:
        """Places hold; whoever may go is due now, or in the hands of a replica."""
        queue_state = await self.queue_state()
        for store in self.stores:
            assert await store._db.read(remembered) == await store._db.read(stored)
        used = Counter(queue_state.occupied)
        for holder in queue_state.holders:
            used.update(dict(holder.amounts))
        assert all(used[name] <= capacity for name, capacity in SLOTS.items()), used
        busy = (runs.c.due <= self.now) | (runs.c.lease_until > self.now)
        acting = await self._ids(select(runs.c.id).where(busy))
        over = select(runs.c.id).where(runs.c.state == State.DONE)
        for table in (holds, queue):
            assert not await self._ids(select(table.c.run_id).where(table.c.run_id.in_(over)))
        assert runnable(queue_state).keys() <= acting

    async def check_settled(self) -> None:
        """Every run that may start has started, unless a dead replica still holds its lease."""
        leased = await self._ids(select(runs.c.id).where(runs.c.lease_until > self.now))
        assert runnable(await self.queue_state()).keys() <= leased

    async def _ids(self, query: Select[Any]) -> set[str]:
        return set(await self.stores[0]._db.read(lambda conn: all_scalars(conn, query)))


@pytest.mark.parametrize("seed", range(2))
async def test_no_hold_is_lost_or_given_twice_whatever_happens(
    store_factory: StoreFactory, seed: int
) -> None:
    day = Day([await store_factory(), await store_factory()], random.Random(seed))
    authors = account("a"), account("b")
    pulls = [Pull(REPO.id, n, Sha("a" * 40), REPO.id, "main", authors[n % 2]) for n in range(1, 5)]
    for pull in pulls:
        await day.store.commit(Plan(repo=REPO, pull=pull), NOW, done=None)
    acts: list[Callable[[], Awaitable[None]]] = [
        *[day.arrive] * 9,
        *[day.end] * 5,
        day.cancel,
        day.command,
        day.pause,
        *[day.resume] * 2,
        *[day.others] * 3,
        day.late,
        day.submitter,
        *[day.time_passes] * 2,
    ]
    for _ in range(STEPS):
        act = day.dice.choice(acts)
        await act()
        if act != day.time_passes:  # what time alone allows is seen by the safety net
            await day.check()
        await day.settle()
        await day.check_settled()


async def test_a_claimant_that_is_added_again_is_a_persons_and_never_a_lesser_one(
    store: Store,
) -> None:
    made = run("s")
    await store.commit(Plan(new_runs=((made, (claimant(made),)),)), NOW, done=None)
    person = Claimant(made.id, "pr:1", auto=False, by=account("kim"), rank=Rank.APPROVED)
    for added in (person, claimant(made), replace(person, by=account("lee"), rank=Rank.NIGHTLY)):
        await store.commit(Plan(add_claimants=(added,)), NOW, done=None)
    [claimed] = await store.runs.claim("me", NOW, lease_s=LEASE_S, limit=9)
    assert claimed.claimants == (person,)


async def test_a_run_that_is_asked_for_moves_up(store: Store) -> None:
    holder, first, asked = made = [run(name) for name in "abc"]
    for item in made:
        await store.commit(Plan(new_runs=((item, (claimant(item),)),)), NOW, done=None)
        await store.queue.acquire(item, ((A3,),), NOW)
    person = Claimant(asked.id, "pr:1", auto=False, by=account("kim"), rank=Rank.APPROVED)
    await store.commit(Plan(add_claimants=(person,)), NOW, done=None)
    answer = await store.queue.acquire(asked, ((A3,),), NOW)
    assert isinstance(answer, QueuePosition)
    assert answer.ahead == 1  # the holder; `first` was asked for by nobody
    assert holder.id < first.id < asked.id


async def test_who_may_start_goes_before_whoever_is_overdue_to_look(store: Store) -> None:
    """After an outage every run is due; a run that may start must not wait behind them all."""
    holder, *waiting = [run(f"s{n}") for n in range(6)]
    for item in (holder, *waiting):
        await store.commit(Plan(new_runs=((item, (claimant(item, "x"),)),)), NOW, done=None)
        await store.queue.acquire(item, ((A3,),), NOW)
    later = NOW + timedelta(hours=1)
    [first, *others] = await store.runs.claim("me", NOW, lease_s=LEASE_S, limit=9)
    for number, each in enumerate(others):  # the first of the queue is due last
        due = NOW + timedelta(minutes=10 - number)
        assert await store.runs.save(each.lease, SaveRun(each.run, due), NOW)
    over = SaveRun(done(first.run), None, release_all=True)
    assert await store.runs.save(first.lease, over, later)
    await store._db.write(lambda conn: poke_runs(conn, {waiting[4].id}, later))
    claimed = await store.runs.claim("me", later, lease_s=LEASE_S, limit=9)
    assert [item.run.suite for item in claimed] == ["s1", "s5", "s4", "s3", "s2"]
