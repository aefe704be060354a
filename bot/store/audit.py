"""The audit: who decided what, on which commit, by which rule; one row a decision."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import ColumnElement, delete, exists, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.core.planning.plan import BY_ITSELF, AuditEntry
from bot.ports.operator import Audited, AuditQuery
from bot.store.database import Database, insert
from bot.store.rows import load, values
from bot.store.tables import audit, repos

# What makes two decisions of the bot itself the same one.
_SAME = ("who", "what", "allowed", "rule", "repo_id", "number", "sha")


class AuditRows:
    """Implements ``AuditStore``, and the sweeper's pruning of it."""

    _db: Database

    async def list_audit(self, query: AuditQuery) -> tuple[Audited, ...]:
        """Return decisions, newest first."""
        name = repos.c.owner + "/" + repos.c.name
        chosen = (
            select(audit, name.label("repo"))
            .join(repos, repos.c.id == audit.c.repo_id, isouter=True)
            .where(*_where(query))
            .order_by(audit.c.at.desc(), audit.c.seq.desc())
            .limit(query.limit)
        )
        async with self._db.read() as conn:
            found = (await conn.execute(chosen)).mappings().all()
        return tuple(Audited(load(AuditEntry, row), row["repo"]) for row in found)

    async def prune_audit(self, before: datetime, *, limit: int) -> int:
        """Delete decisions older than ``before``, ``limit`` at most; return how many."""
        old = select(audit.c.seq).where(audit.c.at < before).limit(limit)
        gone = delete(audit).where(audit.c.seq.in_(old))
        return (await self._db.write(lambda conn: conn.execute(gone))).rowcount


async def add_audit(conn: AsyncConnection, entries: Iterable[AuditEntry]) -> None:
    """Write decisions; what the bot decided by itself is written once a commit, not each time."""
    for entry in entries:
        if entry.who != BY_ITSELF or not await _is_written(conn, entry):
            await conn.execute(insert(conn, audit).values(values(entry)))


async def _is_written(conn: AsyncConnection, entry: AuditEntry) -> bool:
    same = [audit.c[name] == getattr(entry, name) for name in _SAME]  # None: IS NULL
    return bool(await conn.scalar(select(exists().where(*same))))


def _where(query: AuditQuery) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = []
    if query.repo is not None:
        where.append(_in_repo(query.repo))
    if query.number is not None:
        where.append(audit.c.number == query.number)
    if query.who is not None:
        where.append(func.lower(audit.c.who) == query.who.lower())
    if query.since is not None:
        where.append(audit.c.at >= query.since)
    return where


def _in_repo(repo: str) -> ColumnElement[bool]:
    """Tell in SQL whether a decision is of the repository of that number or name."""
    if repo.isdigit():
        return audit.c.repo_id == int(repo)
    owner, _, name = repo.lower().partition("/")
    return (func.lower(repos.c.owner) == owner) & (func.lower(repos.c.name) == name)
