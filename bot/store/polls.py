"""Polls: each happens once in its interval, whatever the number of replicas or of restarts."""

from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Select, Update, delete, or_, select, update
from sqlalchemy.sql.dml import ReturningInsert

from bot.store.database import DbConnection, Insert, Part, all_scalars, insert
from bot.store.prepared import prepared
from bot.store.tables import polls

_REPLICA = "replica:"
_WRITER = "writer:"
LIVES_FOR = timedelta(minutes=1)
_KEPT = (
    0.25  # of an equal part, by a replica that has nothing to write: its first writes go at once
)


def write_share(resting: frozenset[str], owner: str, *, is_known: bool) -> float:
    """Return which part of the pace of writes a replica has; of all replicas it is 1 at most.

    ``resting`` are the names of resting polls. Replicas whose writes wait share what the others
    leave, once all know of it: ``is_known``.
    """
    replicas = living(resting, owner)
    writers = _named(_WRITER, resting) & replicas
    equal = 1 / len(replicas)
    if not writers - {owner} and not (is_known and writers):
        return equal
    if owner not in writers or not is_known:
        return _KEPT * equal
    return (1 - _KEPT * equal * len(replicas - writers)) / len(writers)


def living(resting: frozenset[str], owner: str) -> set[str]:
    """Return the names of the replicas that live, the own one with them."""
    return _named(_REPLICA, resting) | {owner}


def _named(kind: str, resting: frozenset[str]) -> set[str]:
    return {name.removeprefix(kind) for name in resting if name.startswith(kind)}


class Polls(Part):
    """Says which replica does a poll."""

    async def resting(self, now: datetime) -> frozenset[str]:
        """Return the polls that are not due: one read, so that idle replicas write nothing."""
        query = select(polls.c.name).where(polls.c.next_at > now)
        return frozenset(await self._db.read(lambda conn: all_scalars(conn, query)))

    async def hurry(self, name: str, at: datetime) -> None:
        """Let a poll be due then, if it would be later."""
        change = update(polls).where(polls.c.name == name, polls.c.next_at > at)
        await self._db.write(lambda conn: conn.execute(change.values(next_at=at)))

    async def hurry_all(self, beginnings: tuple[str, ...], now: datetime) -> None:
        """Make the polls due whose names begin so."""
        named = or_(*(polls.c.name.startswith(word, autoescape=True) for word in beginnings))
        change = update(polls).where(named, polls.c.next_at > now).values(next_at=now)
        await self._db.write(lambda conn: conn.execute(change))

    async def note(self, name: str, at: datetime) -> None:
        """Remember a time, such as that of the last look, also for the next process."""

        async def work(conn: DbConnection) -> None:
            await conn.execute(_note(insert(conn, polls)), {"name": name, "next_at": at})

        await self._db.write(work)

    async def announce(self, owner: str, now: datetime, *, writes_wait: bool) -> None:
        """Note that a replica lives, and perhaps that its writes wait; it counts for a minute."""
        for kind in (_REPLICA, _WRITER) if writes_wait else (_REPLICA,):
            await self.note(f"{kind}{owner}", now + LIVES_FOR)

    async def prune(self, before: datetime) -> None:
        """Forget the replicas that lived last before then."""
        named = or_(polls.c.name.startswith(_REPLICA), polls.c.name.startswith(_WRITER))
        gone = named & (polls.c.next_at < before)
        await self._db.write(lambda conn: conn.execute(delete(polls).where(gone)))

    async def noted(self, name: str) -> datetime | None:
        """Return a remembered time, None if there is none."""
        found = await self._db.read(lambda conn: all_scalars(conn, *_noted(name)))
        return found[0] if found else None

    async def take(self, name: str, now: datetime, *, every_s: float) -> bool:
        """Take the poll and return True if it is due and no other replica took it."""
        following = now + timedelta(seconds=every_s)

        async def work(conn: DbConnection) -> bool:
            if (await conn.execute(*_take_turn(name, now, following))).rowcount == 1:
                return True
            row = {"name": name, "next_at": following}
            return (await conn.execute(_first(insert(conn, polls)), row)).first() is not None

        return await self._db.write(work)


@cache
def _note(query: Insert) -> Insert:
    its = {"next_at": query.excluded.next_at}
    return query.on_conflict_do_update(index_elements=["name"], set_=its)


@prepared
def _noted(name: str) -> Select[Any]:
    return select(polls.c.next_at).where(polls.c.name == name)


@prepared
def _take_turn(name: str, now: datetime, following: datetime) -> Update:
    its = (polls.c.name == name) & (polls.c.next_at <= now)
    return update(polls).where(its).values(next_at=following)


@cache
def _first(query: Insert) -> ReturningInsert[Any]:
    return query.on_conflict_do_nothing().returning(polls.c.name)
