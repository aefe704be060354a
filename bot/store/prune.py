"""Deletes old rows that no open pull request and no run needs any more."""

from datetime import datetime

from sqlalchemy import ColumnElement, FromClause, Table, delete, exists, select, tuple_

from bot.store import report_tables as r
from bot.store import tables as t
from bot.store.database import Database, DbConnection
from bot.store.queue_memory import forget_changes
from bot.store.rows import OPEN_RUN
from bot.store.unjudged import forget_commit


async def prune_old(db: Database, before: datetime, *, limit: int) -> int:
    """Delete rows of each kind that are older than ``before``.

    At most ``limit`` rows of each kind, so that nobody waits long; returns how many.
    """

    async def work(conn: DbConnection) -> int:
        gone = 0
        for table, is_old in _old(before):
            keys = tuple_(*table.primary_key)
            old = select(*table.primary_key).where(is_old).limit(limit)
            gone += (await conn.execute(delete(table).where(keys.in_(old)))).rowcount
        await forget_changes(conn)
        return gone + await _prune_checks(conn, before, limit)

    return await db.write(work)


def _old(before: datetime) -> tuple[tuple[Table, ColumnElement[bool]], ...]:
    """Return each table, and which of its rows are old; the database deletes what hangs on them.

    What other rows need comes after them.
    """
    lists_runs = exists().where(r.reply_runs.c.comment_id == r.replies.c.comment_id)
    settled = r.replies.c.due.is_(None) & ~lists_runs
    has_heads = exists().where(
        t.heads.c.repo_id == t.pulls.c.repo_id, t.heads.c.number == t.pulls.c.number
    )
    has_runs = exists().where(
        t.runs.c.repo_id == t.pulls.c.repo_id, t.runs.c.number == t.pulls.c.number
    )
    return (
        (t.runs, (t.runs.c.ended_at < before) & (t.runs.c.state == "done")),
        (t.deliveries, (t.deliveries.c.received_at < before) & (t.deliveries.c.state != "new")),
        (r.replies, (r.replies.c.made_at < before) & settled & ~_of_open_pull(r.replies)),
        (r.pull_comments, _is_old_comment(before)),
        (t.approvals, (t.approvals.c.at < before) & ~_is_needed(t.approvals)),
        (t.pushes, (t.pushes.c.at < before) & ~_is_needed(t.pushes)),
        (t.heads, (t.heads.c.seen_at < before) & ~_is_needed(t.heads)),
        (t.pulls, (t.pulls.c.updated_at < before) & ~t.pulls.c.open & ~has_heads & ~has_runs),
        (t.policies, (t.policies.c.read_at < before) & ~_has_work()),
    )


def _is_old_comment(before: datetime) -> ColumnElement[bool]:
    comments = r.pull_comments
    settled = (comments.c.touched_at < before) & comments.c.due.is_(None)
    return settled & ~_of_open_pull(comments)


def _of_open_pull(table: FromClause) -> ColumnElement[bool]:
    """Return SQL for "the row is of an open pull request"."""
    pulls = t.pulls.alias()
    its = (pulls.c.repo_id == table.c.repo_id) & (pulls.c.number == table.c.number)
    return exists().where(its, pulls.c.open)


def _is_needed(table: Table) -> ColumnElement[bool]:
    """Return SQL for "the row's commit has runs, or is or was the head of an open pull request".

    A commit can come back as the head. Its approvals hold, and it stays somebody's own.
    """
    heads, runs = t.heads.alias(), t.runs.alias()
    is_head = exists().where(
        heads.c.repo_id == table.c.repo_id, heads.c.sha == table.c.sha, _of_open_pull(heads)
    )
    return is_head | exists().where(runs.c.repo_id == table.c.repo_id, runs.c.sha == table.c.sha)


def _has_work() -> ColumnElement[bool]:
    """Return SQL for "the policy's repository has an open pull request or an unfinished run"."""
    pulls = exists().where(t.pulls.c.repo_id == t.policies.c.repo_id, t.pulls.c.open)
    return pulls | exists().where(t.runs.c.repo_id == t.policies.c.repo_id, OPEN_RUN)


async def _prune_checks(conn: DbConnection, before: datetime, limit: int) -> int:
    """Delete settled gates and selections of commits that are no open head and have no runs."""
    checks, pulls, runs, selections = r.checks, t.pulls, t.runs, t.selections
    is_head = exists().where(
        pulls.c.repo_id == checks.c.repo_id, pulls.c.head_sha == checks.c.sha, pulls.c.open
    )
    has_runs = exists().where(runs.c.repo_id == checks.c.repo_id, runs.c.sha == checks.c.sha)
    settled = (checks.c.touched_at < before) & checks.c.due.is_(None) & checks.c.run_id.is_(None)
    old = select(checks.c.external_id).where(settled, ~is_head, ~has_runs).limit(limit)
    gone = (
        await conn.execute(
            delete(checks)
            .where(checks.c.external_id.in_(old))
            .returning(checks.c.repo_id, checks.c.sha)
        )
    ).all()
    for repo_id, sha in {tuple(row) for row in gone}:
        here = (selections.c.repo_id == repo_id) & (selections.c.sha == sha)
        await conn.execute(delete(selections).where(here))
        await forget_commit(conn, repo_id, sha)
    return len(gone)
