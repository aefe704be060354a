"""What it costs to give a run its place while many others have one.

Run `python -m tests.bench.acquire_bench`. It prints the CPU time of one acquisition, and of one
release, beside 100 to 10,000 runs that hold a slot and run a job. Then as many wait for a few
slots: it prints the cost of an arrival, of an end, and of the start that follows it.
"""

import asyncio
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from sqlalchemy import delete, insert, update

from bot.core.model.ids import RunId, Sha
from bot.core.model.people import Account
from bot.core.model.pulls import Pull
from bot.core.model.queue import Need
from bot.core.model.runs import Run, State
from bot.core.policy.models import Limits
from bot.core.queue.state import Acquired, PendingRun, RunLimits
from bot.store import Store, migrate
from bot.store.database import DbConnection
from bot.store.queue_memory import note_change
from bot.store.rows import values
from bot.store.run_rows import poke_runs
from bot.store.runs import SaveRun
from bot.store.tables import holds, pulls, queue, runs, workflow_jobs
from tests.store.building import NOW, REPO, after, put, run, snapshot

SIZES = (100, 1000, 3000, 10_000)
TIMES = 40
FROZEN = snapshot("ppo", limits=Limits(npu_hours_per_day=10**6))
SLOTS = 20
NEED_SLOT = ((Need("label:a3", 1, SLOTS),),)
NEEDS = ((Need("label:a3", 1, 100_000), Need("pool:cluster", 16, 10_000_000)),)


async def main() -> None:
    """Print the figures."""
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{Path(folder) / 'bot.db'}"
            await migrate(url)
            store = await Store.open(url)
            await hold(store, size)
            new = [
                run("ppo", snapshot=FROZEN, sha=Sha(f"{n:040x}"), number=n)
                for n in range(10**6, 10**6 + TIMES)
            ]
            await put(store, *new)
            acquired = await _acquire(store, new)
            released = await _release(store)
            sys.stdout.write(
                f"{size:6} hold a place: {acquired:6.2f} ms to acquire, {released:6.2f} to end\n"
            )
            await store.close()
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{Path(folder) / 'bot.db'}"
            await migrate(url)
            store = await Store.open(url)
            await line_up(store, size)
            arrival, end, start = await _pass_on(store)
            sys.stdout.write(
                f"{size:6} wait: {arrival:6.2f} ms to arrive, {end:6.2f} to end, "
                f"{start:6.2f} for the next to start\n"
            )
            await store.close()


async def _pass_on(store: Store) -> tuple[float, float, float]:
    """Let runs arrive, and runs that hold a slot end; return what each costs."""
    new = [
        run("ppo", snapshot=FROZEN, sha=Sha(f"{n:040x}"), number=n)
        for n in range(10**6, 10**6 + TIMES)
    ]
    await put(store, *new)
    full = NEED_SLOT
    await store.queue.acquire(new[0], full, after(1))  # the queue is read, statements are made
    began = time.process_time()
    for one in new:
        assert not isinstance(await store.queue.acquire(one, full, after(1)), Acquired)
    arrival = (time.process_time() - began) / TIMES * 1000
    ends = starts = 0.0
    await store._db.write(lambda conn: conn.execute(update(runs).values(due=None)))
    holding = {RunId(f"HOLD{n:08}") for n in range(SLOTS)}
    await store._db.write(lambda conn: poke_runs(conn, holding, after(2)))
    held = await store.runs.claim("bench", after(2), lease_s=30, limit=SLOTS)
    for item in held:
        ended = replace(item.run, state=State.DONE, ended_at=after(2))
        began = time.process_time()
        save = SaveRun(ended, None, release_all=True)
        assert await store.runs.save(item.lease, save, after(2))
        ends += time.process_time() - began
        [first] = await store.runs.claim("bench", after(2), lease_s=3600, limit=1)
        began = time.process_time()
        assert await store.queue.acquire(first.run, full, after(2)) == Acquired(0)
        starts += time.process_time() - began
        await store.runs.save(first.lease, SaveRun(first.run, None), after(2))
    return arrival, ends / SLOTS * 1000, starts / SLOTS * 1000


async def line_up(store: Store, size: int, first: int = 0) -> None:
    """Let so many runs wait for slots that others hold."""
    if not first:
        await hold(store, SLOTS)
    model = run("ppo", snapshot=FROZEN)
    made = [
        replace(
            model,
            id=RunId(f"WAIT{n:08}"),
            sha=Sha(f"{n + 10**7:040x}"),
            number=n + 1000,
            created_at=NOW - timedelta(seconds=20_000 - n),
        )
        for n in range(first, first + size)
    ]
    rows = [{**values(one), "essence": one.snapshot.essence, "due": None} for one in made]
    limits = RunLimits(4, 10.0**6)
    waiting = [
        PendingRun(one.id, one.suite, one.created_at, 3, NEED_SLOT, one.number, 1 + n % 50, limits)
        for n, one in enumerate(made, start=first)
    ]
    theirs = [
        values(Pull(REPO.id, n + 1000, one.sha, REPO.id, "main", Account(1 + n % 50, "a")))
        for n, one in enumerate(made, start=first)
    ]
    places = [{**values(one), "repo_id": REPO.id} for one in waiting]

    async def work(conn: DbConnection) -> None:
        await conn.execute(insert(runs), rows)
        await conn.execute(delete(workflow_jobs))  # they end with their runs
        await conn.execute(insert(queue), places)
        await conn.execute(insert(pulls), theirs)
        for one in made:
            await note_change(conn, REPO.id, one.id)

    await store._db.write(work)


async def _acquire(store: Store, new: list[Run]) -> float:
    await store.queue.acquire(run("ppo", snapshot=FROZEN), NEEDS, after(1))  # statements are made
    began = time.process_time()
    for one in new:
        assert await store.queue.acquire(one, NEEDS, after(1)) == Acquired(0)
    return (time.process_time() - began) / TIMES * 1000


async def _release(store: Store) -> float:
    claimed = await store.runs.claim("bench", after(2), lease_s=30, limit=TIMES)
    began = time.process_time()
    for one in claimed:
        ended = replace(one.run, state=State.DONE, ended_at=after(2))
        await store.runs.save(one.lease, SaveRun(ended, None, release_all=True), after(2))
    return (time.process_time() - began) / len(claimed) * 1000


async def hold(store: Store, size: int, first: int = 0) -> None:
    """Put running runs in, each with its places and its job."""
    model = run("ppo", snapshot=FROZEN, state=State.RUNNING, npus=8, label="a3", started_at=NOW)
    made = [
        replace(
            model,
            id=RunId(f"HOLD{n:08}"),
            sha=Sha(f"{n:040x}"),
            number=n,
            actions_run_id=n,
            started_at=NOW - timedelta(minutes=n % 600),
        )
        for n in range(first, first + size)
    ]
    rows = [{**values(one), "essence": one.snapshot.essence, "due": None} for one in made]
    places = [
        {"run_id": one.id, "repo_id": REPO.id, "resource": name, "amount": amount, "since": NOW}
        for one in made
        for name, amount in (("label:a3", 1), ("pool:cluster", 16))
    ]
    jobs = [
        {"job_id": n, "label": "a3", "repo_id": REPO.id, "actions_run_id": n,
         "state": "in_progress", "at": NOW}
        for n in range(first, first + size)
    ]  # fmt: skip

    async def work(conn: DbConnection) -> None:
        for table, new in ((runs, rows), (holds, places), (workflow_jobs, jobs)):
            await conn.execute(insert(table), new)

    await store._db.write(work)


if __name__ == "__main__":
    asyncio.run(main())
