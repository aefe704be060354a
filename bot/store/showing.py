"""What check and reply rows have in common: a lease by kind and key, versions, giving up."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Table, case, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.ports.lease import Lease
from bot.store.checks_touch import bump_links
from bot.store.claims import AT
from bot.store.database import Database
from bot.store.rows import FREE, held, moment
from bot.store.tables import checks, replies

CHECK, REPLY = "check:", "reply:"
# Progress of a run at most so often.
PROGRESS_EVERY = timedelta(seconds=60)


def row_of(lease: Lease) -> tuple[Table, ColumnElement[bool]]:
    """Return the table of a lease and the condition that finds its row while it is ours."""
    if lease.key.startswith(CHECK):
        external_id = lease.key.removeprefix(CHECK)
        return checks, (checks.c.external_id == external_id) & held(checks, lease)
    comment_id = int(lease.key.removeprefix(REPLY))
    return replies, (replies.c.comment_id == comment_id) & held(replies, lease)


def due_now(table: Table) -> ColumnElement[bool]:
    """Tell in SQL whether a row has something to show and nobody is at it."""
    behind = table.c.want_version > table.c.shown_version
    return (table.c.due <= AT) & behind & (table.c.lease_until <= AT) & ~table.c.given_up


class ShowingRows:
    """Implements what the reporter does alike for checks and replies."""

    _db: Database

    async def trying(self, lease: Lease, *, sent: bool = True) -> bool:
        """Note that a create is about to be sent, or was not; False: the lease was lost."""
        table, mine = row_of(lease)
        change = update(table).where(mine).values(create_tried=sent)
        tried = await self._db.write(lambda conn: conn.execute(change))
        return tried.rowcount == 1

    async def shown(
        self, lease: Lease, *, github_id: int, version: int, ended: bool, now: datetime
    ) -> None:
        """Note what GitHub shows now; what was wanted meanwhile is due, progress in a minute."""
        table, mine = row_of(lease)
        later: dict[str, Any] = {}
        still: ColumnElement[Any] = moment(now)
        if table is checks:
            urgent = checks.c.urgent_version > version
            still = case((urgent, moment(now)), else_=moment(now + PROGRESS_EVERY))
            later = {"ended": ended, "progress_from": now + PROGRESS_EVERY}
        change = (
            update(table)
            .where(mine)
            .values(
                github_id=github_id,
                shown_version=version,
                due=case((table.c.want_version > version, still), else_=None),
                note="",
                **later,
                **FREE,
            )
        )

        async def work(conn: AsyncConnection) -> None:
            if table is checks:
                await bump_links(conn, mine, now)
            await conn.execute(change)

        await self._db.write(work)

    async def give_up(self, lease: Lease, *, due: datetime | None, note: str) -> None:
        """Try again at ``due``; None: never (GitHub said no for good), kept in health."""
        table, mine = row_of(lease)
        change = update(table).where(mine).values(due=due, given_up=due is None, note=note, **FREE)
        await self._db.write(lambda conn: conn.execute(change))
