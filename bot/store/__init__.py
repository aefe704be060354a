"""The store: every port's rows in one database, SQLite or PostgreSQL.

A transaction is one method that takes a value and answers a value; no connection or row object
leaves this package.
"""

from collections.abc import Callable
from datetime import datetime

from bot.ports.wake import Wake
from bot.store.api import ApiRows
from bot.store.audit import AuditRows
from bot.store.checks import CheckRows
from bot.store.database import Database
from bot.store.deliveries import DeliveryRows, GroupCommit
from bot.store.explain import ExplainRows
from bot.store.holds import HoldRows
from bot.store.ids import ulid
from bot.store.jobs_seen import JobRows
from bot.store.migrate import migrate
from bot.store.pauses import PauseRows
from bot.store.rayjobs import RayJobRows
from bot.store.reader import ReaderRows
from bot.store.replies import ReplyRows
from bot.store.runs import RunRows
from bot.store.schedules import ScheduleRows
from bot.store.showing import ShowingRows
from bot.store.sweep import SweepRows
from bot.store.tokens import TokenRows
from bot.store.wake import LocalWake

__all__ = ["Store", "migrate"]


class Store(
    DeliveryRows,
    ScheduleRows,
    ReaderRows,
    RunRows,
    HoldRows,
    JobRows,
    RayJobRows,
    CheckRows,
    ReplyRows,
    ShowingRows,
    SweepRows,
    TokenRows,
    ApiRows,
    ExplainRows,
    AuditRows,
    PauseRows,
):
    """Implements the stores of all ports; made by ``open``, ended by ``close``."""

    def __init__(self, db: Database, wake: Wake, new_id: Callable[[datetime], str]) -> None:
        self._db = db
        self._wake = wake
        self._new_id = new_id
        self._group = GroupCommit(db)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        wake: Wake | None = None,
        new_id: Callable[[datetime], str] = ulid,
    ) -> "Store":
        """Open a migrated database; raises ``Transient`` when it can't be reached."""
        db = Database(url)
        async with db.read():
            return cls(db, wake or LocalWake(), new_id)

    @property
    def transactions(self) -> int:
        """Return how many write transactions were committed."""
        return self._db.transactions

    async def close(self) -> None:
        """Store what waits, then close every connection."""
        await self._group.close()
        await self._db.close()
