"""Deliveries: stored by group commit, claimed one at a time a subject, in their order.

One that fails again and again is passed by: GitHub keeps no order either.
"""

from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    Update,
    exists,
    func,
    select,
    text,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate

from bot.core.model.deliveries import Delivery
from bot.ports.wake import Topic, Wake
from bot.store import leases
from bot.store.columns import EPOCH, Time
from bot.store.database import Database, DbConnection, NewId, Part, is_postgres
from bot.store.group_commit import GroupCommit
from bot.store.rows import load
from bot.store.tables import deliveries

# Parameters of one statement; both databases take more.
_CHUNK = 500
# Serialises claims of deliveries between PostgreSQL processes: whether a subject is free is a
# question about other rows, which row locks can't answer.
_CLAIM_LOCK = 0x61736364
# So long the later deliveries of a subject wait for one that fails: GitHub may never answer.
HOLDS_UP = timedelta(minutes=1)
_HOLDS_UP_US = HOLDS_UP // timedelta(microseconds=1)
# What people ask for is done in their order: a command never acts after a later one took it back.
_IN_ORDER = "other.event IN ('issue_comment', 'check_run', 'check_suite')"
_NEW = text("deliveries.state = 'new'")  # literal, so that the partial indexes are seen to fit


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
    """Return SQL for "no delivery of the subject is claimed, and none holds this one up".

    An earlier one does for a minute, and whenever it is due: so at most one of a subject is free.
    """
    other = deliveries.alias("other")
    since = type_coerce(other.c.received_at, BigInteger) + _HOLDS_UP_US
    is_young = type_coerce(since, Time) > leases.AT
    in_order = text(_IN_ORDER) & (other.c.event == deliveries.c.event)
    earlier = exists().where(
        other.c.subject == deliveries.c.subject,
        text("other.state = 'new'"),
        (other.c.due <= leases.AT) | is_young | in_order,
        tuple_(other.c.received_at, other.c.seq)
        < tuple_(deliveries.c.received_at, deliveries.c.seq),
    )
    work = deliveries.alias("work")
    in_work = select(work.c.subject).where(
        text("work.state = 'new'"), text("work.lease_until > 0"), work.c.lease_until > leases.AT
    )
    return ~earlier & deliveries.c.subject.not_in(in_work)


def due_deliveries() -> Select[Any]:
    """Return the query of due deliveries whose turn it is, oldest first."""
    return (
        select(deliveries.c.seq)
        .where(_NEW, deliveries.c.due <= leases.AT, _free_subject())
        .order_by(deliveries.c.received_at, deliveries.c.seq)
    )


@cache
def _claim() -> ReturningUpdate[Any]:
    return leases.claim_statement(deliveries, due_deliveries())


class Deliveries(Part):
    """Stores and claims deliveries."""

    def __init__(self, db: Database, wake: Wake, new_id: NewId) -> None:
        super().__init__(db, wake, new_id)
        self._group = GroupCommit(db)

    async def close(self) -> None:
        """Store the deliveries that wait."""
        await self._group.close()

    async def put(self, delivery: Delivery, *, ignored: str | None = None) -> bool:
        """Store it; return after the commit. False: this guid was known, nothing changed."""
        fresh = await self._group.add(_row(delivery, ignored))
        if fresh and ignored is None:
            self._wake.poke(Topic.INBOX)
        return fresh

    async def claim(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[tuple[leases.Lease, Delivery], ...]:
        """Claim the oldest due delivery of up to ``limit`` subjects without a claimed one."""
        asked = leases.claim_parameters(owner, now, lease_s=lease_s, limit=limit)

        async def work(conn: DbConnection) -> tuple[tuple[leases.Lease, Delivery], ...]:
            if is_postgres(conn):
                await conn.execute(select(func.pg_advisory_xact_lock(_CLAIM_LOCK)))
            rows = (await conn.execute(_claim(), asked)).mappings().all()
            rows = sorted(rows, key=lambda row: (row["received_at"], row["seq"]))
            return tuple(
                (leases.lease_of(row, str(row["seq"])), load(Delivery, row)) for row in rows
            )

        return await self._db.write(work)

    async def retry(
        self, lease: leases.Lease, *, due: datetime, note: str, park: bool, counts: bool
    ) -> None:
        """Give the delivery back until ``due``, or park it; its tries grow when it ``counts``."""
        change = (
            update(deliveries)
            .where(deliveries.c.seq == int(lease.key), leases.held(deliveries, lease))
            .values(
                state="parked" if park else "new",
                due=due,
                note=note,
                tries=deliveries.c.tries + int(counts),
                **leases.FREE,
            )
        )
        await self._db.write(lambda conn: conn.execute(change))

    async def retry_parked(self, since: datetime, now: datetime) -> int:
        """Try the parked deliveries once more that came since then; return how many there are."""
        parked = text("deliveries.state = 'parked'") & (deliveries.c.received_at >= since)
        change = update(deliveries).where(parked).values(state="new", due=now)
        found: int = (await self._db.write(lambda conn: conn.execute(change))).rowcount
        if found:
            self._wake.poke(Topic.INBOX)
        return found

    async def is_followed(self, lease: leases.Lease, delivery: Delivery) -> bool:
        """Return True if a newer delivery of the same event and subject waits."""
        same = (deliveries.c.subject == delivery.subject) & (deliveries.c.event == delivery.event)
        newer = select(deliveries.c.seq).where(same, _NEW, deliveries.c.seq > int(lease.key))
        return await self._db.read(lambda conn: conn.scalar(newer.limit(1))) is not None

    async def known_guids(self, guids: tuple[str, ...]) -> frozenset[str]:
        """Return those of the deliveries that are stored."""
        known: set[str] = set()

        async def work(conn: DbConnection) -> frozenset[str]:
            for start in range(0, len(guids), _CHUNK):
                part = guids[start : start + _CHUNK]
                query = select(deliveries.c.guid).where(deliveries.c.guid.in_(part))
                known.update(await conn.scalars(query))
            return frozenset(known)

        return await self._db.read(work)


async def finish_delivery(conn: DbConnection, lease: leases.Lease, note: str) -> bool:
    """Mark a claimed delivery done, and drop its body; False: the lease was lost."""
    row = {"state": "done", "note": note, "body": None, **leases.FREE}
    done = await conn.execute(_finish(), {**row, **leases.held_parameters(lease, int(lease.key))})
    return done.rowcount == 1


@cache
def _finish() -> Update:
    return update(deliveries).where(leases.still_held(deliveries, deliveries.c.seq))
