"""Places on labels and pools: held by runs, queued for first come, first served.

Lock order everywhere: resources (by name), then runs. On SQLite the writer's turn is the lock.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.adapters.store.changes import poke_runs
from bot.adapters.store.database import Database, insert
from bot.adapters.store.tables import holds, queue, resources, runs
from bot.core.model import Place, RepoId, Run, RunId, State
from bot.ports.runner import Need, Taken
from bot.ports.wake import Topic, Wake

# The first in the queue is the only one that can go on; the next ones are poked so that the
# places they show keep up. Those further back look at their place when they are due anyway.
_POKED = 16


@dataclass(frozen=True, slots=True)
class _Hold:
    resource: str
    run_id: str
    amount: int


@dataclass(frozen=True, slots=True)
class _Waiting:
    resource: str
    run_id: str
    since: datetime


@dataclass(frozen=True, slots=True)
class _Scene:
    """Who holds and who waits for the resources in question, the run itself left out."""

    run: Run
    own: frozenset[str]  # resources it holds already
    holders: tuple[_Hold, ...]
    waiting: tuple[_Waiting, ...]

    def earlier(self, name: str) -> int:
        """Count those who came before and wait for a resource."""
        mine = (self.run.created_at, self.run.id)
        ahead = [item for item in self.waiting if item.resource == name]
        return sum((item.since, item.run_id) < mine for item in ahead)

    def fits(self, need: Need) -> bool:
        """Tell whether a place is free and nobody came before."""
        name = _key(self.run.repo_id, need.resource)
        used = sum(hold.amount for hold in self.holders if hold.resource == name)
        return used + need.amount <= need.capacity and self.earlier(name) == 0

    def place(self, need: Need) -> Place:
        """Return the place in a resource's queue: behind its holders and earlier waiters."""
        name = _key(self.run.repo_id, need.resource)
        holding = sum(hold.resource == name for hold in self.holders)
        return Place(need.resource.partition(":")[2], self.earlier(name) + holding)


class HoldRows:
    """Implements the runner's ``take`` and ``give_back``."""

    _db: Database
    _wake: Wake

    async def take(
        self, run: Run, alternatives: tuple[tuple[Need, ...], ...], now: datetime
    ) -> Taken | Place:
        """Take the first alternative that fits, first come first served; else queue."""

        async def work(conn: AsyncConnection) -> tuple[Taken | Place, bool]:
            scene = await _look(conn, run, alternatives)
            choice = _choose(scene, alternatives)
            if choice is None:
                if await _is_open(conn, run.id):
                    await _queue(conn, run, _names(run, alternatives))
                return _first_place(scene, alternatives[0]), False
            if not await _is_open(conn, run.id):
                return scene.place(alternatives[choice][0]), False
            await _hold(conn, run, alternatives[choice], now)
            return Taken(choice), await _leave_queue(conn, run, now)

        answer, poked = await self._db.write(work)
        if poked:
            self._wake.poke(Topic.RUNNER)
        return answer

    async def give_back(self, run_id: RunId, resources: tuple[str, ...], now: datetime) -> None:
        """Release places early; those who wait for them are poked."""

        async def work(conn: AsyncConnection) -> None:
            repo_id = await conn.scalar(select(runs.c.repo_id).where(runs.c.id == run_id))
            names = {(RepoId(repo_id or 0), name) for name in resources}
            await lock_resources(conn, names)
            await release(conn, run_id, names, now)

        await self._db.write(work)
        self._wake.poke(Topic.RUNNER)


def _key(repo_id: RepoId, resource: str) -> str:
    return f"{repo_id}/{resource}"


def _names(run: Run, alternatives: tuple[tuple[Need, ...], ...]) -> set[str]:
    return {_key(run.repo_id, need.resource) for needs in alternatives for need in needs}


async def lock_resources(conn: AsyncConnection, wanted: Iterable[tuple[RepoId, str]]) -> None:
    """Lock resources by name, making the rows that are not there yet."""
    await _lock(conn, {_key(repo_id, resource) for repo_id, resource in wanted})


async def _lock(conn: AsyncConnection, names: set[str]) -> None:
    if not names:
        return
    ordered = sorted(names)
    rows = [{"name": name} for name in ordered]
    query = select(resources.c.name).where(resources.c.name.in_(ordered))
    locking = query.order_by(resources.c.name).with_for_update()
    if len((await conn.execute(locking)).all()) < len(ordered):
        await conn.execute(insert(conn, resources).on_conflict_do_nothing(), rows)
        await conn.execute(locking)


async def _look(
    conn: AsyncConnection, run: Run, alternatives: tuple[tuple[Need, ...], ...]
) -> _Scene:
    """Lock the resources and read who holds them and who waits."""
    names = _names(run, alternatives)
    await _lock(conn, names)
    held = await conn.execute(
        select(holds.c.resource, holds.c.run_id, holds.c.amount).where(holds.c.resource.in_(names))
    )
    waiting = await conn.execute(
        select(queue.c.resource, queue.c.run_id, queue.c.since).where(queue.c.resource.in_(names))
    )
    holders = [_Hold(*row) for row in held]
    return _Scene(
        run=run,
        own=frozenset(hold.resource for hold in holders if hold.run_id == run.id),
        holders=tuple(hold for hold in holders if hold.run_id != run.id),
        waiting=tuple(_Waiting(*row) for row in waiting if row.run_id != run.id),
    )


def _choose(scene: _Scene, alternatives: tuple[tuple[Need, ...], ...]) -> int | None:
    """Return the alternative held already, else the first that fits."""
    repo_id = scene.run.repo_id
    for index, needs in enumerate(alternatives):
        if needs and scene.own >= {_key(repo_id, need.resource) for need in needs}:
            return index
    for index, needs in enumerate(alternatives):
        if all(scene.fits(need) for need in needs):
            return index
    return None


def _first_place(scene: _Scene, needs: tuple[Need, ...]) -> Place:
    return next(scene.place(need) for need in needs if not scene.fits(need))


async def _is_open(conn: AsyncConnection, run_id: RunId) -> bool:
    """Lock the run and tell whether it is open: a late runner takes nothing for a done one."""
    query = select(runs.c.id).where(runs.c.id == run_id, runs.c.state != State.DONE)
    return (await conn.execute(query.with_for_update())).first() is not None


async def _queue(conn: AsyncConnection, run: Run, names: set[str]) -> None:
    rows = [{"run_id": run.id, "resource": name, "since": run.created_at} for name in sorted(names)]
    await conn.execute(insert(conn, queue).on_conflict_do_nothing(), rows)


async def _hold(conn: AsyncConnection, run: Run, needs: tuple[Need, ...], now: datetime) -> None:
    rows = [
        {
            "run_id": run.id,
            "resource": _key(run.repo_id, need.resource),
            "amount": need.amount,
            "since": now,
        }
        for need in needs
    ]
    if rows:
        await conn.execute(insert(conn, holds).on_conflict_do_nothing(), rows)


async def _leave_queue(conn: AsyncConnection, run: Run, now: datetime) -> bool:
    """Leave every queue and poke who is first there now; tell whether somebody is."""
    left = set(
        await conn.scalars(
            delete(queue).where(queue.c.run_id == run.id).returning(queue.c.resource)
        )
    )
    return await _poke_waiting(conn, left, now, first=1)


async def resources_of(conn: AsyncConnection, run_id: RunId) -> set[tuple[RepoId, str]]:
    """Return what a run holds or waits for."""
    held = await conn.scalars(select(holds.c.resource).where(holds.c.run_id == run_id))
    waits = await conn.scalars(select(queue.c.resource).where(queue.c.run_id == run_id))
    pairs = (name.partition("/") for name in {*held, *waits})
    return {(RepoId(int(repo_id)), resource) for repo_id, _, resource in pairs}


async def release(
    conn: AsyncConnection, run_id: RunId, wanted: set[tuple[RepoId, str]] | None, now: datetime
) -> None:
    """Give back places (None: all, and every place in a queue) and poke those who wait."""
    gone: set[str] = set()
    for table in (holds, queue):
        where = table.c.run_id == run_id
        if wanted is not None:
            names = {_key(repo_id, resource) for repo_id, resource in wanted}
            where &= table.c.resource.in_(names)
        gone.update(await conn.scalars(delete(table).where(where).returning(table.c.resource)))
    await _poke_waiting(conn, gone, now, first=_POKED)


async def _poke_waiting(
    conn: AsyncConnection, names: set[str], now: datetime, *, first: int
) -> bool:
    """Poke the first ones in the queues of these resources."""
    found: set[RunId] = set()
    for name in sorted(names):
        query = (
            select(queue.c.run_id)
            .where(queue.c.resource == name)
            .order_by(queue.c.since, queue.c.run_id)
            .limit(first)
        )
        found.update(RunId(run_id) for run_id in await conn.scalars(query))
    await poke_runs(conn, found, now)
    return bool(found)
