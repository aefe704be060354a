"""Leases: a loop claims due rows for a while, and only the one that holds a row may write it.

Each loop claims again and again, so its statement is made only once.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.dml import ReturningUpdate

from bot.store.columns import EPOCH


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim on a row; owner and number are the compare-and-swap of every save.

    ``number`` grows with each claim of the row, so a late writer is refused.
    """

    key: str
    owner: str
    number: int
    pokes: int = 0  # the row's count at the claim: a later poke keeps the row due


FREE: dict[str, Any] = {"lease_owner": "", "lease_until": EPOCH}
"""The columns that give a lease back."""

# Parameters have names that no column has: one with a column's name would be written to it.
AT: sa.BindParameter[Any] = sa.bindparam("claimed_at")
_BY: sa.BindParameter[Any] = sa.bindparam("claimed_by")
_UNTIL: sa.BindParameter[Any] = sa.bindparam("claimed_until")
_AT_MOST: sa.BindParameter[int] = sa.bindparam("claimed_at_most", type_=sa.Integer())


def claim_parameters(owner: str, now: datetime, *, lease_s: float, limit: int) -> dict[str, Any]:
    """Return the parameters of a claim's statement."""
    until = now + timedelta(seconds=lease_s)
    given = ((AT, now), (_BY, owner), (_UNTIL, until), (_AT_MOST, limit))
    return {parameter.key: value for parameter, value in given}


def lock_first(table: sa.Table, keys: sa.Select[Any]) -> sa.CTE:
    """Lock the first rows of a query of keys; rows that another process works on are skipped."""
    return keys.limit(_AT_MOST).with_for_update(skip_locked=True, of=table).cte("picked")


def lease_columns(table: sa.Table) -> dict[str, Any]:
    """Return the columns that a claim writes."""
    number = table.c.lease_number + 1
    return {"lease_owner": _BY, "lease_number": number, "lease_until": _UNTIL}


def claim_statement(table: sa.Table, keys: sa.Select[Any]) -> ReturningUpdate[Any]:
    """Return the statement that claims the first rows of a query of keys (of one column)."""
    (key,) = table.primary_key.columns
    chosen = key.in_(sa.select(*lock_first(table, keys).c))
    return sa.update(table).where(chosen).values(lease_columns(table)).returning(*table.c)


def lease_of(row: sa.RowMapping, key: str) -> Lease:
    """Return the lease that a claimed row carries."""
    pokes = row.get("pokes", 0)
    return Lease(key=key, owner=row["lease_owner"], number=row["lease_number"], pokes=pokes)


def held(table: sa.Table, lease: Lease) -> sa.ColumnElement[bool]:
    """Return SQL for "the lease still holds": nobody claimed the row since, or returned it."""
    return (table.c.lease_owner == lease.owner) & (table.c.lease_number == lease.number)


def still_held(table: sa.Table, key: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return SQL for "the row is the lease's, which holds", for ``held_parameters``."""
    return (
        (key == sa.bindparam("held_key"))
        & (table.c.lease_owner == sa.bindparam("held_by"))
        & (table.c.lease_number == sa.bindparam("held_number"))
    )


def held_parameters(lease: Lease, key: object) -> dict[str, Any]:
    """Return the parameters of a statement with ``still_held``."""
    return {"held_key": key, "held_by": lease.owner, "held_number": lease.number}
