"""Rows for the read API: runs by what people know of them, and a run's whole story."""

import msgspec
from sqlalchemy import ColumnElement, Text, exists, func, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.core.model.ids import RepoId, RunId
from bot.core.model.rayjobs import RayJob
from bot.core.model.repos import Repo
from bot.core.model.run_events import RunEvent
from bot.core.model.runs import Run
from bot.ports.api import ListedRun, RunQuery, RunStory
from bot.store.database import Database
from bot.store.rows import load, load_all, load_by_run, load_claimants, load_runs
from bot.store.tables import checks, claimants, queue, rayjobs, repos, run_events, runs


class ApiRows:
    """Implements ``ApiStore`` and the reading half of ``AnnouncementStore``."""

    _db: Database

    async def run_of_attempt(
        self, repo_id: RepoId, actions_run_id: int, actions_attempt: int
    ) -> Run | None:
        """Return our attempt that is this attempt of an Actions run."""
        async with self._db.read() as conn:
            found = await load_runs(
                conn,
                runs.c.repo_id == repo_id,
                runs.c.actions_run_id == actions_run_id,
                runs.c.actions_attempt == actions_attempt,
            )
        return found[-1] if found else None

    async def list_runs(self, query: RunQuery) -> tuple[ListedRun, ...]:
        """Return runs, newest first: ids grow with time and are the table's own order."""
        chosen = select(runs).where(*_where(query)).order_by(runs.c.id.desc()).limit(query.limit)
        async with self._db.read() as conn:
            found = [load(Run, row) for row in (await conn.execute(chosen)).mappings()]
            known = await _repos(conn, {run.repo_id for run in found})
        return tuple(ListedRun(run, known.get(run.repo_id)) for run in found)

    async def ids_from(self, start: str, *, limit: int) -> tuple[RunId, ...]:
        """Return the ids of runs that begin so, newest first."""
        begins = runs.c.id.startswith(start, autoescape=True)
        query = select(runs.c.id).where(begins).order_by(runs.c.id.desc()).limit(limit)
        async with self._db.read() as conn:
            return tuple(RunId(run_id) for run_id in await conn.scalars(query))

    async def check_of(self, run_id: RunId) -> int | None:
        """Return the number of the check run that shows a run; None: not shown yet."""
        query = (
            select(checks.c.github_id)
            .where(checks.c.run_id == run_id, checks.c.github_id.is_not(None))
            .order_by(checks.c.retired_at.is_not(None), checks.c.touched_at.desc())
            .limit(1)
        )
        async with self._db.read() as conn:
            return await conn.scalar(query)

    async def run_story(self, run_id: RunId) -> RunStory | None:
        """Return a run with its wants, facts and RayJobs; None: there is none."""
        async with self._db.read() as conn:
            found = await load_runs(conn, runs.c.id == run_id)
            if not found:
                return None
            [run] = found
            known = await _repos(conn, {run.repo_id})
            wanted = await load_claimants(conn, [run_id])
            told = await load_by_run(conn, RunEvent, run_events, [run_id])
            jobs = await load_by_run(conn, RayJob, rayjobs, [run_id])
        return RunStory(
            run,
            known.get(run.repo_id),
            wanted.get(run_id, ()),
            told.get(run_id, ()),
            jobs.get(run_id, ()),
        )


def _where(query: RunQuery) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = []
    if query.repo is not None:
        where.append(_in_repo(query.repo))
    if query.sha is not None:
        where.append(runs.c.sha.startswith(query.sha, autoescape=True))
    if query.number is not None:
        source = claimants.c.source == f"pr:{query.number}"
        wanted = exists().where(claimants.c.run_id == runs.c.id, source)
        where.append((runs.c.number == query.number) | wanted)
    if query.state is not None:
        where.append(runs.c.state == query.state)
    if query.label is not None:
        where.append((runs.c.label == query.label) | _waits_for(query.label))
    return where


def _waits_for(label: str) -> ColumnElement[bool]:
    """Tell in SQL whether a run waits for a label: a queue's needs are JSON text."""
    named = msgspec.json.encode(f"label:{label}").decode()
    needs = type_coerce(queue.c.needs, Text).contains(named, autoescape=True)
    return exists().where(queue.c.run_id == runs.c.id, needs)


def _in_repo(repo: str) -> ColumnElement[bool]:
    """Tell in SQL whether a run is of the repository of that number or name."""
    if repo.isdigit():
        return runs.c.repo_id == int(repo)
    owner, _, name = repo.lower().partition("/")
    named = (func.lower(repos.c.owner) == owner) & (func.lower(repos.c.name) == name)
    return runs.c.repo_id.in_(select(repos.c.id).where(named))


async def _repos(conn: AsyncConnection, ids: set[RepoId]) -> dict[RepoId, Repo]:
    return {repo.id: repo for repo in await load_all(conn, Repo, repos, repos.c.id.in_(ids))}
