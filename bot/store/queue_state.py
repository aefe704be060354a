"""Reads the state of a repository's queue, from which the scheduler chooses the next run."""

from collections import defaultdict
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Select,
    case,
    exists,
    func,
    select,
    text,
    type_coerce,
    union_all,
)

from bot.core.model.ids import RepoId, RunId
from bot.core.model.queue import Alternatives, label_resource
from bot.core.model.runs import Rank, Run, State
from bot.core.queue.state import Holder, Pause, PendingRun, QueueState, limits_of
from bot.core.queue.usage import WINDOW, Spent, Usage, spent
from bot.store.columns import microseconds
from bot.store.database import DbConnection
from bot.store.prepared import prepared
from bot.store.queue_memory import read_queue, run_author
from bot.store.rows import OPEN_RUN, load_all, load_found
from bot.store.tables import claimants, holds, pauses, queue, runs, workflow_jobs

FORGOTTEN = timedelta(hours=24)  # a job whose end was not reported no longer occupies its label
_USUAL_OF = 300  # latest successes that the suites' usual times are taken from
_HOUR = timedelta(hours=1) // timedelta(microseconds=1)
_USUAL_SINCE = timedelta(days=30)


async def read_queue_state(conn: DbConnection, repo_id: RepoId, now: datetime) -> QueueState:
    """Return the runs that hold resources and that wait in a repository, and their limits."""
    waiting, holders = await read_queue(conn, repo_id)
    return QueueState(
        now=now,
        waiting=waiting,
        holders=holders,
        occupied=await _occupied(conn, repo_id, now),
        pauses=await load_all(conn, Pause, pauses),
        spent=await _spent(conn, repo_id, now, waiting),
        usual=await _usual(conn, repo_id, now),
    )


async def read_free_state(
    conn: DbConnection, pending: PendingRun, repo_id: RepoId, now: datetime
) -> QueueState | None:
    """Return a state for a run that waits alone; None if others wait.

    It has sums in place of the runs that go, and counts all jobs as those of others: whatever a run
    gets by it, it gets by the whole state. A repository with thousands of runs is read at the same
    cost as one with few.
    """
    if await conn.scalar(*_others_wait(repo_id, pending.run_id)):
        return None
    names = sorted({need.resource for needs in pending.needs for need in needs})
    number = pending.number
    going = await conn.scalar(
        *(_going_apart(repo_id) if number is None else _going(repo_id, number))
    )
    own = Holder(RunId(""), "", now, (), pending.number)
    sums = Holder(RunId(""), "", now, await _sums(conn, repo_id, names))
    return QueueState(
        now=now,
        waiting=(pending,),
        holders=(sums, *[own] * (going or 0)),
        occupied=await _jobs(conn, repo_id, names),
        pauses=await load_all(conn, Pause, pauses),
        spent=Spent(await hours_used(conn, repo_id, now)),
    )


@prepared
def _others_wait(repo_id: RepoId, run_id: RunId) -> Select[Any]:
    return select(exists().where(queue.c.repo_id == repo_id, queue.c.run_id != run_id))


@prepared
def _going(repo_id: RepoId, number: int) -> Select[Any]:
    """Return the query that counts the runs of a pull request that hold something."""
    return _count_going(repo_id, runs.c.number == number)


@prepared
def _going_apart(repo_id: RepoId) -> Select[Any]:
    """Return the query that counts those of no pull request."""
    return _count_going(repo_id, runs.c.number.is_(None))


def _count_going(repo_id: RepoId, which: ColumnElement[bool]) -> Select[Any]:
    holding = exists().where(holds.c.run_id == runs.c.id)
    return select(func.count()).where(runs.c.repo_id == repo_id, which, OPEN_RUN, holding)


async def _sums(
    conn: DbConnection, repo_id: RepoId, names: list[str]
) -> tuple[tuple[str, int], ...]:
    """Return how much of each resource is held."""
    found = await conn.execute(*_sums_of(repo_id, names))
    return tuple((name, int(amount)) for name, amount in found)


@prepared
def _sums_of(repo_id: RepoId, names: list[str]) -> Select[Any]:
    return (
        select(holds.c.resource, func.sum(holds.c.amount))
        .where(holds.c.repo_id == repo_id, holds.c.resource.in_(names))
        .group_by(holds.c.resource)
    )


async def _jobs(conn: DbConnection, repo_id: RepoId, names: list[str]) -> dict[str, int]:
    """Count all jobs that run on each label, ours too."""
    labels = [name.removeprefix("label:") for name in names if name.startswith("label:")]
    found = await conn.execute(*_jobs_on(repo_id, labels))
    return {f"label:{label}": count for label, count in found}


@prepared
def _jobs_on(repo_id: RepoId, labels: list[str]) -> Select[Any]:
    return (
        select(workflow_jobs.c.label, func.count())
        .where(
            workflow_jobs.c.repo_id == repo_id,
            workflow_jobs.c.label.in_(labels),
            workflow_jobs.c.state == "in_progress",
        )
        .group_by(workflow_jobs.c.label)
    )


async def hours_used(conn: DbConnection, repo_id: RepoId, now: datetime) -> float:
    """Return the NPU-hours of the last 24 hours, as ``spent`` adds them up."""
    found = (await conn.execute(*_total_used(repo_id, *_window(now)))).one()
    return float(sum(found)) / _HOUR


def _window(now: datetime) -> tuple[datetime, int, int]:
    """Return the window's begin, and its end and begin in microseconds."""
    since = now - WINDOW
    return since, microseconds(now), microseconds(since)


@prepared
def _total_used(repo_id: RepoId, since: datetime, last: int, first: int) -> Select[Any]:
    used, recent = _used(repo_id, since, last, first)
    total = func.coalesce(func.sum(used), 0)
    return select(*(select(total).where(*where).scalar_subquery() for where in recent))


def _used(
    repo_id: RepoId, since: datetime, end_at: int, start_at: int
) -> tuple[ColumnElement[int], tuple[tuple[Any, ...], ...]]:
    """Return SQL for a run's NPU-microseconds of the window, and for both kinds of its runs."""
    end, start, last, first = (
        type_coerce(value, BigInteger)
        for value in (runs.c.ended_at, runs.c.started_at, end_at, start_at)
    )
    span = case((end < last, end), else_=last) - case((start > first, start), else_=first)
    used = (runs.c.repo_id == repo_id, text("npus > 0"), runs.c.started_at.is_not(None))
    going, ended = runs.c.ended_at.is_(None), runs.c.ended_at > since
    return case((span > 0, span * runs.c.npus), else_=0), ((*used, going), (*used, ended))


@prepared
def _used_by_pull(repo_id: RepoId, since: datetime, last: int, first: int) -> CompoundSelect[Any]:
    used, recent = _used(repo_id, since, last, first)
    return union_all(
        *(
            select(runs.c.number, run_author, func.sum(used))
            .where(*where)
            .group_by(runs.c.repo_id, runs.c.number)
            for where in recent
        )
    )


async def pending_of(conn: DbConnection, run: Run, needs: Alternatives) -> PendingRun:
    """Return a run as a pending one; its class is the best of its claimants."""
    rank = await conn.scalar(*_best_rank(run.id))
    author = await conn.scalar(*_author_of(run.id))
    return PendingRun(
        run_id=run.id,
        suite=run.suite,
        since=run.created_at,
        rank=Rank.AUTOMATIC if rank is None else rank,
        needs=needs,
        number=run.number,
        author=author or 0,
        limits=limits_of(run),
    )


@prepared
def _best_rank(run_id: RunId) -> Select[Any]:
    return select(func.min(claimants.c.rank)).where(claimants.c.run_id == run_id)


@prepared
def _author_of(run_id: RunId) -> Select[Any]:
    return select(run_author).where(runs.c.id == run_id)


async def _occupied(conn: DbConnection, repo_id: RepoId, now: datetime) -> dict[str, int]:
    """Count the jobs of others that run on each label."""
    found = await conn.execute(*_jobs_of_others(repo_id, now - FORGOTTEN))
    return {label_resource(label): count for label, count in found}


@prepared
def _jobs_of_others(repo_id: RepoId, since: datetime) -> Select[Any]:
    ours = (
        select(runs.c.actions_run_id)
        .join(holds, holds.c.run_id == runs.c.id)
        .where(runs.c.repo_id == repo_id, runs.c.actions_run_id.is_not(None))
    )
    return (
        select(workflow_jobs.c.label, func.count())
        .where(
            workflow_jobs.c.repo_id == repo_id,
            workflow_jobs.c.state == "in_progress",
            workflow_jobs.c.at > since,
            workflow_jobs.c.actions_run_id.not_in(ours),
        )
        .group_by(workflow_jobs.c.label)
    )


async def _spent(
    conn: DbConnection, repo_id: RepoId, now: datetime, waiting: tuple[PendingRun, ...]
) -> Spent:
    """Return the NPU-hours by sums; each run's own only if a limit is reached that ends by them."""
    limits = {item.limits.npu_hours for item in waiting} - {None}
    by_pull: defaultdict[int, float] = defaultdict(float)
    by_author: defaultdict[int, float] = defaultdict(float)
    for number, author, used in await conn.execute(*_used_by_pull(repo_id, *_window(now))):
        by_pull[number or 0] += float(used) / _HOUR
        by_author[author] += float(used) / _HOUR
    total = sum(by_pull.values())
    if any(total >= limit for limit in limits if limit is not None):
        return spent(await usages(conn, repo_id, now), now)
    return Spent(total, dict(by_author), dict(by_pull))


async def usages(conn: DbConnection, repo_id: RepoId, now: datetime) -> tuple[Usage, ...]:
    """Return the runs that used NPUs within the last 24 hours."""
    return await load_found(conn, Usage, *_usages_since(repo_id, now - WINDOW))


@prepared
def _usages_since(repo_id: RepoId, since: datetime) -> Select[Any]:
    recent = (runs.c.state != State.DONE) | (runs.c.ended_at > since)
    return select(
        runs.c.npus, runs.c.started_at, runs.c.ended_at, runs.c.number, run_author.label("author")
    ).where(runs.c.repo_id == repo_id, runs.c.npus > 0, runs.c.started_at.is_not(None), recent)


async def _usual(conn: DbConnection, repo_id: RepoId, now: datetime) -> dict[str, timedelta]:
    """Return each suite's usual time: the median of its latest successes."""
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for suite, started_at, ended_at in await conn.execute(
        *_latest_successes(repo_id, now - _USUAL_SINCE)
    ):
        seconds[suite].append((ended_at - started_at).total_seconds())
    return {suite: timedelta(seconds=median(acquired)) for suite, acquired in seconds.items()}


@prepared
def _latest_successes(repo_id: RepoId, since: datetime) -> Select[Any]:
    return (
        select(runs.c.suite, runs.c.started_at, runs.c.ended_at)
        .where(
            runs.c.repo_id == repo_id,
            text("outcome = 'success'"),  # as its index says
            runs.c.started_at.is_not(None),
            runs.c.ended_at > since,
        )
        .order_by(runs.c.ended_at.desc())
        .limit(_USUAL_OF)
    )
