"""What could not be judged, for each pull request: the gate of its commit says so until it is.

One commit may be the head of several pull requests, and each is judged apart.
"""

from typing import Any

from sqlalchemy import ColumnElement, Delete, Select, delete, select

from bot.core.messages import Message
from bot.core.model.ids import RepoId, Sha
from bot.core.model.selections import StoredSelection
from bot.core.model.views import GateDue
from bot.store.database import DbConnection, insert
from bot.store.prepared import prepared
from bot.store.report_tables import unjudged


async def note_unjudged(conn: DbConnection, gate: GateDue) -> None:
    """Note why a pull request can't be judged at a commit."""
    where = {"repo_id": gate.repo_id, "sha": gate.sha, "number": gate.number}
    row = insert(conn, unjudged).values(**where, why=gate.unknown)
    again = row.on_conflict_do_update(index_elements=list(where), set_={"why": gate.unknown})
    await conn.execute(again)


async def forget_unjudged(conn: DbConnection, of: GateDue | StoredSelection) -> None:
    """Forget it: the pull request was judged, or it left the commit."""
    await conn.execute(*_delete(of.repo_id, of.sha, of.number))


@prepared
def _delete(repo_id: RepoId, sha: Sha, number: int) -> Delete:
    return delete(unjudged).where(_here(repo_id, sha), unjudged.c.number == number)


async def forget_commit(conn: DbConnection, repo_id: RepoId, sha: Sha) -> None:
    """Forget a commit."""
    await conn.execute(delete(unjudged).where(_here(repo_id, sha)))


def _here(repo_id: RepoId, sha: Sha) -> ColumnElement[bool]:
    return (unjudged.c.repo_id == repo_id) & (unjudged.c.sha == sha)


@prepared
def unjudged_heads(repo_id: RepoId, number: int) -> Select[Any]:
    """Return the query of the commits at which a pull request could not be judged."""
    its = (unjudged.c.repo_id == repo_id) & (unjudged.c.number == number)
    return select(unjudged.c.sha).where(its)


async def unjudged_in(conn: DbConnection, repo_id: RepoId) -> set[tuple[Sha, int]]:
    """Return the commits with the pull requests that could not be judged there."""
    its = select(unjudged.c.sha, unjudged.c.number).where(unjudged.c.repo_id == repo_id)
    return {(row.sha, row.number) for row in await conn.execute(its)}


async def why_unjudged(
    conn: DbConnection, repo_ids: list[RepoId], shas: list[Sha]
) -> dict[tuple[RepoId, Sha], Message]:
    """Return for each commit why the first of its pull requests can't be judged."""
    rows = (await conn.execute(*_unjudged_at(repo_ids, shas))).all()
    return {(row.repo_id, row.sha): row.why for row in sorted(rows, key=lambda row: -row.number)}


@prepared
def _unjudged_at(repo_ids: list[RepoId], shas: list[Sha]) -> Select[Any]:
    here = unjudged.c.repo_id.in_(repo_ids) & unjudged.c.sha.in_(shas)
    return select(unjudged).where(here)
