"""What it costs to give a run its place while many others have one.

Run `python -m tests.bench.acquire_bench`. It prints the CPU time of one acquisition, and of one
release, beside 100 to 10,000 runs that hold a slot and run a job.
"""

import asyncio
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from sqlalchemy import insert

from bot.core.model.ids import RunId, Sha
from bot.core.model.queue import Need
from bot.core.model.runs import Run, State
from bot.core.policy.models import Limits
from bot.core.queue.state import Acquired
from bot.store import Store, migrate
from bot.store.database import DbConnection
from bot.store.rows import values
from bot.store.runs import SaveRun
from bot.store.tables import holds, runs, workflow_jobs
from tests.store.building import NOW, REPO, after, put, run, snapshot

SIZES = (100, 1000, 3000, 10_000)
TIMES = 40
FROZEN = snapshot("ppo", limits=Limits(npu_hours_per_day=10**6))
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
