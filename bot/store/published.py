"""What checks, comments and replies share: the version GitHub should show, and the shown one."""

from abc import abstractmethod
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, Integer, Table, Update, bindparam, case, update

from bot.store.columns import Time
from bot.store.database import Part
from bot.store.leases import AT, FREE, Lease, held, held_parameters, still_held

LISTED_AFTER = timedelta(seconds=10)  # GitHub's lists were seen to trail by 1 to 3 s


@dataclass(frozen=True, slots=True)
class NotShown:
    """Why a text could not be shown, and when to try again (None: only when it changes)."""

    due: datetime | None
    note: str
    refused: bool = False  # by GitHub; health counts it until a write succeeds


def due_now(table: Table) -> ColumnElement[bool]:
    """Return SQL for "the row has something to show and nobody works on it"."""
    behind = table.c.want_version > table.c.shown_version
    return (table.c.due <= AT) & behind & (table.c.lease_until <= AT)


def is_lost(table: Table) -> ColumnElement[bool]:
    """Return SQL for "a create was sent, and it is not known whether it happened"."""
    return table.c.create_tried & table.c.github_id.is_(None)


@cache
def _shown(table: Table, urgent: str) -> Update:
    (key,) = table.primary_key.columns
    then: Any = bindparam("shown_then", type_=Integer())
    at_once, later = bindparam("urgent_at", type_=Time()), bindparam("later_at", type_=Time())
    next_at = case((table.c[urgent] > then, at_once), else_=later)
    due = case((table.c.want_version > then, next_at), else_=None)
    return update(table).where(still_held(table, key)).values(due=due)


@cache
def _failed(table: Table, urgent: str) -> Update:
    (key,) = table.primary_key.columns
    then: Any = bindparam("failed_version", type_=Integer())
    at_once, later = bindparam("urgent_at", type_=Time()), bindparam("later_at", type_=Time())
    newer = (table.c[urgent] > then) & ~is_lost(table)
    refusals = table.c.refusals + bindparam("more_refusals", type_=Integer())
    change = {"due": case((newer, at_once), else_=later), "refusals": refusals}
    return update(table).where(still_held(table, key)).values(change)


class Published(Part):
    """A table of texts that are written to GitHub."""

    _table: ClassVar[Table]
    _urgent: ClassVar[ColumnElement[Any]]  # the newest version that is shown at once

    @abstractmethod
    def _key(self, lease: Lease) -> ColumnElement[bool]:
        """Return SQL that finds the row of a lease."""

    def _update(self, lease: Lease) -> Update:
        """Return an update of the row that does nothing once the lease is lost."""
        return update(self._table).where(self._key(lease), held(self._table, lease))

    def _update_shown(
        self,
        lease: Lease,
        *,
        version: int,
        now: datetime,
        later: datetime | None = None,
        **more: Any,
    ) -> tuple[Update, dict[str, Any]]:
        """Return the update that records the shown version, and its parameters.

        A newer version is due at once, or ``later`` if it is not urgent.
        """
        (key,) = self._table.primary_key.columns
        at = {"shown_then": version, "urgent_at": now, "later_at": later or now}
        asked = {**held_parameters(lease, key.type.python_type(lease.key)), **at}
        known = {"shown_version": version, "refusals": 0, "note": "", **more, **FREE}
        return _shown(self._table, str(self._urgent.key)), {**asked, **known}

    async def creating(self, lease: Lease, now: datetime) -> bool:
        """Note that a create is about to be sent; return False if the lease is lost.

        If its answer does not come, GitHub's list is asked for it, once it can't lack it any more.
        """
        change = self._update(lease).values(create_tried=True, due=now + LISTED_AFTER)
        return (await self._db.write(lambda conn: conn.execute(change))).rowcount == 1

    async def not_created(self, lease: Lease) -> None:
        """Note that GitHub has refused a create, or never got it."""
        change = self._update(lease).values(create_tried=False)
        await self._db.write(lambda conn: conn.execute(change))

    async def failed(self, lease: Lease, reason: NotShown, *, version: int, now: datetime) -> None:
        """Note that a version could not be shown. A newer one is due at once."""
        (key,) = self._table.primary_key.columns
        at = {"failed_version": version, "urgent_at": now, "later_at": reason.due}
        asked = {**held_parameters(lease, key.type.python_type(lease.key)), **at}
        known = {"note": reason.note, "more_refusals": int(reason.refused), **FREE}
        change = _failed(self._table, str(self._urgent.key)), {**asked, **known}
        await self._db.write(lambda conn: conn.execute(*change))
