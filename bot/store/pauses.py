"""Pauses: no run starts on a paused resource."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select

from bot.core.model.ids import RepoId
from bot.core.model.snapshot import Snapshot
from bot.core.planning.plan import AuditEntry
from bot.core.queue.state import Pause
from bot.ports.wake import Topic
from bot.store.audit import add_audit
from bot.store.database import DbConnection, insert
from bot.store.queue import lock_queue, poke_waiting
from bot.store.rows import Reads, load, load_runs, values
from bot.store.tables import pauses, policies, queue, runs

ALL = "all"
_LATEST = 200  # runs that name labels and pools, besides the policies


@dataclass(frozen=True, slots=True)
class KnownResources:
    """Where labels and pools are named: stored policies and the snapshots of runs."""

    policies: tuple[str, ...]
    snapshots: tuple[Snapshot, ...]


class Pauses(Reads):
    """Starts, ends and lists pauses."""

    async def in_force(self, now: datetime) -> tuple[Pause, ...]:
        """Return the pauses in force, oldest first."""
        found = await self._all(Pause, pauses)
        return tuple(sorted((item for item in found if item.holds(now)), key=lambda item: item.at))

    async def start(self, pause: Pause, entry: AuditEntry) -> Pause | None:
        """Write a pause in place of the one on its resource, and return that one."""

        async def work(conn: DbConnection) -> Pause | None:
            before = await _take_out(conn, pause.resource, pause.at)
            await conn.execute(insert(conn, pauses), values(pause))
            await add_audit(conn, (entry,))
            await _poke(conn, pause.resource, pause.at)
            return before

        before = await self._db.write(work)
        self._wake.poke(Topic.RUNNER)
        return before

    async def end(self, resource: str, entry: AuditEntry) -> Pause | None:
        """End the pause of a resource and poke the runs that wait there; None: there was none."""

        async def work(conn: DbConnection) -> Pause | None:
            before = await _take_out(conn, resource, entry.at)
            if before is not None:
                await add_audit(conn, (entry,))
                await _poke(conn, resource, entry.at)
            return before

        before = await self._db.write(work)
        if before is not None:
            self._wake.poke(Topic.RUNNER)
        return before

    async def known_resources(self) -> KnownResources:
        """Return the policies and snapshots that name labels and pools."""
        read = select(policies.c.text).where(policies.c.text.is_not(None))
        latest = select(runs.c.id).order_by(runs.c.id.desc()).limit(_LATEST)

        async def work(conn: DbConnection) -> KnownResources:
            texts = tuple(str(text) for text in await conn.scalars(read))
            found = await load_runs(conn, runs.c.id.in_(latest))
            return KnownResources(texts, tuple(run.snapshot for run in found))

        return await self._db.read(work)


async def _take_out(conn: DbConnection, resource: str, now: datetime) -> Pause | None:
    """Delete a resource's pause, and every one that has run out; return it if it was in force."""
    over = pauses.c.until <= now
    query = delete(pauses).where((pauses.c.resource == resource) | over).returning(*pauses.c)
    gone = [load(Pause, row) for row in (await conn.execute(query)).mappings()]
    return next((item for item in gone if item.resource == resource and item.holds(now)), None)


async def _poke(conn: DbConnection, resource: str, now: datetime) -> None:
    """Poke the runs that wait for a resource, in every repository that uses its name."""
    waiting = select(queue.c.repo_id, queue.c.needs).order_by(queue.c.repo_id)
    wanted: dict[RepoId, set[str]] = {}
    for repo_id, needs in await conn.execute(waiting):
        found = {need.resource for alternative in needs for need in alternative}
        wanted.setdefault(repo_id, set()).update(found)
    for repo_id, found in wanted.items():
        touched = found if resource == ALL else found & {resource}
        if touched:
            await lock_queue(conn, repo_id)
            await poke_waiting(conn, repo_id, touched, now)
