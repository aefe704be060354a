"""What the inbox learned of repositories, pull requests, policies and approvals."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, false, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.core.github.events import InstallationEvent
from bot.core.model.ids import RunId
from bot.core.model.pulls import Head
from bot.core.model.repos import Repo
from bot.ports.inbox import Plan
from bot.store.database import insert
from bot.store.reader import OPEN_RUN
from bot.store.rows import values
from bot.store.tables import approvals, checks, heads, policies, pulls, repos, runs, selections


async def save_records(conn: AsyncConnection, changes: Plan) -> None:
    """Write the records among the changes; the newest word counts."""
    if changes.repo is not None:
        await _save_repo(conn, changes.repo)
    if changes.head is not None:
        await _save_head(conn, changes.head)
    for table, record in (
        (pulls, changes.pull),
        (policies, changes.policy),
        (selections, changes.selection),
        (approvals, changes.approval),
    ):
        if record is not None:
            await _upsert(conn, table, values(record))
    if changes.installation is not None:
        await _save_installation(conn, changes.installation)
    if changes.forget_policy is not None:
        repo_id, ref = changes.forget_policy
        await conn.execute(
            delete(policies).where(policies.c.repo_id == repo_id, policies.c.ref == ref)
        )


async def _upsert(conn: AsyncConnection, table: Any, row: dict[str, Any]) -> None:
    keys: Sequence[str] = [column.name for column in table.primary_key]
    query = insert(conn, table).values(row)
    changed = {name: query.excluded[name] for name in row if name not in keys}
    await conn.execute(query.on_conflict_do_update(index_elements=keys, set_=changed))


async def _save_repo(conn: AsyncConnection, repo: Repo) -> None:
    """Write a repository; a payload without an installation does not take it away.

    One that may not be called comes back with another installation: a payload of the old one
    was only late.
    """
    query = insert(conn, repos).values(values(repo))
    changed = {
        "owner": query.excluded.owner,
        "name": query.excluded.name,
        "default_branch": query.excluded.default_branch,
        "active": repos.c.active
        | func.coalesce(query.excluded.installation_id != repos.c.installation_id, false()),
        "installation_id": func.coalesce(query.excluded.installation_id, repos.c.installation_id),
    }
    await conn.execute(query.on_conflict_do_update(index_elements=["id"], set_=changed))


async def _save_head(conn: AsyncConnection, head: Head) -> None:
    """Write a head.

    The newest head seen once more only gains a pusher; an older one that is pushed again becomes
    the newest. A known pusher is not forgotten for one found by looking.
    """
    newest = await conn.scalar(
        select(heads.c.sha)
        .where(heads.c.repo_id == head.repo_id, heads.c.number == head.number)
        .order_by(heads.c.seen_at.desc(), heads.c.sha.desc())
        .limit(1)
    )
    query = insert(conn, heads).values(values(head))
    changed: dict[str, Any] = {"pusher": func.coalesce(query.excluded.pusher, heads.c.pusher)}
    if newest != head.sha:
        changed["seen_at"] = query.excluded.seen_at
    await conn.execute(
        query.on_conflict_do_update(index_elements=["repo_id", "number", "sha"], set_=changed)
    )


async def _save_installation(conn: AsyncConnection, changed: InstallationEvent) -> None:
    """Write whether an installation's repositories may be called.

    One that was taken out belongs to no installation: it does not come back with the others.
    """
    ours = repos.c.installation_id == changed.installation_id
    if changed.active is not None:
        await conn.execute(update(repos).where(ours).values(active=changed.active))
    for named, active in ((changed.gone, False), (changed.back, True)):
        number = changed.installation_id if active else None
        change = {"active": active, "installation_id": number}
        await conn.execute(update(repos).where(repos.c.id.in_(named)).values(change))


async def take_up_reports(conn: AsyncConnection, changed: InstallationEvent, now: datetime) -> None:
    """Show again what GitHub refused to take: it may have done so because of the suspension."""
    ours = select(repos.c.id).where(
        repos.c.active, repos.c.installation_id == changed.installation_id
    )
    refused = checks.c.given_up & checks.c.repo_id.in_(ours)
    await conn.execute(update(checks).where(refused).values(given_up=False, due=now))


async def runs_let_down(conn: AsyncConnection, changed: InstallationEvent) -> set[RunId]:
    """Return the open runs of an installation's repositories that may not be called now."""
    lost = select(repos.c.id).where(
        ~repos.c.active,
        (repos.c.installation_id == changed.installation_id) | repos.c.id.in_(changed.gone),
    )
    found = await conn.scalars(select(runs.c.id).where(runs.c.repo_id.in_(lost), OPEN_RUN))
    return {RunId(run_id) for run_id in found}
