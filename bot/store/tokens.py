"""Announced RayJobs, and the tokens that proved them: a token proves one RayJob."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select

from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import State
from bot.ports.oidc import Denial, Why
from bot.ports.wake import Topic
from bot.store.database import DbConnection, Part, insert
from bot.store.run_rows import add_rayjobs, add_run_events, poke_runs
from bot.store.tables import rayjobs, runs, tokens

# A replica whose clock is a little behind still accepts a token that has expired here.
_CLOCKS_DIFFER = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Announced:
    """A RayJob to add to its run, and the token that proved it."""

    rayjob: RayJob
    run_events: tuple[RunEvent, ...]
    jti: str
    until: datetime  # the token can't come again later
    most: int  # RayJobs of this run


@dataclass(frozen=True, slots=True)
class Accepted:
    """The announcement counts; ``new`` is False if it told nothing new."""

    new: bool


class Tokens(Part):
    """Takes announced RayJobs and remembers their tokens."""

    async def redeem(self, announced: Announced, now: datetime) -> Accepted | Denial:
        """Add it, due now, poke its run and remember the token, in one transaction.

        A RayJob that is known is accepted and changes nothing, whatever proved it. Refused: the
        token has proved another one, or the run is done.
        """

        async def work(conn: DbConnection) -> Accepted | Denial:
            return await _add(conn, announced, now)

        answer = await self._db.write(work)
        if answer == Accepted(new=True):
            self._wake.poke(Topic.RUNNER, Topic.FOLLOWER)
        return answer

    async def prune(self, now: datetime) -> None:
        """Delete tokens that have expired."""
        over = delete(tokens).where(tokens.c.until < now - _CLOCKS_DIFFER)
        await self._db.write(lambda conn: conn.execute(over))


async def _add(conn: DbConnection, announced: Announced, now: datetime) -> Accepted | Denial:
    job = announced.rayjob
    lock = select(runs.c.state).where(runs.c.id == job.run_id).with_for_update()
    state = await conn.scalar(lock)
    same = select(rayjobs.c.job_id).where(
        rayjobs.c.run_id == job.run_id, rayjobs.c.job_id == job.job_id
    )
    if await conn.scalar(same) is not None:
        return Accepted(new=False)
    if state in {None, State.DONE}:
        return Denial(Why.OVER, "the run is done: no RayJob of it is followed any more")
    named = select(func.count()).select_from(rayjobs).where(rayjobs.c.run_id == job.run_id)
    if (await conn.scalar(named) or 0) >= announced.most:
        reason = f"the run has {announced.most} RayJobs already, which is the most it may name"
        return Denial(Why.TOO_MANY, reason)
    remembered = insert(conn, tokens).values(jti=announced.jti, until=announced.until)
    made = await conn.execute(remembered.on_conflict_do_nothing().returning(tokens.c.jti))
    if made.first() is None:
        return Denial(Why.MISMATCH, "the token has proved another RayJob: ask for a new one")
    await add_rayjobs(conn, (job,), now)
    await add_run_events(conn, announced.run_events)
    await poke_runs(conn, {job.run_id}, now)
    return Accepted(new=True)
