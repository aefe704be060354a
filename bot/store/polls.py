"""Polls: each happens once in its interval, whatever the number of replicas or of restarts."""

from datetime import datetime, timedelta

from sqlalchemy import delete, or_, select, update

from bot.store.database import DbConnection, Part, all_scalars, insert
from bot.store.tables import polls

_REPLICA = "replica:"
_LIVES_FOR = timedelta(minutes=1)


def living(resting: frozenset[str]) -> int:
    """Return how many replicas the names of resting polls tell of."""
    return sum(name.startswith(_REPLICA) for name in resting)


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
            row = insert(conn, polls).values(name=name, next_at=at)
            again = row.on_conflict_do_update(index_elements=["name"], set_={"next_at": at})
            await conn.execute(again)

        await self._db.write(work)

    async def announce(self, owner: str, now: datetime) -> None:
        """Note that a replica lives: ``living`` counts it for a minute."""
        await self.note(f"{_REPLICA}{owner}", now + _LIVES_FOR)

    async def prune(self, before: datetime) -> None:
        """Forget the replicas that lived last before then."""
        gone = polls.c.name.startswith(_REPLICA) & (polls.c.next_at < before)
        await self._db.write(lambda conn: conn.execute(delete(polls).where(gone)))

    async def noted(self, name: str) -> datetime | None:
        """Return a remembered time, None if there is none."""
        query = select(polls.c.next_at).where(polls.c.name == name)
        found = await self._db.read(lambda conn: all_scalars(conn, query))
        return found[0] if found else None

    async def take(self, name: str, now: datetime, *, every_s: float) -> bool:
        """Take the poll and return True if it is due and no other replica took it."""
        following = now + timedelta(seconds=every_s)
        turn = update(polls).where(polls.c.name == name, polls.c.next_at <= now)

        async def work(conn: DbConnection) -> bool:
            if (await conn.execute(turn.values(next_at=following))).rowcount == 1:
                return True
            first = insert(conn, polls).values(name=name, next_at=following)
            made = await conn.execute(first.on_conflict_do_nothing().returning(polls.c.name))
            return made.first() is not None

        return await self._db.write(work)
