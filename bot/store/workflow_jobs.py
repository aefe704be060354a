"""Jobs of GitHub Actions by runner label: which labels are occupied, and which look offline."""

from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Update, case, delete, exists, func, select, update
from sqlalchemy.sql.dml import ReturningInsert

from bot.core.model.ids import RepoId
from bot.core.model.queue import label_resource
from bot.core.model.runs import State
from bot.core.runs.offline import OFFLINE_AFTER, JobSeen, JobState, OfflineLabel, offline
from bot.ports.wake import Topic
from bot.store.database import DbConnection, Insert, Part, insert
from bot.store.prepared import prepared
from bot.store.queue import lock_queue, poke_waiting
from bot.store.queue_state import FORGOTTEN
from bot.store.rows import OPEN_RUN
from bot.store.tables import holds, queue, repos, runs, workflow_jobs

KEPT = timedelta(hours=48)
_NAMES = {state: state.name.lower() for state in JobState}
_RANK = case({name: state.value for state, name in _NAMES.items()}, value=workflow_jobs.c.state)


class WorkflowJobs(Part):
    """Stores the jobs of GitHub Actions."""

    async def put(self, seen: JobSeen, now: datetime) -> None:
        """Write a job's state, never an earlier one; its end pokes runs that wait for its labels.

        Two transactions: a job's row is never locked together with a queue and runs.
        """
        if not seen.labels:
            return
        changed = await self._db.write(lambda conn: _put(conn, seen))
        if not changed or seen.state < JobState.COMPLETED:
            return
        if await self._db.write(lambda conn: _poke_waiting(conn, seen, set(changed), now)):
            self._wake.poke(Topic.RUNNER)

    async def offline_label(
        self, repo_id: RepoId, label: str, waits_since: datetime, now: datetime
    ) -> OfflineLabel | None:
        """Return the label if it looks offline to a run that waits for it since then."""
        if now - waits_since < OFFLINE_AFTER:
            return None
        return await self._db.read(
            lambda conn: _offline_label(conn, repo_id, label, waits_since, now)
        )

    async def prune(self, now: datetime) -> None:
        """Delete jobs without news for two days."""
        old = delete(workflow_jobs).where(workflow_jobs.c.at < now - KEPT)
        await self._db.write(lambda conn: conn.execute(old))


async def _put(conn: DbConnection, seen: JobSeen) -> list[str]:
    """Write one row a label; return the labels on which the job has moved."""
    rows = [
        {
            "job_id": seen.job_id,
            "label": label,
            "repo_id": seen.repo_id,
            "actions_run_id": seen.actions_run_id,
            "state": _NAMES[seen.state],
            "at": seen.at,
        }
        for label in sorted(seen.labels)
    ]
    query = _put_job(insert(conn, workflow_jobs), seen.state)
    return [label for row in rows for label in await conn.scalars(query, row)]


@cache
def _put_job(base: Insert, state: JobState) -> ReturningInsert[Any]:
    """Return the insert of a job; a known one moves to a later state only."""
    return base.on_conflict_do_update(
        index_elements=["job_id", "label"],
        set_={"state": base.excluded.state, "at": base.excluded.at},
        where=state.value > _RANK,
    ).returning(workflow_jobs.c.label)


async def _poke_waiting(conn: DbConnection, seen: JobSeen, labels: set[str], now: datetime) -> bool:
    """Poke waiting runs, if there are any; a job of our own run releases nothing yet."""
    if not await conn.scalar(*_waits_for_others(seen.repo_id, seen.actions_run_id)):
        return False
    await lock_queue(conn, seen.repo_id)
    await poke_waiting(conn, seen.repo_id, set(map(label_resource, labels)), now)
    return True


@prepared
def _waits_for_others(repo_id: RepoId, actions_run_id: int) -> Select[Any]:
    waits = exists().where(queue.c.repo_id == repo_id)
    ours = exists().where(holds.c.run_id == runs.c.id, runs.c.actions_run_id == actions_run_id)
    return select(waits & ~ours)


async def end_jobs(conn: DbConnection, repo_id: RepoId, actions_run_id: int) -> None:
    """Mark every job of an ended Actions run as completed."""
    await conn.execute(*_end_jobs(repo_id, actions_run_id))


@prepared
def _end_jobs(repo_id: RepoId, actions_run_id: int) -> Update:
    return (
        update(workflow_jobs)
        .where(
            workflow_jobs.c.repo_id == repo_id,
            workflow_jobs.c.actions_run_id == actions_run_id,
            workflow_jobs.c.state.in_([_NAMES[JobState.QUEUED], _NAMES[JobState.IN_PROGRESS]]),
        )
        .values(state=_NAMES[JobState.COMPLETED])
    )


async def read_offline_labels(
    conn: DbConnection, now: datetime
) -> tuple[tuple[RepoId, OfflineLabel], ...]:
    """Return the labels that look offline, each once a repository."""
    waiting = (
        select(runs.c.repo_id, runs.c.label, func.min(runs.c.dispatched_at).label("since"))
        .where(
            OPEN_RUN,
            runs.c.state == State.WAITING_FOR_RUNNER,
            runs.c.label.is_not(None),
            runs.c.dispatched_at <= now - OFFLINE_AFTER,
        )
        .group_by(runs.c.repo_id, runs.c.label)
        .order_by(runs.c.repo_id, runs.c.label)
    )
    found = []
    for repo_id, label, since in (await conn.execute(waiting)).all():
        item = await _offline_label(conn, repo_id, label, since, now)
        if item:
            found.append((repo_id, item))
    return tuple(found)


async def _offline_label(
    conn: DbConnection, repo_id: RepoId, label: str, since: datetime, now: datetime
) -> OfflineLabel | None:
    """Look at every repository of the owner: an organisation's runners serve all of them."""
    owner = select(repos.c.owner).where(repos.c.id == repo_id).scalar_subquery()
    shared = select(repos.c.id).where(repos.c.owner == owner)
    here = (workflow_jobs.c.label == label.lower()) & workflow_jobs.c.repo_id.in_(shared)
    running = here & (workflow_jobs.c.state == _NAMES[JobState.IN_PROGRESS])
    busy = select(exists().where(running, workflow_jobs.c.at > now - FORGOTTEN))
    began_at = await conn.scalar(select(func.max(workflow_jobs.c.at)).where(here, _began()))
    ours = (func.lower(runs.c.label) == label.lower()) & runs.c.repo_id.in_(shared)
    ours_at = await conn.scalar(select(func.max(runs.c.started_at)).where(ours))
    times = [at for at in (began_at, ours_at) if at]
    return offline(
        label, since, began_at=max(times, default=None), busy=bool(await conn.scalar(busy)), now=now
    )


def _began() -> ColumnElement[bool]:
    """Return SQL for "a runner had the job": the row's time is its start or its end."""
    return workflow_jobs.c.state.in_([_NAMES[JobState.IN_PROGRESS], _NAMES[JobState.COMPLETED]])
