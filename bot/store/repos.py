"""Repositories and their policies, as last seen."""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Update, exists, false, func, select, update

from bot.core.github.events import InstallationEvent
from bot.core.model.ids import RepoId, RunId
from bot.core.model.repos import Repo, StoredPolicy
from bot.store.columns import EPOCH
from bot.store.database import DbConnection, Insert, insert
from bot.store.prepared import prepared
from bot.store.rows import OPEN_RUN, Reads, values
from bot.store.tables import policies, repos, runs


def was_dispatched() -> ColumnElement[bool]:
    """Return SQL for "the run is known to GitHub Actions, or may be"."""
    return runs.c.dispatched_at.is_not(None) | runs.c.actions_run_id.is_not(None)


class Repos(Reads):
    """Reads repositories."""

    async def get(self, repo_id: RepoId) -> Repo | None:
        """Return the repository as last seen."""
        return await self._one(Repo, repos, id=repo_id)

    async def active(self) -> tuple[Repo, ...]:
        """Return all active repositories, by id."""
        return await self._all(Repo, repos, repos.c.active, order=[repos.c.id])

    async def with_dispatched_runs(self) -> tuple[Repo, ...]:
        """Return the active repositories that have an open, dispatched run, by id."""
        has_run = exists().where(runs.c.repo_id == repos.c.id, OPEN_RUN, was_dispatched())
        return await self._all(Repo, repos, repos.c.active, has_run, order=[repos.c.id])


class Policies(Reads):
    """Reads policies."""

    async def get(self, repo_id: RepoId, ref: str) -> StoredPolicy | None:
        """Return the policy of a branch as last read; None if it was never read."""
        return await self._one(StoredPolicy, policies, repo_id=repo_id, ref=ref)


async def save_repo(conn: DbConnection, repo: Repo) -> None:
    """Write a repository. A payload without an installation does not remove the stored one.

    An inactive repository becomes active again with another installation: a payload of the old
    installation was only late.
    """
    await conn.execute(_save_repo(insert(conn, repos)), values(repo))


@cache
def _save_repo(query: Insert) -> Insert:
    changed = {
        "owner": query.excluded.owner,
        "name": query.excluded.name,
        "default_branch": query.excluded.default_branch,
        "public": query.excluded.public,
        "active": repos.c.active
        | func.coalesce(query.excluded.installation_id != repos.c.installation_id, false()),
        "installation_id": func.coalesce(query.excluded.installation_id, repos.c.installation_id),
    }
    return query.on_conflict_do_update(index_elements=["id"], set_=changed)


async def forget_policy(conn: DbConnection, repo_id: RepoId, ref: str) -> None:
    """Let the policy of a branch be read anew; the row says what there was."""
    await conn.execute(*_forget(repo_id, ref))


@prepared
def _forget(repo_id: RepoId, ref: str) -> Update:
    here = (policies.c.repo_id == repo_id) & (policies.c.ref == ref)
    return update(policies).where(here).values(read_at=EPOCH)


async def save_installation(conn: DbConnection, changed: InstallationEvent) -> None:
    """Write whether an installation's repositories may be called.

    A repository that was removed belongs to no installation: it does not come back with the
    others.
    """
    for named, active in ((changed.gone, False), (changed.back, True)):
        number = changed.installation_id if active else None
        change: dict[str, Any] = {"active": active, "installation_id": number}
        await conn.execute(update(repos).where(repos.c.id.in_(named)).values(change))
    if changed.active is not None:
        ours = repos.c.installation_id == changed.installation_id
        await conn.execute(update(repos).where(ours).values(active=changed.active))


async def open_runs_without_access(conn: DbConnection, changed: InstallationEvent) -> set[RunId]:
    """Return the open runs of an installation's repositories that may not be called now."""
    lost = select(repos.c.id).where(
        ~repos.c.active,
        (repos.c.installation_id == changed.installation_id) | repos.c.id.in_(changed.gone),
    )
    found = await conn.scalars(select(runs.c.id).where(runs.c.repo_id.in_(lost), OPEN_RUN))
    return {RunId(run_id) for run_id in found}
