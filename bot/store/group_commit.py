"""Stores deliveries by group commit: all that wait at one moment share a transaction."""

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import Any

import structlog
from sqlalchemy.sql.dml import ReturningInsert

from bot.ports.errors import Transient
from bot.store.database import Database, DbConnection, Insert, insert
from bot.store.tables import deliveries

log = structlog.get_logger()

# A batch's rows travel as parameters; both databases take about 32,000 in a statement.
_BATCH = 500


@dataclass(frozen=True, slots=True)
class _Waiting:
    row: dict[str, Any]
    told: asyncio.Future[bool]


class GroupCommit:
    """Inserts all that wait at one moment in one transaction, then tells each."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None

    async def add(self, row: dict[str, Any]) -> bool:
        """Store a row; return after its commit whether its guid was new."""
        told: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(row, told))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain(), name="group-commit")
        return await told

    async def close(self) -> None:
        """Store the deliveries that wait."""
        if self._task is not None:
            await self._task

    async def _drain(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            try:
                await self._store(batch)
            except Transient as error:
                _fail(batch, error)
            except Exception as error:
                if len(batch) == 1:
                    _fail(batch, error)
                    continue
                log.exception("delivery_batch_failed", deliveries=len(batch))
                await self._one_by_one(batch)

    async def _one_by_one(self, batch: list[_Waiting]) -> None:
        """Store row by row, so that a bad row fails alone."""
        for waiting in batch:
            try:
                await self._store([waiting])
            except Exception as error:  # noqa: BLE001  handed to the one who waits for this row
                _fail([waiting], error)

    async def _store(self, batch: list[_Waiting]) -> None:
        async def work(conn: DbConnection) -> set[str]:
            query = _put(insert(conn, deliveries))
            return set(await conn.scalars(query, [waiting.row for waiting in batch]))

        fresh = await self._db.write(work)
        for waiting in batch:
            guid = waiting.row["guid"]
            if not waiting.told.done():
                waiting.told.set_result(guid in fresh)
            fresh.discard(guid)


@cache
def _put(query: Insert) -> ReturningInsert[Any]:
    return query.on_conflict_do_nothing(index_elements=["guid"]).returning(deliveries.c.guid)


def _fail(batch: list[_Waiting], error: Exception) -> None:
    for waiting in batch:
        if not waiting.told.done():
            waiting.told.set_exception(error)
