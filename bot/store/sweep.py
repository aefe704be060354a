"""Lists and counts for the safety nets, and what makes room."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Table, Text, cast, delete, exists, func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.core.model.ids import RepoId
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.runs import Run
from bot.ports.errors import Transient
from bot.ports.sweeper import Health
from bot.store.database import Database, insert, is_postgres
from bot.store.jobs_seen import read_offline_label
from bot.store.migrate import head_revision, revision
from bot.store.reader import OPEN_RUN
from bot.store.rows import load_all, load_runs
from bot.store.tables import checks, deliveries, polls, pulls, repos, runs, selections

# Parameters of one statement; both databases take more.
_CHUNK = 500


class SweepRows:
    """Implements the sweeper's own methods."""

    _db: Database

    async def live_repos(self) -> tuple[Repo, ...]:
        """Return active repositories with an open run that was dispatched, by id."""
        live = exists().where(runs.c.repo_id == repos.c.id, OPEN_RUN, _dispatched())
        async with self._db.read() as conn:
            found = await load_all(conn, Repo, repos, repos.c.active, live)
        return tuple(sorted(found, key=lambda repo: repo.id))

    async def active_repos(self) -> tuple[Repo, ...]:
        """Return all active repositories, by id."""
        async with self._db.read() as conn:
            found = await load_all(conn, Repo, repos, repos.c.active)
        return tuple(sorted(found, key=lambda repo: repo.id))

    async def live_runs(self, repo_id: RepoId) -> tuple[Run, ...]:
        """Return its open runs that were dispatched, oldest first."""
        async with self._db.read() as conn:
            return await load_runs(conn, runs.c.repo_id == repo_id, _open(), _dispatched())

    async def native_runs(self) -> tuple[tuple[Repo, tuple[Run, ...]], ...]:
        """Return the open runs that GitHub starts by itself, by active repository."""
        native = cast(runs.c.snapshot, Text).contains('"native":true')  # no text can look so
        async with self._db.read() as conn:
            found = await load_runs(conn, _open(), native)
            ids = {run.repo_id for run in found}
            known = await load_all(conn, Repo, repos, repos.c.active, repos.c.id.in_(ids))
        return tuple(
            (repo, tuple(run for run in found if run.repo_id == repo.id))
            for repo in sorted(known, key=lambda repo: repo.id)
        )

    async def open_pulls(self, repo_id: RepoId) -> tuple[Pull, ...]:
        """Return the pull requests believed open, by number."""
        async with self._db.read() as conn:
            found = await load_all(conn, Pull, pulls, pulls.c.repo_id == repo_id, pulls.c.open)
        return tuple(sorted(found, key=lambda pull: pull.number))

    async def known_guids(self, guids: tuple[str, ...]) -> frozenset[str]:
        """Return those of the deliveries that are stored."""
        known: set[str] = set()
        async with self._db.read() as conn:
            for start in range(0, len(guids), _CHUNK):
                part = guids[start : start + _CHUNK]
                query = select(deliveries.c.guid).where(deliveries.c.guid.in_(part))
                known.update(await conn.scalars(query))
        return frozenset(known)

    async def prune(self, before: datetime, *, limit: int) -> int:
        """Delete done deliveries, and runs with their rows, older than ``before``.

        At most ``limit`` rows of each kind, so that nobody waits long; returns how many.
        """

        async def work(conn: AsyncConnection) -> int:
            old_run = (runs.c.ended_at < before) & (runs.c.state == "done")
            old_delivery = (deliveries.c.received_at < before) & (deliveries.c.state != "new")
            gone = await _delete_some(conn, runs, runs.c.id, old_run, limit)
            gone += await _delete_some(conn, deliveries, deliveries.c.seq, old_delivery, limit)
            return gone + await _prune_checks(conn, before, limit)

        return await self._db.write(work)

    async def health(self, now: datetime) -> Health:
        """Count; done runs, the many, are left out."""
        async with self._db.read() as conn:
            waiting = text("state = 'new'")
            oldest = await conn.scalar(select(func.min(deliveries.c.received_at)).where(waiting))
            states = await conn.execute(
                select(runs.c.state, func.count()).where(OPEN_RUN).group_by(runs.c.state)
            )
            return Health(
                deliveries_waiting=await _count(conn, deliveries, waiting),
                deliveries_parked=await _count(conn, deliveries, text("state = 'parked'")),
                oldest_delivery_s=(now - oldest).total_seconds() if oldest else None,
                runs_by_state={str(state): count for state, count in states},
                checks_behind=await _count(conn, checks, checks.c.due <= now),
                checks_given_up=await _count(conn, checks, text("given_up")),
                last_delivery_at=await conn.scalar(select(func.max(deliveries.c.received_at))),
                offline=await read_offline_label(conn, now),
            )

    async def due_poll(self, name: str, now: datetime, *, every_s: float) -> bool:
        """Tell whether this poll is due and, if so, take it: once whatever the replicas."""
        following = now + timedelta(seconds=every_s)
        turn = update(polls).where(polls.c.name == name, polls.c.next_at <= now)

        async def work(conn: AsyncConnection) -> bool:
            if (await conn.execute(turn.values(next_at=following))).rowcount == 1:
                return True
            first = insert(conn, polls).values(name=name, next_at=following)
            made = await conn.execute(first.on_conflict_do_nothing().returning(polls.c.name))
            return made.first() is not None

        return await self._db.write(work)

    async def migrated(self) -> bool:
        """Tell whether the database is reachable and at the newest schema."""
        try:
            async with self._db.read() as conn:
                return await revision(conn) == head_revision()
        except Transient:
            return False

    async def clock_skew_s(self, now: datetime) -> float:
        """Return database time minus ``now``, in seconds (0 for SQLite)."""
        async with self._db.read() as conn:
            if not is_postgres(conn):
                return 0.0
            there = await conn.scalar(text("SELECT clock_timestamp()"))
        return float((there - now).total_seconds())


def _open() -> Any:
    return OPEN_RUN


def _dispatched() -> ColumnElement[bool]:
    return runs.c.dispatched_at.is_not(None) | runs.c.actions_run_id.is_not(None)


async def _count(conn: AsyncConnection, table: Table, where: Any) -> int:
    return int(await conn.scalar(select(func.count()).select_from(table).where(where)) or 0)


async def _delete_some(
    conn: AsyncConnection,
    table: Table,
    key: ColumnElement[Any],
    where: ColumnElement[bool],
    limit: int,
) -> int:
    """Delete up to ``limit`` rows; rows that hang on them go by the database's own cascade."""
    old = select(key).where(where).limit(limit)
    return (await conn.execute(delete(table).where(key.in_(old)))).rowcount


async def _prune_checks(conn: AsyncConnection, before: datetime, limit: int) -> int:
    """Delete settled gates of commits that are no open head and have no runs, and choices there."""
    is_head = exists().where(
        pulls.c.repo_id == checks.c.repo_id, pulls.c.head_sha == checks.c.sha, pulls.c.open
    )
    has_runs = exists().where(runs.c.repo_id == checks.c.repo_id, runs.c.sha == checks.c.sha)
    settled = (checks.c.touched_at < before) & checks.c.due.is_(None) & checks.c.run_id.is_(None)
    old = select(checks.c.external_id).where(settled, ~is_head, ~has_runs).limit(limit)
    gone = (
        await conn.execute(
            delete(checks)
            .where(checks.c.external_id.in_(old))
            .returning(checks.c.repo_id, checks.c.sha)
        )
    ).all()
    for repo_id, sha in {tuple(row) for row in gone}:
        here = (selections.c.repo_id == repo_id) & (selections.c.sha == sha)
        await conn.execute(delete(selections).where(here))
    return len(gone)
