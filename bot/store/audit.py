"""The audit: one row for each decision, with its author, its commit and its rule."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, exists, func, select

from bot.core.model.ids import RepoId
from bot.core.model.people import Account
from bot.core.planning.plan import BY_ITSELF, AuditEntry
from bot.store.database import DbConnection, insert
from bot.store.rows import Reads, in_repo, load, values
from bot.store.tables import audit, repos

# What makes two decisions of the bot itself the same one.
_SAME = ("who", "what", "allowed", "rule", "repo_id", "number", "sha")


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Which decisions to list; ``None`` selects all."""

    repo: str | None = None  # "owner/name", any case, or the repository's number
    number: int | None = None
    who: str | None = None  # any case
    since: datetime | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Audited:
    """A decision and the name of its repository (``None``: of all, or forgotten)."""

    entry: AuditEntry
    repo: str | None


class Audit(Reads):
    """Reads and prunes the audit. A decision is written in the transaction of its plan or run."""

    async def since(self, repo_id: RepoId, who: Account, since: datetime) -> tuple[AuditEntry, ...]:
        """Return the decisions of a person in a repository since a time, oldest first."""
        mine = (audit.c.who_id == who.id) & (audit.c.at >= since) & (audit.c.repo_id == repo_id)
        return await self._all(AuditEntry, audit, mine, order=[audit.c.seq])

    async def search(self, query: AuditQuery) -> tuple[Audited, ...]:
        """Return decisions, newest first."""
        name = repos.c.owner + "/" + repos.c.name
        chosen = (
            select(audit, name.label("repo"))
            .join(repos, repos.c.id == audit.c.repo_id, isouter=True)
            .where(*_where(query))
            .order_by(audit.c.at.desc(), audit.c.seq.desc())
            .limit(query.limit)
        )

        async def work(conn: DbConnection) -> tuple[Audited, ...]:
            found = (await conn.execute(chosen)).mappings()
            return tuple(Audited(load(AuditEntry, row), row["repo"]) for row in found)

        return await self._db.read(work)

    async def prune(self, before: datetime, *, limit: int) -> int:
        """Delete decisions older than ``before``, ``limit`` at most; return how many."""
        old = select(audit.c.seq).where(audit.c.at < before).limit(limit)
        gone = delete(audit).where(audit.c.seq.in_(old))
        return (await self._db.write(lambda conn: conn.execute(gone))).rowcount


async def add_audit(conn: DbConnection, entries: Iterable[AuditEntry]) -> None:
    """Write decisions. The bot's own decision about a commit is written only once."""
    for entry in entries:
        if entry.who != BY_ITSELF or not await _is_written(conn, entry):
            await conn.execute(insert(conn, audit), values(entry))


async def _is_written(conn: DbConnection, entry: AuditEntry) -> bool:
    same = {name: getattr(entry, name) for name in _SAME}
    unknown = frozenset(name for name in _SAME if same[name] is None)
    return bool(await conn.scalar(_written(unknown), same))


@cache
def _written(unknown: frozenset[str]) -> Select[Any]:
    """Return the query whether there is such an entry; the ``unknown`` columns are NULL."""
    same = [
        audit.c[name].is_(None) if name in unknown else audit.c[name] == bindparam(name)
        for name in _SAME
    ]
    return select(exists().where(*same))


def _where(query: AuditQuery) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = []
    if query.repo is not None:
        where.append(in_repo(query.repo, audit.c.repo_id))
    if query.number is not None:
        where.append(audit.c.number == query.number)
    if query.who is not None:
        where.append(func.lower(audit.c.who) == query.who.lower())
    if query.since is not None:
        where.append(audit.c.at >= query.since)
    return where
