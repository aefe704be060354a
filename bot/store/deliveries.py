"""Deliveries: stored by group commit, claimed one at a time a subject."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import structlog
from sqlalchemy import ColumnElement, exists, func, select, text, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.dml import ReturningUpdate

from bot.core.model.deliveries import Delivery
from bot.ports.errors import Transient
from bot.ports.lease import Lease
from bot.ports.wake import Topic, Wake
from bot.store.claims import AT, claiming, terms
from bot.store.columns import EPOCH
from bot.store.database import Database, insert, is_postgres
from bot.store.rows import FREE, held, lease_of, load
from bot.store.tables import deliveries

log = structlog.get_logger()

# A batch's rows travel as parameters; both databases take about 32,000 in a statement.
_BATCH = 500
# Serialises claims of deliveries between PostgreSQL processes: whether a subject is free is a
# question about other rows, which row locks can't answer.
_CLAIM_LOCK = 0x61736364
_NEW = text("deliveries.state = 'new'")  # literal, so that the partial indexes are seen to fit


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
        """Finish what waits."""
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
        """Store what can be stored, so that one bad row fails only itself."""
        for waiting in batch:
            try:
                await self._store([waiting])
            except Exception as error:  # noqa: BLE001  handed to the one who waits for this row
                _fail([waiting], error)

    async def _store(self, batch: list[_Waiting]) -> None:
        async def work(conn: AsyncConnection) -> set[str]:
            query = (
                insert(conn, deliveries)
                .on_conflict_do_nothing(index_elements=["guid"])
                .returning(deliveries.c.guid)
            )
            return set(await conn.scalars(query, [waiting.row for waiting in batch]))

        fresh = await self._db.write(work)
        for waiting in batch:
            guid = waiting.row["guid"]
            if not waiting.told.done():
                waiting.told.set_result(guid in fresh)
            fresh.discard(guid)


def _fail(batch: list[_Waiting], error: Exception) -> None:
    for waiting in batch:
        if not waiting.told.done():
            waiting.told.set_exception(error)


def _row(delivery: Delivery, ignored: str | None) -> dict[str, Any]:
    return {
        "guid": delivery.guid,
        "event": delivery.event,
        "action": delivery.action,
        "repo_id": delivery.repo_id,
        "subject": delivery.subject,
        "received_at": delivery.received_at,
        "body": None if ignored is not None else delivery.body,
        "state": "new" if ignored is None else "ignored",
        "tries": delivery.tries,
        "due": EPOCH,
        "note": ignored or "",
    }


def _free_subject() -> ColumnElement[bool]:
    """Tell in SQL whether nothing of the subject is in work and nothing earlier waits."""
    other = deliveries.alias("other")
    earlier = exists().where(
        other.c.subject == deliveries.c.subject,
        text("other.state = 'new'"),
        tuple_(other.c.received_at, other.c.seq)
        < tuple_(deliveries.c.received_at, deliveries.c.seq),
    )
    work = deliveries.alias("work")
    in_work = select(work.c.subject).where(
        text("work.state = 'new'"), text("work.lease_until > 0"), work.c.lease_until > AT
    )
    return ~earlier & deliveries.c.subject.not_in(in_work)


@cache
def _claim() -> ReturningUpdate[Any]:
    oldest = (
        select(deliveries.c.seq)
        .where(_NEW, deliveries.c.due <= AT, _free_subject())
        .order_by(deliveries.c.received_at, deliveries.c.seq)
    )
    return claiming(deliveries, oldest)


class DeliveryRows:
    """Implements ``HooksStore`` and the inbox's claims."""

    _db: Database
    _wake: Wake
    _group: GroupCommit

    async def store_delivery(self, delivery: Delivery, *, ignored: str | None = None) -> bool:
        """Store it; return after the commit. False: this guid was known, nothing changed."""
        fresh = await self._group.add(_row(delivery, ignored))
        if fresh and ignored is None:
            self._wake.poke(Topic.INBOX)
        return fresh

    async def claim_deliveries(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[tuple[Lease, Delivery], ...]:
        """Claim the oldest due delivery of up to ``limit`` subjects without a claimed one."""
        asked = terms(owner, now, lease_s=lease_s, limit=limit)

        async def work(conn: AsyncConnection) -> tuple[tuple[Lease, Delivery], ...]:
            if is_postgres(conn):
                await conn.execute(select(func.pg_advisory_xact_lock(_CLAIM_LOCK)))
            rows = (await conn.execute(_claim(), asked)).mappings().all()
            rows = sorted(rows, key=lambda row: (row["received_at"], row["seq"]))
            return tuple((lease_of(row, str(row["seq"])), load(Delivery, row)) for row in rows)

        return await self._db.write(work)

    async def retry_delivery(
        self, lease: Lease, *, due: datetime, note: str, park: bool, counts: bool
    ) -> None:
        """Give the delivery back until ``due``, or park it; its tries grow when it ``counts``."""
        change = (
            update(deliveries)
            .where(deliveries.c.seq == int(lease.key), held(deliveries, lease))
            .values(
                state="parked" if park else "new",
                due=due,
                note=note,
                tries=deliveries.c.tries + int(counts),
                **FREE,
            )
        )
        await self._db.write(lambda conn: conn.execute(change))


async def finish_delivery(conn: AsyncConnection, lease: Lease, note: str) -> bool:
    """Mark a claimed delivery done; False: the lease was lost."""
    done = await conn.execute(
        update(deliveries)
        .where(deliveries.c.seq == int(lease.key), held(deliveries, lease))
        .values(state="done", note=note, **FREE)
    )
    return done.rowcount == 1
