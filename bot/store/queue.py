"""Runs acquire labels and pools in the order of the queue, and release them at their end.

Lock order everywhere: a repository's queue, then runs. On SQLite the single writer is the lock.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Delete, Select, delete, exists, select
from sqlalchemy.sql.dml import ReturningDelete

from bot.core.messages import Message
from bot.core.model.ids import RepoId, RunId
from bot.core.model.queue import Alternatives, Need
from bot.core.model.runs import Run, State
from bot.core.queue.scheduler import acquire, decide, next_up
from bot.core.queue.state import Acquired, Answer, Blocked, PendingRun, QueueState
from bot.core.queue.usage import Spent, spent
from bot.ports.wake import Topic
from bot.store.database import DbConnection, Part, insert, insert_unless_there
from bot.store.prepared import prepared
from bot.store.queue_memory import note_change
from bot.store.queue_state import pending_of, read_free_state, read_queue_state, usages
from bot.store.rows import load, values
from bot.store.run_rows import poke_runs
from bot.store.tables import holds, queue, queue_locks, runs

# Besides the runs that may start now, the next ones are poked so that they show their new position.
# The others update it when they are due: after a minute, or up to 30 far back in the queue.
_POKED = 3


class Queue(Part):
    """Gives resources to runs in the order of the queue."""

    async def spent(self, repo_id: RepoId, now: datetime) -> Spent:
        """Return the NPU-hours that a repository used in the last 24 hours."""
        return spent(await self._db.read(lambda conn: usages(conn, repo_id, now)), now)

    async def acquire(self, run: Run, needs: Alternatives, now: datetime) -> Answer:
        """Acquire the first alternative that is free for the run; else it waits in the queue.

        A run that holds an alternative already keeps it.
        """

        async def work(conn: DbConnection) -> tuple[Answer, bool]:
            await lock_queue(conn, run.repo_id)
            held = await _held(conn, run.id, needs)
            if held is not None:
                return Acquired(held), False
            if not await _is_open(conn, run.id):
                return Blocked(Message("run_done")), False
            pending = await pending_of(conn, run, needs)
            answer, others = await _decide(conn, run, pending, now)
            await _enter(conn, run, pending, answer, now)
            await poke_runs(conn, others, now, first=True)
            return answer, bool(others)

        answer, poked = await self._db.write(work)
        if poked:
            self._wake.poke(Topic.RUNNER)
        return answer


async def _decide(
    conn: DbConnection, run: Run, pending: PendingRun, now: datetime
) -> tuple[Answer, set[RunId]]:
    """Decide by sums if they show that the run's first choice is free, else by the whole queue."""
    free = await read_free_state(conn, pending, run.repo_id, now)
    if free and (answer := decide(free, run.id)) == Acquired(0):
        return answer, set()
    return acquire(_with(await read_queue_state(conn, run.repo_id, now), pending), run.id)


async def lock_queue(conn: DbConnection, repo_id: RepoId) -> None:
    """Lock a repository's queue; make the row that is locked if it does not exist yet.

    One lock for all resources: the next run depends on every run that waits.
    """
    if (await conn.execute(*_locked(repo_id))).first() is None:
        row = {"repo_id": repo_id}
        await conn.execute(insert_unless_there(conn, queue_locks), row)
        await conn.execute(*_locked(repo_id))


@prepared
def _locked(repo_id: RepoId) -> Select[Any]:
    own = queue_locks.c.repo_id == repo_id
    return select(queue_locks.c.repo_id).where(own).with_for_update()


async def _held(conn: DbConnection, run_id: RunId, needs: Alternatives) -> int | None:
    """Return the alternative that the run holds already."""
    own = set(await conn.scalars(*_resources_of(run_id)))
    for choice, alternative in enumerate(needs):
        if alternative and own >= {need.resource for need in alternative}:
            return choice
    return None


@prepared
def _resources_of(run_id: RunId) -> Select[Any]:
    return select(holds.c.resource).where(holds.c.run_id == run_id)


def _with(queue_state: QueueState, pending: PendingRun) -> QueueState:
    others = (item for item in queue_state.waiting if item.run_id != pending.run_id)
    return replace(queue_state, waiting=(*others, pending))


async def _is_open(conn: DbConnection, run_id: RunId) -> bool:
    """Lock the run and return True if it is open: a done run acquires nothing."""
    return (await conn.execute(*_locked_open_run(run_id))).first() is not None


@prepared
def _locked_open_run(run_id: RunId) -> Select[Any]:
    query = select(runs.c.id).where(runs.c.id == run_id, runs.c.state != State.DONE)
    return query.with_for_update()


async def _enter(
    conn: DbConnection, run: Run, pending: PendingRun, answer: Answer, now: datetime
) -> None:
    """Write what the run holds now, or its place in the queue, unless that is written already."""
    stored = (await conn.execute(*_place(run.id))).mappings().first()
    if isinstance(answer, Acquired):
        if stored:
            await conn.execute(*_leave(run.id))
        await _hold(conn, run, pending.needs[answer.choice], now)
    elif stored is None or load(PendingRun, stored) != pending:
        await conn.execute(*_leave(run.id))
        row = {**values(pending), "repo_id": run.repo_id}
        await conn.execute(insert(conn, queue), row)
    else:
        return
    await note_change(conn, run.repo_id, run.id)


@prepared
def _place(run_id: RunId) -> Select[Any]:
    return select(queue).where(queue.c.run_id == run_id)


@prepared
def _leave(run_id: RunId) -> Delete:
    return delete(queue).where(queue.c.run_id == run_id)


async def _hold(conn: DbConnection, run: Run, needs: tuple[Need, ...], now: datetime) -> None:
    rows = [
        {
            "run_id": run.id,
            "repo_id": run.repo_id,
            "resource": need.resource,
            "amount": need.amount,
            "since": now,
        }
        for need in needs
    ]
    if rows:
        await conn.execute(insert_unless_there(conn, holds), rows)


async def release(
    conn: DbConnection,
    repo_id: RepoId,
    run_id: RunId,
    resources: tuple[str, ...] | None,
    now: datetime,
) -> None:
    """Release resources (None: all, and the place in the queue) and poke runs that wait."""
    giving = _release_all(run_id) if resources is None else _release(run_id, resources)
    touched = set(await conn.scalars(*giving))
    if resources is None:
        for needs in await conn.scalars(*_give_up_place(run_id)):
            touched |= _resources(needs)
    if touched:
        await note_change(conn, repo_id, run_id)
        await poke_waiting(conn, repo_id, touched, now)


@prepared
def _release_all(run_id: RunId) -> ReturningDelete[Any]:
    return delete(holds).where(holds.c.run_id == run_id).returning(holds.c.resource)


@prepared
def _release(run_id: RunId, resources: Sequence[str]) -> ReturningDelete[Any]:
    these = (holds.c.run_id == run_id) & holds.c.resource.in_(resources)
    return delete(holds).where(these).returning(holds.c.resource)


@prepared
def _give_up_place(run_id: RunId) -> ReturningDelete[Any]:
    return delete(queue).where(queue.c.run_id == run_id).returning(queue.c.needs)


def _resources(needs: Alternatives) -> set[str]:
    return {need.resource for alternative in needs for need in alternative}


async def poke_waiting(
    conn: DbConnection, repo_id: RepoId, touched: set[str], now: datetime
) -> None:
    """Poke the runs that may start now, and the first runs that wait for these resources."""
    if not await conn.scalar(*_any_waits(repo_id)):
        return
    queue_state = await read_queue_state(conn, repo_id, now)
    waiting, starting = next_up(queue_state, touched, _POKED)
    await poke_runs(conn, waiting, now)
    await poke_runs(conn, starting, now, first=True)


@prepared
def _any_waits(repo_id: RepoId) -> Select[Any]:
    return select(exists().where(queue.c.repo_id == repo_id))
