"""Rows that decisions look at (``Reader``)."""

from datetime import datetime

from sqlalchemy import ColumnElement, select, text

from bot.core.model.ids import RepoId, Sha
from bot.core.model.pulls import Approval, Head, Pull
from bot.core.model.repos import Repo, StoredPolicy
from bot.core.model.runs import Run
from bot.core.model.selections import StoredSelection
from bot.core.queue.usage import Spent, spent
from bot.ports.inbox import AuditEntry, RunClaimants
from bot.store.database import Database
from bot.store.queue_state import usages
from bot.store.rows import load, load_all, load_claimants, load_runs
from bot.store.tables import (
    approvals,
    audit,
    checks,
    claimants,
    heads,
    policies,
    pulls,
    replies,
    repos,
    runs,
    selections,
)

OPEN_RUN = text("runs.state <> 'done'")  # literal, so that the partial index is seen to fit


class ReaderRows:
    """Implements ``Reader``."""

    _db: Database

    async def repo(self, repo_id: RepoId) -> Repo | None:
        """Return the repository as last seen."""
        async with self._db.read() as conn:
            found = await load_all(conn, Repo, repos, repos.c.id == repo_id)
        return found[0] if found else None

    async def pull(self, repo_id: RepoId, number: int) -> Pull | None:
        """Return the pull request as last seen."""
        async with self._db.read() as conn:
            found = await load_all(
                conn, Pull, pulls, pulls.c.repo_id == repo_id, pulls.c.number == number
            )
        return found[0] if found else None

    async def heads(self, repo_id: RepoId, number: int) -> tuple[Head, ...]:
        """Return the commits that were its head, oldest first."""
        query = (
            select(heads)
            .where(heads.c.repo_id == repo_id, heads.c.number == number)
            .order_by(heads.c.seen_at, heads.c.sha)
        )
        async with self._db.read() as conn:
            return tuple(load(Head, row) for row in (await conn.execute(query)).mappings())

    async def pulls_at(self, repo_id: RepoId, sha: Sha) -> tuple[Pull, ...]:
        """Return the open pull requests whose head this is, by number."""
        query = (
            select(pulls)
            .where(pulls.c.repo_id == repo_id, pulls.c.head_sha == sha, pulls.c.open)
            .order_by(pulls.c.number)
        )
        async with self._db.read() as conn:
            return tuple(load(Pull, row) for row in (await conn.execute(query)).mappings())

    async def runs_at(self, repo_id: RepoId, sha: Sha) -> tuple[RunClaimants, ...]:
        """Return every attempt of every suite at a commit, oldest first."""
        async with self._db.read() as conn:
            found = await load_runs(conn, runs.c.repo_id == repo_id, runs.c.sha == sha)
            wanted = await load_claimants(conn, (run.id for run in found))
        return tuple(RunClaimants(run, wanted.get(run.id, ())) for run in found)

    async def runs_of_claimant(self, repo_id: RepoId, source: str) -> tuple[RunClaimants, ...]:
        """Return the open runs that carry this want."""
        return await self._carrying(claimants.c.source == source, runs.c.repo_id == repo_id)

    async def pinned_runs(self, repo_id: RepoId, number: int) -> tuple[RunClaimants, ...]:
        """Return the open runs that commands on this pull request pinned to former heads."""
        ours = (runs.c.repo_id == repo_id) & (runs.c.number == number)
        return await self._carrying(claimants.c.source.startswith("pin:"), ours)

    async def _carrying(
        self, claimant: ColumnElement[bool], ours: ColumnElement[bool]
    ) -> tuple[RunClaimants, ...]:
        carriers = select(claimants.c.run_id).where(claimant)
        async with self._db.read() as conn:
            found = await load_runs(conn, ours, runs.c.id.in_(carriers), runs.c.state != "done")
            wanted = await load_claimants(conn, (run.id for run in found))
        return tuple(RunClaimants(run, wanted.get(run.id, ())) for run in found)

    async def run_of_actions(self, repo_id: RepoId, actions_run_id: int) -> Run | None:
        """Return our latest attempt that lives in this Actions run."""
        query = (
            select(runs)
            .where(runs.c.repo_id == repo_id, runs.c.actions_run_id == actions_run_id)
            .order_by(runs.c.actions_attempt.desc(), runs.c.attempt.desc())
            .limit(1)
        )
        async with self._db.read() as conn:
            row = (await conn.execute(query)).mappings().first()
        return load(Run, row) if row else None

    async def run_of_dispatch(self, dispatch_id: str) -> Run | None:
        """Return the run dispatched with this id of ours."""
        async with self._db.read() as conn:
            found = await load_runs(conn, runs.c.dispatch_id == dispatch_id)
        return found[0] if found else None

    async def run_of_check(self, repo_id: RepoId, external_id: str) -> Run | None:
        """Return the run a check run of ours shows (None: a gate, or not ours)."""
        shown = select(checks.c.run_id).where(
            checks.c.external_id == external_id, checks.c.repo_id == repo_id
        )
        async with self._db.read() as conn:
            found = await load_runs(conn, runs.c.id.in_(shown))
        return found[0] if found else None

    async def spent(self, repo_id: RepoId, now: datetime) -> Spent:
        """Return the NPU-hours that a repository used in the last 24 hours."""
        async with self._db.read() as conn:
            return spent(await usages(conn, repo_id, now), now)

    async def answered(self, comment_id: int) -> bool:
        """Tell whether a comment has its reply, shown or not."""
        query = select(replies.c.comment_id).where(replies.c.comment_id == comment_id)
        async with self._db.read() as conn:
            return await conn.scalar(query) is not None

    async def audit_since(
        self, repo_id: RepoId, who: str, since: datetime
    ) -> tuple[AuditEntry, ...]:
        """Return what somebody did here since, oldest first."""
        mine = (audit.c.who == who) & (audit.c.at >= since) & (audit.c.repo_id == repo_id)
        query = select(audit).where(mine).order_by(audit.c.seq)
        async with self._db.read() as conn:
            return tuple(load(AuditEntry, row) for row in (await conn.execute(query)).mappings())

    async def approvals(self, repo_id: RepoId, sha: Sha) -> tuple[Approval, ...]:
        """Return the approvals of a commit, oldest first."""
        query = (
            select(approvals)
            .where(approvals.c.repo_id == repo_id, approvals.c.sha == sha)
            .order_by(approvals.c.at, approvals.c.by)
        )
        async with self._db.read() as conn:
            return tuple(load(Approval, row) for row in (await conn.execute(query)).mappings())

    async def policy(self, repo_id: RepoId, ref: str) -> StoredPolicy | None:
        """Return the policy of a branch as last read, None when dropped or never read."""
        async with self._db.read() as conn:
            found = await load_all(
                conn, StoredPolicy, policies, policies.c.repo_id == repo_id, policies.c.ref == ref
            )
        return found[0] if found else None

    async def selections(self, repo_id: RepoId, sha: Sha) -> tuple[StoredSelection, ...]:
        """Return what was chosen at a commit, one a pull request."""
        query = (
            select(selections)
            .where(selections.c.repo_id == repo_id, selections.c.sha == sha)
            .order_by(selections.c.number)
        )
        async with self._db.read() as conn:
            found = (await conn.execute(query)).mappings()
            return tuple(load(StoredSelection, row) for row in found)
