"""Stores deliveries by group commit: all that wait at one moment share a transaction."""

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import Any

import structlog
from sqlalchemy.sql.dml import ReturningInsert

from bot.deadlines import Deadlines
from bot.ports.errors import Transient
from bot.store.database import Database, DbConnection, Insert, insert
from bot.store.sqlite import SqliteConnection
from bot.store.tables import deliveries

log = structlog.get_logger()

# A batch's rows travel as parameters; both databases take about 32,000 in a statement.
_BATCH = 500
# Senders that were told together send again within milliseconds. Their next deliveries share one
# transaction if it waits for them, instead of a small one beside a large one each time.
_GATHER_S = 0.004
_PATIENCE_S = 8.0  # GitHub gives a webhook up after 10 s


@dataclass(frozen=True, slots=True)
class _Waiting:
    row: dict[str, Any]
    told: asyncio.Future[bool]

    def give_up(self) -> None:
        """Tell that it takes too long; the row may still be stored."""
        self.fail(TimeoutError("the database takes too long"))

    def fail(self, error: Exception) -> None:
        """Tell why the row is not stored."""
        if not self.told.done():
            self.told.set_exception(error)


class GroupCommit:
    """Inserts all that wait at one moment in one transaction, then tells each."""

    def __init__(
        self, db: Database, *, gather_s: float = _GATHER_S, patience_s: float = _PATIENCE_S
    ) -> None:
        self._db = db
        self._gather_s = gather_s
        self._waiting: list[_Waiting] = []
        self._deadlines = Deadlines(patience_s)
        self._expected = 1  # who has just been told, and who waited meanwhile
        self._all_came = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def add(self, row: dict[str, Any]) -> bool:
        """Store a row; return after its commit whether its guid was new.

        Raise ``TimeoutError`` if that takes too long; the row may be stored later.
        """
        waiting = _Waiting(row, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if len(self._waiting) >= self._expected:
            self._all_came.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain(), name="group-commit")
        self._deadlines.start(waiting.give_up)
        try:
            return await waiting.told
        finally:
            self._deadlines.stop(waiting.give_up)

    async def close(self) -> None:
        """Store the deliveries that wait."""
        if self._task is not None:
            await self._task

    async def _drain(self) -> None:
        while self._waiting:
            if len(self._waiting) < self._expected:
                await self._gather()
            batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            await self._store_or_fail(batch)
            self._expected = min(len(batch) + len(self._waiting), _BATCH)

    async def _gather(self) -> None:
        """Wait until all came that are expected, at most a moment."""
        self._all_came.clear()
        timer = asyncio.get_running_loop().call_later(self._gather_s, self._all_came.set)
        await self._all_came.wait()
        timer.cancel()

    async def _store_or_fail(self, batch: list[_Waiting]) -> None:
        try:
            await self._store(batch)
        except Transient as error:
            for waiting in batch:
                waiting.fail(error)
        except Exception as error:
            if len(batch) == 1:
                batch[0].fail(error)
                return
            log.exception("delivery_batch_failed", deliveries=len(batch))
            await self._one_by_one(batch)

    async def _one_by_one(self, batch: list[_Waiting]) -> None:
        """Store row by row, so that a bad row fails alone."""
        for waiting in batch:
            try:
                await self._store([waiting])
            except Exception as error:  # noqa: BLE001  handed to the one who waits for this row
                waiting.fail(error)

    async def _store(self, batch: list[_Waiting]) -> None:
        rows = [waiting.row for waiting in batch]
        fresh = await self._db.write(lambda conn: _insert(conn, rows))
        for waiting, is_fresh in zip(batch, fresh, strict=True):
            if not waiting.told.done():
                waiting.told.set_result(is_fresh)


async def _insert(conn: DbConnection, rows: list[dict[str, Any]]) -> list[bool]:
    """Insert rows; return for each one whether its guid was new."""
    table = insert(conn, deliveries)
    if isinstance(conn, SqliteConnection):
        return [changed == 1 for changed in conn.execute_each(_put(table), rows)]
    fresh = set(await conn.scalars(_put_returning(table), rows))
    told = []
    for row in rows:
        told.append(row["guid"] in fresh)
        fresh.discard(row["guid"])  # a second row of this guid was not stored
    return told


@cache
def _put(query: Insert) -> Insert:
    return query.on_conflict_do_nothing(index_elements=["guid"])


@cache
def _put_returning(query: Insert) -> ReturningInsert[Any]:
    return _put(query).returning(deliveries.c.guid)
