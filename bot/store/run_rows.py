"""Changing runs' rows inside a transaction: making, claiming, stopping and poking them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Executable, Select, Update, bindparam, case, delete, func, select, update
from sqlalchemy.sql.dml import ReturningInsert

from bot.core.messages import Message
from bot.core.model.ids import RunId
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Claimant, Outcome, Run, State, StopReason, StopRequest
from bot.core.planning.plan import DropClaimant
from bot.ports.errors import Transient
from bot.store.check_rows import add_run_check, bump_state
from bot.store.columns import Time
from bot.store.database import DbConnection, Insert, insert, insert_unless_there
from bot.store.leases import FREE
from bot.store.prepared import prepared
from bot.store.rows import load, values
from bot.store.tables import claimants, rayjobs, run_events, runs

# Two commits may race for a suite's open run or its next attempt number; each round one wins.
_TRIES = 20


async def lock_runs(conn: DbConnection, run_ids: set[RunId]) -> set[RunId]:
    """Lock runs in the order of their ids, so that two transactions can't wait for each other.

    Returns those that there are: others were pruned since they were read.
    """
    if not run_ids:
        return set()
    return {RunId(run_id) for run_id in await conn.scalars(*_locked(tuple(run_ids)))}


@prepared
def _locked(run_ids: Sequence[RunId]) -> Select[Any]:
    query = select(runs.c.id).where(runs.c.id.in_(run_ids)).order_by(runs.c.id)
    return query.with_for_update()


async def refuse_superseded(conn: DbConnection, run_ids: set[RunId]) -> None:
    """Raise ``Transient`` if one of these locked runs ended superseded: nobody would start anew."""
    if run_ids and (await conn.scalar(*_superseded(tuple(run_ids)))):
        msg = "a run that should go on was superseded meanwhile"
        raise Transient(msg)


@prepared
def _superseded(run_ids: Sequence[RunId]) -> Select[Any]:
    ended = (runs.c.state == State.DONE) & (runs.c.outcome == Outcome.SUPERSEDED)
    return select(runs.c.id).where(runs.c.id.in_(run_ids), ended)


async def place_run(conn: DbConnection, run: Run, now: datetime) -> RunId:
    """Insert a run, due now, or return the open run of its (repository, SHA, suite, essence)."""
    same = (runs.c.repo_id == run.repo_id) & (runs.c.sha == run.sha) & (runs.c.suite == run.suite)
    attempt, essence = run.attempt, run.snapshot.essence
    kept = {"essence": essence, "native": run.snapshot.native}
    for _ in range(_TRIES):
        row = {**values(run), **kept, "attempt": attempt, "due": now}
        made = await conn.execute(_put_run(insert(conn, runs)), row)
        if made.first() is not None:
            await add_run_check(conn, run, now)
            return run.id
        is_open = (runs.c.essence == essence) & (runs.c.state != State.DONE)
        acquired = select(runs.c.id).where(same, is_open).with_for_update()
        holder = (await conn.execute(acquired)).scalar()
        if holder is not None:
            return RunId(holder)
        highest = await conn.scalar(select(func.max(runs.c.attempt)).where(same))
        attempt = (highest or 0) + 1
    raise RuntimeError(f"run {run.id} ({run.suite}) finds no place")


@cache
def _put_run(query: Insert) -> ReturningInsert[Any]:
    return query.on_conflict_do_nothing().returning(runs.c.id)


async def add_claimants(conn: DbConnection, added: list[Claimant], now: datetime) -> None:
    """Add claimants and poke their runs. A run that had lost its last claimant goes on."""
    if not added:
        return
    await conn.execute(
        _put_claimant(insert(conn, claimants)), [values(claimant) for claimant in added]
    )
    run_ids = {claimant.run_id for claimant in added}
    await _clear_supersede(conn, run_ids)
    await poke_runs(conn, run_ids, now)


@cache
def _put_claimant(new: Insert) -> Executable:
    """Return the insert of a claimant; a known one may become a person's or gain rank."""
    added, persons = new.excluded, claimants.c.auto & ~new.excluded.auto
    more = {
        "auto": claimants.c.auto & added.auto,
        "by": case((persons, added.by), else_=claimants.c.by),
        "by_id": case((persons, added.by_id), else_=claimants.c.by_id),
        "rank": case((added.rank < claimants.c.rank, added.rank), else_=claimants.c.rank),
    }
    return new.on_conflict_do_update(index_elements=["run_id", "source"], set_=more)


async def _clear_supersede(conn: DbConnection, run_ids: set[RunId]) -> None:
    """Clear the request to supersede of runs that were not dispatched yet.

    The lease is taken away too: a runner that has read the request must not end the run.
    """
    found = await conn.execute(*_stopped_early(tuple(run_ids)))
    cleared = [
        run_id for run_id, stop_request in found if stop_request.kind is StopReason.SUPERSEDE
    ]
    if cleared:
        await conn.execute(
            update(runs)
            .where(runs.c.id.in_(cleared))
            .values(stop_request=None, lease_number=runs.c.lease_number + 1, **FREE)
        )


@prepared
def _stopped_early(run_ids: Sequence[RunId]) -> Select[Any]:
    return select(runs.c.id, runs.c.stop_request).where(
        runs.c.id.in_(run_ids),
        runs.c.stop_request.is_not(None),
        runs.c.state.in_([State.NEEDS_APPROVAL, State.QUEUED]),
    )


async def drop_claimant(conn: DbConnection, drop: DropClaimant, now: datetime) -> None:
    """Delete a claimant of a run; without claimants the run is superseded."""
    its, own = claimants.c.run_id == drop.run_id, claimants.c.source == drop.source
    others = await conn.scalar(select(func.count()).where(its, ~own))
    if drop.stop and not others:
        await request_stop(conn, drop.run_id, drop.stop, now)
        return
    gone = await conn.execute(delete(claimants).where(its, own))
    if gone.rowcount and not others:
        stop_request = StopRequest(kind=StopReason.SUPERSEDE, by="", reason=drop.reason, at=now)
        await request_stop(conn, drop.run_id, stop_request, now)


async def set_apart(conn: DbConnection, run_ids: Collection[RunId]) -> None:
    """Mark runs as mistaken; another one may be open in the place of each."""
    if run_ids:
        change = update(runs).where(runs.c.id.in_(run_ids))
        await conn.execute(change.values(mistaken=True, essence=runs.c.id))


async def give_up_mistaken(conn: DbConnection, run_id: RunId, now: datetime) -> None:
    """Supersede a mistaken run, also one that has ended: its result was another base's."""
    why = Message("run_mistaken")
    await conn.execute(delete(claimants).where(claimants.c.run_id == run_id))
    stop_request = StopRequest(kind=StopReason.SUPERSEDE, by="", reason=why, at=now)
    await request_stop(conn, run_id, stop_request, now)
    ended = (
        update(runs)
        .where(runs.c.id == run_id, runs.c.state == State.DONE)
        .values(outcome=Outcome.SUPERSEDED, why=why)
        .returning(*runs.c)
    )
    row = (await conn.execute(ended)).mappings().first()
    if row is not None:
        await bump_state(conn, load(Run, row), now)


async def request_stop(
    conn: DbConnection, run_id: RunId, stop_request: StopRequest, now: datetime
) -> None:
    """Write a stop request unless an earlier one counts, and poke the run."""
    await conn.execute(
        update(runs)
        .where(runs.c.id == run_id, runs.c.state != State.DONE)
        .values(
            stop_request=await stop_request_to_keep(conn, run_id, stop_request),
            due=now,
            pokes=runs.c.pokes + 1,
        )
    )


async def stop_request_to_keep(
    conn: DbConnection, run_id: RunId, stop_request: StopRequest
) -> StopRequest:
    """Return the stop request that counts: the first, but any other before one to supersede.

    A superseded run can get a new claimant, so it must still be possible to cancel it.
    """
    first: StopRequest | None = await conn.scalar(*_locked_stop_request(run_id))
    return first if first and first.kind is not StopReason.SUPERSEDE else stop_request


@prepared
def _locked_stop_request(run_id: RunId) -> Select[Any]:
    return select(runs.c.stop_request).where(runs.c.id == run_id).with_for_update()


async def add_run_events(conn: DbConnection, added: tuple[RunEvent, ...]) -> set[RunId]:
    """Add new events of stored runs; return the runs that got one."""
    if not added:
        return set()
    run_ids = {one.run_id for one in added}
    run_ids = set(await conn.scalars(*_stored(tuple(run_ids))))
    rows = [{**values(one), "key": one.key} for one in added if one.run_id in run_ids]
    if not rows:
        return set()
    query = _put_event(insert(conn, run_events))
    return set(await conn.scalars(query, rows[0] if len(rows) == 1 else rows))


@prepared
def _stored(run_ids: Sequence[RunId]) -> Select[Any]:
    return select(runs.c.id).where(runs.c.id.in_(run_ids))


@cache
def _put_event(query: Insert) -> ReturningInsert[Any]:
    return query.on_conflict_do_nothing().returning(run_events.c.run_id)


async def poke_runs(
    conn: DbConnection, run_ids: set[RunId], now: datetime, *, first: bool = False
) -> None:
    """Make open runs due and count the poke; an overdue run keeps its due time.

    ``first``: the runs may start or end, so they come before runs that only look again.
    """
    if run_ids:
        await conn.execute(_poke(first=first), {"poked": list(run_ids), "poked_at": now})


@cache
def _poke(*, first: bool) -> Update:
    now = bindparam("poked_at", type_=Time())
    since = runs.c.created_at if first else runs.c.due
    return (
        update(runs)
        .where(runs.c.id.in_(bindparam("poked", expanding=True)), runs.c.state != State.DONE)
        .values(due=case((since < now, since), else_=now), pokes=runs.c.pokes + 1)
    )


async def add_rayjobs(conn: DbConnection, seen: tuple[RayJob, ...], now: datetime) -> None:
    """Add new RayJobs, due now; known ones do not change.

    Another run that names one of them has to prove it anew: its lease ends, so that its reader
    stops within its next save.
    """
    rows = [{**values(job), "due": None if job.complete else now} for job in seen]
    if not rows:
        return
    await conn.execute(insert_unless_there(conn, rayjobs), rows)
    for job in seen:
        await conn.execute(
            update(rayjobs)
            .where(rayjobs.c.job_id == job.job_id, rayjobs.c.run_id != job.run_id)
            .where(~rayjobs.c.complete)
            .values(confirmed=False, due=now, **FREE)
        )
