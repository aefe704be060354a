"""Rows of the one comment of each pull request, under the reporter's lease."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Update, and_, case, exists, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from bot.core.model.ids import RepoId, Sha
from bot.core.model.repos import Repo
from bot.core.model.views import PullComment
from bot.store.database import DbConnection, Insert, insert
from bot.store.leases import FREE, Lease, claim_parameters, claim_statement, lease_of
from bot.store.prepared import prepared
from bot.store.published import Published, due_now, is_lost
from bot.store.report_tables import pull_comments as table
from bot.store.rows import load_repos, moment
from bot.store.tables import pulls, repos


@dataclass(frozen=True, slots=True)
class DueComment:
    """A comment of a pull request that should be posted or edited."""

    lease: Lease
    repo: Repo
    number: int
    body: str
    github_id: int | None
    create_tried: bool
    want_version: int
    refusals: int  # since the last success


def due_comments() -> Select[Any]:
    """Return the query of due comments, longest due first."""
    callable_now = exists().where(repos.c.id == table.c.repo_id, repos.c.active)
    return (
        select(table.c.key).where(due_now(table), callable_now).order_by(table.c.due, table.c.key)
    )


@cache
def _claim() -> ReturningUpdate[Any]:
    return claim_statement(table, due_comments())


async def put_comment(conn: DbConnection, comment: PullComment, now: datetime) -> None:
    """Make a comment, or change its text; it is due now.

    The text of a former head changes nothing. What a person deleted is made anew for another head.
    """
    if await conn.scalar(*_is_head(comment.repo_id, comment.number, comment.sha)) is None:
        return
    key = f"{comment.repo_id}/{comment.number}"
    if not comment.make:
        await conn.execute(*_change(key, comment.sha, comment.body, now))
        return
    row = {"key": key, "repo_id": comment.repo_id, "number": comment.number}
    row |= {"sha": comment.sha, "body": comment.body, "due": now, "touched_at": now}
    await conn.execute(_put(insert(conn, table)), row)


@prepared
def _change(key: str, sha: Sha, body: str, now: datetime) -> Update:
    there = (table.c.key == key) & (table.c.deleted_at_sha == "") & _is_new(sha, body)
    return update(table).where(there).values(_changed(sha, body, now, due=moment(now)))


@cache
def _put(query: Insert) -> Insert:
    given = query.excluded
    return query.on_conflict_do_update(
        index_elements=["key"],
        set_=_changed(given.sha, given.body, given.touched_at, due=given.due),
        where=_is_new(given.sha, given.body),
    )


def _is_new(sha: Any, body: Any) -> ColumnElement[bool]:
    return and_(table.c.body != body, table.c.deleted_at_sha != sha)


def _changed(sha: Any, body: Any, now: Any, *, due: ColumnElement[Any]) -> dict[str, Any]:
    waits = is_lost(table) & (table.c.due > now)
    return {
        "sha": sha,
        "body": body,
        "touched_at": now,
        "deleted_at_sha": "",
        "want_version": table.c.want_version + 1,
        "due": case((waits, table.c.due), else_=due),
    }


@prepared
def _is_head(repo_id: RepoId, number: int, sha: Sha) -> Select[Any]:
    its = (pulls.c.repo_id == repo_id) & (pulls.c.number == number)
    return select(pulls.c.number).where(its, pulls.c.head_sha == sha, pulls.c.open)


class PullComments(Published):
    """Claims comments of pull requests and records the versions that GitHub shows."""

    _table = table
    _urgent = table.c.want_version

    def _key(self, lease: Lease) -> ColumnElement[bool]:
        return table.c.key == lease.key

    async def claim(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[DueComment, ...]:
        """Claim due comments."""
        asked = claim_parameters(owner, now, lease_s=lease_s, limit=limit)

        async def work(conn: DbConnection) -> tuple[DueComment, ...]:
            rows = (await conn.execute(_claim(), asked)).mappings().all()
            known = await load_repos(conn, {row["repo_id"] for row in rows}) if rows else {}
            return tuple(
                DueComment(
                    lease=lease_of(row, row["key"]),
                    repo=known[row["repo_id"]],
                    number=row["number"],
                    body=row["body"],
                    github_id=row["github_id"],
                    create_tried=row["create_tried"],
                    want_version=row["want_version"],
                    refusals=row["refusals"],
                )
                for row in rows
            )

        return await self._db.write(work)

    async def shown(self, lease: Lease, *, github_id: int, version: int, now: datetime) -> None:
        """Record the version that GitHub shows. A newer text is due at once."""
        change = self._update_shown(lease, github_id=github_id, version=version, now=now)
        await self._db.write(lambda conn: conn.execute(*change))

    async def deleted(self, lease: Lease) -> None:
        """Note that a person deleted the comment: it is not made again for this head."""
        change = self._update(lease).values(
            github_id=None,
            create_tried=False,
            deleted_at_sha=table.c.sha,
            shown_version=table.c.want_version,
            due=None,
            refusals=0,
            note="",
            **FREE,
        )
        await self._db.write(lambda conn: conn.execute(change))
