"""Runs under a lease: claimed when due, saved fenced, poked by whoever has news."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Update, bindparam, case, exists, func, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from bot.core.model.ids import RunId
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import RunEvent, StartedByGitHub, WorkflowRunEnded
from bot.core.model.runs import Claimant, Outcome, Run, State, StopReason
from bot.core.planning.plan import AuditEntry
from bot.ports.wake import Topic
from bot.store import leases, run_rows
from bot.store.audit import add_audit
from bot.store.check_rows import bump_progress, bump_replies, bump_state
from bot.store.columns import Time
from bot.store.database import DbConnection
from bot.store.prepared import prepared
from bot.store.queue import lock_queue, release
from bot.store.rows import load, load_by_run, load_claimants, values
from bot.store.run_reads import RunReads
from bot.store.tables import claimants, rayjobs, run_events, runs
from bot.store.workflow_jobs import end_jobs

# What identifies a run or was decided when it was made; a save never changes it.
_FIXED = (
    *("id", "repo_id", "sha", "suite", "attempt", "snapshot", "created_at", "origin", "forced"),
    "mistaken",
)


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run under our lease with everything its next step depends on."""

    lease: leases.Lease
    run: Run
    claimants: tuple[Claimant, ...]
    run_events: tuple[RunEvent, ...]
    rayjobs: tuple[RayJob, ...]


@dataclass(frozen=True, slots=True)
class SaveRun:
    """A run's next row; the end of a run, its next attempt and its releases go together."""

    run: Run
    due: datetime | None  # None: nothing to do until poked
    run_events: tuple[RunEvent, ...] = ()
    rayjobs: tuple[RayJob, ...] = ()  # seen for the first time; known ones do not change
    release: tuple[str, ...] = ()  # resources given back
    release_all: bool = False  # every hold, and the place in the queue
    retry: Run | None = None  # attempt n + 1, takes over the claimants
    audit: tuple[AuditEntry, ...] = ()
    show: bool = False  # the check run and the gate changed
    was_done: bool = False  # before this: what it left is being cleaned up
    news: bool = False  # with `show`: the gate's table shows it at once, too
    progress: bool = False  # only the progress changed: shown when its interval allows

    @property
    def ends(self) -> bool:
        """Return True if the run is done with this."""
        return self.run.state is State.DONE and not self.was_done


def due_runs() -> Select[Any]:
    """Return the query of due runs, longest due first; of done ones those that clean up."""
    return (
        select(runs.c.id)
        .where(runs.c.due <= leases.AT, runs.c.lease_until <= leases.AT)
        .order_by(runs.c.due, runs.c.id)
    )


@cache
def _claim() -> ReturningUpdate[Any]:
    return leases.claim_statement(runs, due_runs())


class Runs(RunReads):
    """Reads, claims and saves runs."""

    async def claim(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[ClaimedRun, ...]:
        """Claim due runs, longest due first."""
        asked = leases.claim_parameters(owner, now, lease_s=lease_s, limit=limit)

        async def work(conn: DbConnection) -> tuple[ClaimedRun, ...]:
            rows = (await conn.execute(_claim(), asked)).mappings().all()
            ids = [row["id"] for row in rows]
            if not ids:
                return ()
            wanted = await load_claimants(conn, ids)
            story = await load_by_run(conn, RunEvent, run_events, ids)
            jobs = await load_by_run(conn, RayJob, rayjobs, ids)
            return tuple(
                ClaimedRun(
                    lease=leases.lease_of(row, row["id"]),
                    run=load(Run, row),
                    claimants=wanted.get(row["id"], ()),
                    run_events=story.get(row["id"], ()),
                    rayjobs=jobs.get(row["id"], ()),
                )
                for row in sorted(rows, key=lambda row: (row["due"], row["id"]))
            )

        return await self._db.write(work)

    async def save(self, lease: leases.Lease, save: SaveRun, now: datetime) -> bool:
        """Write it and give the lease back, in one transaction; False: the lease was lost.

        A run that would end superseded but got a claimant meanwhile is not written either: it is
        due again, and its runner then sees the claimant.
        """

        async def work(conn: DbConnection) -> bool:
            if save.release_all or save.release:  # before the run, as ``Queue.acquire`` does
                await lock_queue(conn, save.run.repo_id)
            if await _claimed_meanwhile(conn, lease, save):
                await _return_unchanged(conn, lease, now)
                return False
            if not await _write_back(conn, lease, save, now):
                return False
            await _consequences(conn, save, now)
            await add_audit(conn, save.audit)
            return True

        saved = await self._db.write(work)
        if saved:
            self._wake.poke(*_topics(save))
        return saved

    async def note(
        self, lease: leases.Lease, run: Run, run_events: tuple[RunEvent, ...], now: datetime
    ) -> bool:
        """Write the run and events before a call, and keep the lease; False: the lease was lost."""

        async def work(conn: DbConnection) -> bool:
            if not await _write(conn, lease, run):
                return False
            await run_rows.add_run_events(conn, run_events)
            return True

        return await self._db.write(work)

    async def renew(self, lease: leases.Lease, now: datetime, *, lease_s: float) -> bool:
        """Prolong the lease; False: lost."""
        change = (
            update(runs)
            .where(runs.c.id == lease.key, leases.held(runs, lease))
            .values(lease_until=now + timedelta(seconds=lease_s))
        )
        renewed = await self._db.write(lambda conn: conn.execute(change))
        return renewed.rowcount == 1


def _ours(lease: leases.Lease, run: Run) -> ColumnElement[bool]:
    """Return SQL for "the row is the run's, and the lease is the row's and still holds"."""
    return (runs.c.id == run.id) & (runs.c.id == lease.key) & leases.held(runs, lease)


async def _write(conn: DbConnection, lease: leases.Lease, run: Run, **back: Any) -> bool:
    """Write a run's row and what gives it ``back``; False: the lease was lost."""
    row = {name: value for name, value in values(run).items() if name not in _FIXED}
    stop = row.pop("stop_request")
    chosen = bool(stop) and stop.kind is not StopReason.SUPERSEDE
    if chosen:
        stop = await run_rows.stop_request_to_keep(conn, run.id, stop)
    asked = {**leases.held_parameters(lease, lease.key), "of_run": run.id, "stop": stop}
    statement = _written(chosen=chosen, back=bool(back))
    return (await conn.execute(statement, {**row, **asked, **back})).rowcount == 1


@cache
def _written(*, chosen: bool, back: bool) -> Update:
    """Return the update of a run's row under its lease.

    A stop request that came meanwhile stays, unless one was ``chosen``. A poke since the claim
    keeps a run due that is given ``back``; with a next step at once it keeps its place.
    """
    stop: Any = bindparam("stop", type_=runs.c.stop_request.type)
    change = update(runs).where(
        leases.still_held(runs, runs.c.id), runs.c.id == bindparam("of_run")
    )
    change = change.values(
        stop_request=stop if chosen else func.coalesce(runs.c.stop_request, stop)
    )
    if not back:
        return change
    poked = runs.c.pokes != bindparam("pokes_then")
    now, then = bindparam("due_if_poked", type_=Time()), bindparam("due_then", type_=Time())
    at_once = (then <= now) & (runs.c.due < then)
    return change.values(due=case((poked, now), (at_once, runs.c.due), else_=then))


async def _claimed_meanwhile(conn: DbConnection, lease: leases.Lease, save: SaveRun) -> bool:
    if save.run.outcome is not Outcome.SUPERSEDED or save.retry is not None:
        return False
    query = select(runs.c.id).where(
        _ours(lease, save.run),
        runs.c.pokes != lease.pokes,
        exists().where(claimants.c.run_id == runs.c.id),
    )
    return (await conn.execute(query.with_for_update())).first() is not None


async def _return_unchanged(conn: DbConnection, lease: leases.Lease, now: datetime) -> None:
    await conn.execute(update(runs).where(runs.c.id == lease.key).values(due=now, **leases.FREE))


async def _write_back(
    conn: DbConnection, lease: leases.Lease, save: SaveRun, now: datetime
) -> bool:
    """Write the row and give the lease back; a poke since the claim keeps it due."""
    over = save.run.state is State.DONE and save.due is None
    due = {"due_if_poked": None if over else now, "due_then": save.due}
    return await _write(conn, lease, save.run, pokes_then=lease.pokes, **due, **leases.FREE)


async def _consequences(conn: DbConnection, save: SaveRun, now: datetime) -> None:
    """Write the other rows of a save: events, RayJobs, holds, the retry, checks and replies."""
    run = save.run
    await run_rows.add_run_events(conn, save.run_events)
    await run_rows.add_rayjobs(conn, save.rayjobs, now)
    told = [type(run_event.what) for run_event in save.run_events]
    if StartedByGitHub in told:  # only now it is known which jobs are the suite's
        await conn.execute(update(runs).where(runs.c.id == run.id).values(snapshot=run.snapshot))
    if run.actions_run_id is not None and WorkflowRunEnded in told and not run.snapshot.suite.jobs:
        await end_jobs(conn, run.repo_id, run.actions_run_id)
    if save.release_all or save.release:
        names = None if save.release_all else save.release
        await release(conn, run.repo_id, run.id, names, now)
    successor = None if save.retry is None else await _retry(conn, run.id, save.retry, now)
    if save.ends:
        await conn.execute(*_rayjobs_rest(run.id))
        await bump_replies(conn, run.id, successor, now)
    if save.show or save.ends:
        await bump_state(conn, run, now, news=save.news)
    elif save.progress:
        await bump_progress(conn, run.id, now)


@prepared
def _rayjobs_rest(run_id: RunId) -> Update:
    return update(rayjobs).where(rayjobs.c.run_id == run_id).values(due=None)


async def _retry(conn: DbConnection, run_id: RunId, retry: Run, now: datetime) -> RunId:
    """Insert the next attempt with the claimants of the last; an open run gets them instead."""
    placed = await run_rows.place_run(conn, retry, now)
    wanted = await load_claimants(conn, [run_id])
    copied = [replace(claimant, run_id=placed) for claimant in wanted.get(run_id, ())]
    await run_rows.add_claimants(conn, copied, now)
    return placed


def _topics(save: SaveRun) -> tuple[Topic, ...]:
    chosen = (
        (Topic.RUNNER, bool(save.release or save.release_all or save.retry)),
        (Topic.FOLLOWER, bool(save.rayjobs)),
        (Topic.REPORTER, save.show or save.progress or save.ends or save.retry is not None),
    )
    return tuple(topic for topic, wanted in chosen if wanted)
