"""Finds runs for events, operators and pages."""

from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, Text, exists, func, or_, select, text, type_coerce

from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.queue import label_resource
from bot.core.model.rayjobs import RayJob
from bot.core.model.repos import Repo
from bot.core.model.run_events import NativeRunSeen, RunEvent
from bot.core.model.runs import Claimant, Run, State
from bot.core.planning.plan import RunClaimants
from bot.store import rows
from bot.store.database import DbConnection, all_scalars
from bot.store.prepared import prepared
from bot.store.report_tables import checks
from bot.store.repos import was_dispatched
from bot.store.tables import claimants, queue, rayjobs, repos, run_events, runs


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs to list; ``None`` selects all."""

    repo: str | None = None  # "owner/name", any case, or the repository's number
    sha: Sha | None = None  # or its first digits
    number: int | None = None
    state: State | None = None
    label: str | None = None  # taken, or one that it waits for
    before: str | None = None  # made before the run with this id, or whose id begins so
    limit: int = 50


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run and its repository (``None``: forgotten)."""

    run: Run
    repo: Repo | None


@dataclass(frozen=True, slots=True)
class RunStory:
    """A run with all that is known of it."""

    run: Run
    repo: Repo | None
    claimants: tuple[Claimant, ...] = ()
    run_events: tuple[RunEvent, ...] = ()
    rayjobs: tuple[RayJob, ...] = ()


class RunReads(rows.Reads):
    """The reading half of ``Runs``."""

    async def at(self, repo_id: RepoId, sha: Sha) -> tuple[RunClaimants, ...]:
        """Return every attempt of every suite at a commit, oldest first."""
        return await self._with_claimants(*rows.runs_at(repo_id, sha))

    async def of_claimant(self, repo_id: RepoId, source: str) -> tuple[RunClaimants, ...]:
        """Return the open runs that have this claimant."""
        return await self._with_claimants(*_open_of_claimant(repo_id, source))

    async def pinned(self, repo_id: RepoId, number: int) -> tuple[RunClaimants, ...]:
        """Return the open runs that commands on a pull request pinned to earlier heads."""
        return await self.claimed_as(repo_id, f"pin:{number}:")

    async def claimed_as(self, repo_id: RepoId, prefix: str) -> tuple[RunClaimants, ...]:
        """Return the open runs that have a claimant whose source begins so."""
        its = claimants.c.source.startswith(prefix, autoescape=True)
        claimed = select(claimants.c.run_id).where(its)
        here = (runs.c.repo_id == repo_id) & runs.c.id.in_(claimed) & (runs.c.state != State.DONE)
        return await self._with_claimants(rows.oldest_first(here), {})

    async def _with_claimants(
        self, query: Select[Any], parameters: dict[str, Any]
    ) -> tuple[RunClaimants, ...]:
        async def work(conn: DbConnection) -> tuple[RunClaimants, ...]:
            found = await rows.load_found(conn, Run, query, parameters)
            return await rows.with_claimants(conn, found)

        return await self._db.read(work)

    async def dispatched(self, repo_id: RepoId) -> tuple[Run, ...]:
        """Return the open runs of a repository that were dispatched, oldest first."""
        where = (runs.c.repo_id == repo_id, runs.c.state != State.DONE, was_dispatched())
        return await self._db.read(lambda conn: rows.load_runs(conn, *where))

    async def native(self) -> tuple[tuple[Repo, tuple[Run, ...]], ...]:
        """Return the open runs that GitHub starts by itself, by active repository."""

        async def work(conn: DbConnection) -> tuple[tuple[Repo, tuple[Run, ...]], ...]:
            found = await rows.load_found(conn, Run, *_open_native())
            if not found:
                return ()
            ids = {run.repo_id for run in found}
            known = await rows.load_all(conn, Repo, repos, repos.c.active, repos.c.id.in_(ids))
            return tuple(
                (repo, tuple(run for run in found if run.repo_id == repo.id))
                for repo in sorted(known, key=lambda repo: repo.id)
            )

        return await self._db.read(work)

    async def natives_at(
        self, repo_id: RepoId, sha: Sha
    ) -> tuple[tuple[RunClaimants, ...], dict[int, NativeRunSeen]]:
        """Return every attempt at a commit, and the native Actions runs that they follow, by id.

        Both are empty where no attempt follows one.
        """
        query, asked = _native_runs_seen(repo_id, sha)
        found = await self._db.read(lambda conn: all_scalars(conn, query, asked))
        seen = {what.actions_run_id: what for what in found}
        return (await self.at(repo_id, sha), seen) if seen else ((), seen)

    async def of_actions_run(self, repo_id: RepoId, actions_run_id: int) -> Run | None:
        """Return our latest attempt that is part of this Actions run."""
        return next(iter(await self._found(Run, *_of_actions_run(repo_id, actions_run_id))), None)

    async def following(
        self, repo_id: RepoId, actions_run_id: int, *, mistaken: bool = False
    ) -> tuple[Run, ...]:
        """Return the latest attempt of each suite that follows this Actions run.

        With ``mistaken`` also those that followed it although it was of another base.
        """
        latest: dict[str, Run] = {}
        for run in await self._found(Run, *_of_actions_run(repo_id, actions_run_id)):
            latest.setdefault(run.suite, run)
        return tuple(run for run in latest.values() if mistaken or not run.mistaken)

    async def of_actions_attempt(
        self, repo_id: RepoId, actions_run_id: int, actions_attempt: int
    ) -> Run | None:
        """Return our attempt that is this attempt of an Actions run.

        Of several suites it is that with RayJobs: a workflow has one at most.
        """
        query = _of_actions_attempt(repo_id, actions_run_id, actions_attempt)
        found = await self._found(Run, *query)
        return max(found, key=lambda run: (run.snapshot.suite.rayjob, run.attempt), default=None)

    async def get(self, run_id: RunId) -> Run | None:
        """Return the run as it is stored now."""
        return await self._one(Run, runs, id=run_id)

    async def of_dispatch(self, dispatch_id: str) -> Run | None:
        """Return the run that was dispatched with this id of ours."""
        return await self._last(*_of_dispatch(dispatch_id))

    async def of_check(self, repo_id: RepoId, external_id: str) -> Run | None:
        """Return the run that a check run of ours shows; None for a gate or a foreign check."""
        return await self._last(*_of_check(repo_id, external_id))

    async def _last(self, query: Select[Any], parameters: dict[str, Any]) -> Run | None:
        found = await self._found(Run, query, parameters)
        return found[-1] if found else None

    async def search(self, query: RunQuery) -> tuple[ListedRun, ...]:
        """Return runs, newest first: ids grow with time and are the table's own order."""
        chosen = select(runs).where(*_where(query)).order_by(runs.c.id.desc()).limit(query.limit)

        async def work(conn: DbConnection) -> tuple[ListedRun, ...]:
            found = [rows.load(Run, row) for row in (await conn.execute(chosen)).mappings()]
            known = await rows.load_repos(conn, {run.repo_id for run in found})
            return tuple(ListedRun(run, known.get(run.repo_id)) for run in found)

        return await self._db.read(work)

    async def ids_from(self, start: str, *, limit: int) -> tuple[RunId, ...]:
        """Return the runs whose id, or the id of their dispatch, begins with ``start``."""
        columns = (runs.c.id, runs.c.dispatch_id)
        begins = or_(*(column.startswith(start, autoescape=True) for column in columns))
        query = select(runs.c.id).where(begins).order_by(runs.c.id.desc()).limit(limit)
        found = await self._db.read(lambda conn: all_scalars(conn, query))
        return tuple(RunId(run_id) for run_id in found)

    async def story(self, run_id: RunId) -> RunStory | None:
        """Return a run with its claimants, events and RayJobs; None if there is none."""
        return await self._db.read(lambda conn: _story(conn, run_id))


@prepared
def _open_native() -> Select[Any]:
    # As their own index says: in the words of the others SQLite would read one of all open runs.
    return rows.oldest_first(text("runs.native"), text("NOT runs.state = 'done'"))


@prepared
def _open_of_claimant(repo_id: RepoId, source: str) -> Select[Any]:
    its = select(claimants.c.run_id).where(claimants.c.source == source)
    # Summed with 0 a column has no index: SQLite would read the repository's runs for theirs.
    here = (runs.c.repo_id + 0) == repo_id
    return rows.oldest_first(here, runs.c.id.in_(its), runs.c.state != State.DONE)


@prepared
def _native_runs_seen(repo_id: RepoId, sha: Sha) -> Select[Any]:
    here = (runs.c.repo_id == repo_id) & (runs.c.sha == sha)
    return (
        select(run_events.c.what)
        .join(runs, runs.c.id == run_events.c.run_id)
        .where(here, run_events.c.key.startswith("native:"))
    )


@prepared
def _of_actions_run(repo_id: RepoId, actions_run_id: int) -> Select[Any]:
    """Return the query of our attempts that are part of an Actions run, latest first."""
    here = (runs.c.repo_id == repo_id) & (runs.c.actions_run_id == actions_run_id)
    newest = (runs.c.mistaken, runs.c.actions_attempt.desc(), runs.c.attempt.desc())
    return select(runs).where(here).order_by(*newest)


@prepared
def _of_actions_attempt(repo_id: RepoId, actions_run_id: int, attempt: int) -> Select[Any]:
    return rows.oldest_first(
        runs.c.repo_id == repo_id,
        runs.c.actions_run_id == actions_run_id,
        runs.c.actions_attempt == attempt,
        ~runs.c.mistaken,
    )


@prepared
def _of_dispatch(dispatch_id: str) -> Select[Any]:
    return rows.oldest_first(runs.c.dispatch_id == dispatch_id)


@prepared
def _of_check(repo_id: RepoId, external_id: str) -> Select[Any]:
    shown = select(checks.c.run_id).where(
        checks.c.external_id == external_id, checks.c.repo_id == repo_id
    )
    return rows.oldest_first(runs.c.id.in_(shown))


def _where(query: RunQuery) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = []
    if query.repo is not None:
        where.append(rows.in_repo(query.repo, runs.c.repo_id))
    if query.sha is not None:
        where.append(runs.c.sha.startswith(query.sha, autoescape=True))
    if query.number is not None:
        source = claimants.c.source == f"pr:{query.number}"
        claimed = exists().where(claimants.c.run_id == runs.c.id, source)
        where.append((runs.c.number == query.number) | claimed)
    if query.state is not None:
        where.append(runs.c.state == query.state)
    if query.before is not None:
        where.append(runs.c.id < query.before.upper())
    if query.label is not None:
        where.append((func.lower(runs.c.label) == query.label.lower()) | _waits_for(query.label))
    return where


def _waits_for(label: str) -> ColumnElement[bool]:
    """Return SQL for "the run waits for a label": a queue's needs are JSON text."""
    named = msgspec.json.encode(label_resource(label)).decode()
    needs = type_coerce(queue.c.needs, Text).contains(named, autoescape=True)
    return exists().where(queue.c.run_id == runs.c.id, needs)


async def _story(conn: DbConnection, run_id: RunId) -> RunStory | None:
    found = await rows.load_found(conn, Run, *rows.runs_of_ids((run_id,)))
    if not found:
        return None
    [run] = found
    known = await rows.load_repos(conn, {run.repo_id})
    claiming = await rows.load_claimants(conn, [run_id])
    events = await rows.load_by_run(conn, RunEvent, run_events, [run_id])
    jobs = await rows.load_by_run(conn, RayJob, rayjobs, [run_id])
    return RunStory(
        run,
        known.get(run.repo_id),
        claiming.get(run_id, ()),
        events.get(run_id, ()),
        jobs.get(run_id, ()),
    )
