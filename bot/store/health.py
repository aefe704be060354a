"""How the database is doing: counts, its schema and its clock."""

import asyncio
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Table, delete, func, select, text

from bot.core.model.ids import RepoId
from bot.core.runs.offline import OfflineLabel
from bot.ports.errors import DatabaseTrouble
from bot.ports.wake import Wake
from bot.store.database import Database, DbConnection, NewId, Part, insert, is_sqlite
from bot.store.migrate import head_revision, revision
from bot.store.report_tables import checks
from bot.store.rows import OPEN_RUN
from bot.store.tables import deliveries, probes, runs
from bot.store.workflow_jobs import read_offline_labels

_PROBE_HOLDS = timedelta(seconds=2)
_PROBE_BYTES = 64 * 1024  # more than the free room of the pages that are there


@dataclass(frozen=True, slots=True)
class Health:
    """Counts for /metrics and /api/v1/health."""

    deliveries_waiting: int
    deliveries_parked: int
    oldest_delivery_s: float | None
    runs_by_state: dict[str, int]
    checks_behind: int
    checks_refused: int
    last_delivery_at: datetime | None
    offline: tuple[tuple[RepoId, OfflineLabel], ...] = ()  # by repository


class HealthReads(Part):
    """Reads how the database is doing."""

    def __init__(self, db: Database, wake: Wake, new_id: NewId) -> None:
        super().__init__(db, wake, new_id)
        self._probing = asyncio.Lock()
        self._probed = ""
        self._probed_at: datetime | None = None

    async def counts(self, now: datetime) -> Health:
        """Count rows. Done runs are not counted: there are too many."""
        return await self._db.read(lambda conn: _health(conn, now))

    async def migrated(self) -> bool:
        """Return True if the database has the newest schema."""
        return await self._db.read(revision) == head_revision()

    async def problem(self, now: datetime) -> str:
        """Return what is wrong with the database, "" if it takes a write.

        The answer holds for 2 s: anybody may ask.
        """
        async with self._probing:
            if self._probed_at is None or not timedelta() <= now - self._probed_at < _PROBE_HOLDS:
                self._probed = await self._probe(now)
                self._probed_at = now
        return self._probed

    async def _probe(self, now: datetime) -> str:
        """Write some pages, and give them back."""
        row = {"id": self._new_id(now), "filler": os.urandom(_PROBE_BYTES)}
        try:
            await self._db.write(lambda conn: conn.execute(insert(conn, probes), row))
            await self._db.write(lambda conn: conn.execute(delete(probes)))
        except DatabaseTrouble as error:
            return error.problem
        return ""

    async def clock_skew_s(self, now: datetime) -> float:
        """Return database time minus ``now``, in seconds (0 for SQLite)."""
        if is_sqlite(self._db.url):
            return 0.0
        there = await self._db.read(lambda conn: conn.scalar(text("SELECT clock_timestamp()")))
        return float((there - now).total_seconds())


async def _health(conn: DbConnection, now: datetime) -> Health:
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
        checks_refused=await _count(conn, checks, text("refusals > 0")),
        last_delivery_at=await conn.scalar(select(func.max(deliveries.c.received_at))),
        offline=await read_offline_labels(conn, now),
    )


async def _count(conn: DbConnection, table: Table, where: Any) -> int:
    return int(await conn.scalar(select(func.count()).select_from(table).where(where)) or 0)
