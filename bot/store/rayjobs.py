"""RayJobs under the follower's lease; those of a done run are never claimed nor written."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import RowMapping, Select, exists, or_, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from bot.core.model.ids import RepoId, RunId
from bot.core.model.rayjobs import RayJob
from bot.core.model.repos import Repo
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Run
from bot.ports.wake import Topic
from bot.store import leases
from bot.store.check_rows import bump_progress
from bot.store.database import DbConnection, Part, all_scalars
from bot.store.rows import OPEN_RUN, load, load_repos, load_runs, values
from bot.store.run_rows import add_run_events, poke_runs
from bot.store.tables import rayjobs, runs

_KEYS = ("run_id", "job_id")


@dataclass(frozen=True, slots=True)
class ClaimedRayJob:
    """A RayJob under our lease, the run it belongs to, and its repository."""

    lease: leases.Lease
    rayjob: RayJob
    run: Run
    repo: Repo


@dataclass(frozen=True, slots=True)
class SaveRayJob:
    """A RayJob's next row."""

    rayjob: RayJob
    run_events: tuple[RunEvent, ...] = ()
    poke: bool = False  # make the run due
    progress: bool = False  # bump its check run, shown when its interval allows
    keep_s: float | None = None  # prolong the lease by so much; None: give it back until due
    due: datetime | None = None  # None with keep_s None: nothing more to do


def due_rayjobs() -> Select[Any]:
    """Return the query of due RayJobs that are not complete, longest due first."""
    of_open_run = exists().where(runs.c.id == rayjobs.c.run_id, OPEN_RUN)
    return (
        select(rayjobs.c.run_id, rayjobs.c.job_id)
        .where(rayjobs.c.due <= leases.AT, rayjobs.c.lease_until <= leases.AT, of_open_run)
        .where(~rayjobs.c.complete)
        .order_by(rayjobs.c.due, rayjobs.c.run_id, rayjobs.c.job_id)
    )


@cache
def _claim() -> ReturningUpdate[Any]:
    found = leases.lock_first(rayjobs, due_rayjobs())
    chosen = exists().where(found.c.run_id == rayjobs.c.run_id, found.c.job_id == rayjobs.c.job_id)
    return update(rayjobs).where(chosen).values(leases.lease_columns(rayjobs)).returning(*rayjobs.c)


class RayJobs(Part):
    """Claims and saves RayJobs."""

    async def claim(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[ClaimedRayJob, ...]:
        """Claim due RayJobs that are not complete and whose run is not done, longest due first."""
        asked = leases.claim_parameters(owner, now, lease_s=lease_s, limit=limit)

        async def work(conn: DbConnection) -> tuple[ClaimedRayJob, ...]:
            rows = (await conn.execute(_claim(), asked)).mappings().all()
            if not rows:
                return ()
            found = await load_runs(conn, runs.c.id.in_({row["run_id"] for row in rows}))
            known = {run.id: run for run in found}
            repos = await load_repos(conn, {run.repo_id for run in found})
            return tuple(
                _claimed(row, known[row["run_id"]], repos)
                for row in sorted(rows, key=lambda row: (row["due"], _key_of(row)))
            )

        return await self._db.write(work)

    async def rivals(
        self, of: RayJob, repo_id: RepoId, *, elsewhere: bool = False
    ) -> tuple[RunId, ...]:
        """Return the other runs that name this RayJob: open ones, and any of another repository.

        With ``elsewhere`` return only those of other repositories.
        """
        foreign = runs.c.repo_id != repo_id
        query = (
            select(runs.c.id)
            .join(rayjobs, rayjobs.c.run_id == runs.c.id)
            .where(rayjobs.c.job_id == of.job_id, runs.c.id != of.run_id)
            .where(foreign if elsewhere else or_(foreign, OPEN_RUN))
        )
        return await self._db.read(lambda conn: all_scalars(conn, query))

    async def save(self, lease: leases.Lease, save: SaveRayJob, now: datetime) -> bool:
        """Write it, fenced; False: the lease was lost or the run is done: stop reading."""
        job = save.rayjob
        if lease.key != _key(job.run_id, job.job_id):
            return False
        changed = {name: value for name, value in values(job).items() if name not in _KEYS}

        async def work(conn: DbConnection) -> bool:
            open_run = select(runs.c.id).where(runs.c.id == job.run_id, OPEN_RUN)
            if (await conn.execute(open_run.with_for_update())).first() is None:
                return False
            written = await conn.execute(
                update(rayjobs)
                .where(rayjobs.c.run_id == job.run_id, rayjobs.c.job_id == job.job_id)
                .where(leases.held(rayjobs, lease))
                .values(**changed, **_next(save, now))
            )
            if written.rowcount == 0:
                return False
            await add_run_events(conn, save.run_events)
            if save.poke:
                await poke_runs(conn, {job.run_id}, now)
            if save.progress:
                await bump_progress(conn, job.run_id, now)
            return True

        saved = await self._db.write(work)
        if saved:
            chosen = ((Topic.RUNNER, save.poke), (Topic.REPORTER, save.progress))
            self._wake.poke(*(topic for topic, wanted in chosen if wanted))
        return saved


def _claimed(row: RowMapping, run: Run, repos: dict[RepoId, Repo]) -> ClaimedRayJob:
    lease = leases.lease_of(row, _key_of(row))
    return ClaimedRayJob(lease, load(RayJob, row), run, repos[run.repo_id])


def _key(run_id: str, job_id: str) -> str:
    return f"{run_id}/{job_id}"


def _key_of(row: RowMapping) -> str:
    return _key(row["run_id"], row["job_id"])


def _next(save: SaveRayJob, now: datetime) -> dict[str, Any]:
    """Return the lease's and due's columns: kept and prolonged, or given back until due."""
    if save.keep_s is not None:
        return {"lease_until": now + timedelta(seconds=save.keep_s)}
    return {"due": save.due, **leases.FREE}
