"""How the database is doing: counts, its schema and its clock."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Table, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.core.model.ids import RepoId
from bot.core.runs.offline import OfflineLabel
from bot.ports.errors import Transient
from bot.store.database import Part, is_postgres
from bot.store.migrate import head_revision, revision
from bot.store.rows import OPEN_RUN
from bot.store.tables import checks, deliveries, runs
from bot.store.workflow_jobs import read_offline_labels


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

    async def counts(self, now: datetime) -> Health:
        """Count rows. Done runs are not counted: there are too many."""
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
                checks_refused=await _count(conn, checks, text("refusals > 0")),
                last_delivery_at=await conn.scalar(select(func.max(deliveries.c.received_at))),
                offline=await read_offline_labels(conn, now),
            )

    async def migrated(self) -> bool:
        """Return True if the database is reachable and has the newest schema."""
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


async def _count(conn: AsyncConnection, table: Table, where: Any) -> int:
    return int(await conn.scalar(select(func.count()).select_from(table).where(where)) or 0)
