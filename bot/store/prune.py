"""Deletes old rows."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, exists, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store.database import Database
from bot.store.tables import checks, deliveries, pulls, runs, selections


async def prune_old(db: Database, before: datetime, *, limit: int) -> int:
    """Delete done deliveries, and runs with their rows, older than ``before``.

    At most ``limit`` rows of each kind, so that nobody waits long; returns how many.
    """

    async def work(conn: AsyncConnection) -> int:
        old_run = (runs.c.ended_at < before) & (runs.c.state == "done")
        old_delivery = (deliveries.c.received_at < before) & (deliveries.c.state != "new")
        gone = await _delete_some(conn, runs, runs.c.id, old_run, limit)
        gone += await _delete_some(conn, deliveries, deliveries.c.seq, old_delivery, limit)
        return gone + await _prune_checks(conn, before, limit)

    return await db.write(work)


async def _delete_some(
    conn: AsyncConnection,
    table: Table,
    key: ColumnElement[Any],
    where: ColumnElement[bool],
    limit: int,
) -> int:
    """Delete up to ``limit`` rows; the database deletes the rows that depend on them."""
    old = select(key).where(where).limit(limit)
    return (await conn.execute(delete(table).where(key.in_(old)))).rowcount


async def _prune_checks(conn: AsyncConnection, before: datetime, limit: int) -> int:
    """Delete settled gates and selections of commits that are no open head and have no runs."""
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
    return len(gone)
