"""Reply rows under the reporter's lease, with the runs they list."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Select, exists, select
from sqlalchemy.sql.dml import ReturningUpdate

from bot.core.model.ids import RunId
from bot.core.model.repos import Repo
from bot.core.model.runs import Run
from bot.core.model.views import Reply
from bot.store.checks import check_ids
from bot.store.database import DbConnection
from bot.store.leases import Lease, claim_parameters, claim_statement, lease_of
from bot.store.published import Published, due_now
from bot.store.report_tables import replies, reply_runs
from bot.store.rows import load_repos, load_runs
from bot.store.tables import repos, runs

_OF_REPLY = ("repo_id", "comment_id", "number", "head", "receipt_missing", "language")


@dataclass(frozen=True, slots=True)
class DueReply:
    """A reply that should be posted or edited."""

    lease: Lease
    repo: Repo
    reply: Reply
    github_id: int | None
    create_tried: bool
    want_version: int
    refusals: int  # since the last success
    runs: tuple[Run, ...]
    check_ids: dict[str, int]


def due_replies() -> Select[Any]:
    """Return the query of due replies, longest due first."""
    callable_now = exists().where(repos.c.id == replies.c.repo_id, repos.c.active)
    return (
        select(replies.c.comment_id)
        .where(due_now(replies), callable_now)
        .order_by(replies.c.due, replies.c.comment_id)
    )


@cache
def _claim() -> ReturningUpdate[Any]:
    return claim_statement(replies, due_replies())


class Replies(Published):
    """Claims replies and records the versions that GitHub shows."""

    _table = replies
    _urgent = replies.c.want_version

    def _key(self, lease: Lease) -> ColumnElement[bool]:
        return replies.c.comment_id == int(lease.key)

    async def exists(self, comment_id: int) -> bool:
        """Return True if a comment has its reply, shown or not."""
        query = select(replies.c.comment_id).where(replies.c.comment_id == comment_id)
        return await self._db.read(lambda conn: conn.scalar(query)) is not None

    async def shown(
        self,
        lease: Lease,
        *,
        github_id: int,
        version: int,
        now: datetime,
        receipt_missing: bool = False,
    ) -> None:
        """Record the version that GitHub shows. A newer text is due at once."""
        change = self._update_shown(
            lease,
            github_id=github_id,
            version=version,
            now=now,
            receipt_missing=receipt_missing,
        )
        await self._db.write(lambda conn: conn.execute(*change))

    async def claim(
        self, owner: str, now: datetime, *, lease_s: float, limit: int
    ) -> tuple[DueReply, ...]:
        """Claim due replies, longest due first."""
        asked = claim_parameters(owner, now, lease_s=lease_s, limit=limit)

        async def work(conn: DbConnection) -> tuple[DueReply, ...]:
            rows = (await conn.execute(_claim(), asked)).mappings().all()
            rows = sorted(rows, key=lambda row: (row["due"], row["comment_id"]))
            return await _due_replies(conn, rows)

        return await self._db.write(work)


async def _due_replies(conn: DbConnection, rows: Sequence[RowMapping]) -> tuple[DueReply, ...]:
    if not rows:
        return ()
    known = await load_repos(conn, {row["repo_id"] for row in rows})
    listed = await _listed(conn, [row["comment_id"] for row in rows])
    all_ids = {run_id for run_ids in listed.values() for run_id in run_ids}
    found = {run.id: run for run in await load_runs(conn, runs.c.id.in_(all_ids))}
    shown = await check_ids(conn, all_ids)

    def due(row: RowMapping) -> DueReply:
        run_ids = tuple(listed.get(row["comment_id"], ()))
        named = {name: row[name] for name in _OF_REPLY}
        return DueReply(
            lease=lease_of(row, str(row["comment_id"])),
            repo=known[row["repo_id"]],
            reply=Reply(**named, run_ids=run_ids),
            github_id=row["github_id"],
            create_tried=row["create_tried"],
            want_version=row["want_version"],
            refusals=row["refusals"],
            runs=tuple(found[run_id] for run_id in run_ids),
            check_ids={run_id: shown[run_id] for run_id in run_ids if run_id in shown},
        )

    return tuple(due(row) for row in rows)


async def _listed(conn: DbConnection, comment_ids: list[int]) -> dict[int, list[RunId]]:
    """Return the runs that each reply lists, in its order."""
    found = await conn.execute(
        select(reply_runs.c.comment_id, reply_runs.c.run_id)
        .where(reply_runs.c.comment_id.in_(comment_ids))
        .order_by(reply_runs.c.comment_id, reply_runs.c.position)
    )
    listed: dict[int, list[RunId]] = {}
    for comment_id, run_id in found:
        listed.setdefault(comment_id, []).append(RunId(run_id))
    return listed
