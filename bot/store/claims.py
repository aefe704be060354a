"""What claims have in common; each loop asks on and on, so that its statement is made only once."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import CTE, BindParameter, Integer, Select, Table, bindparam, select, update
from sqlalchemy.sql.dml import ReturningUpdate

# Parameters have names that no column has: one with a column's name would be written to it.
AT: BindParameter[Any] = bindparam("claimed_at")
_BY: BindParameter[Any] = bindparam("claimed_by")
_UNTIL: BindParameter[Any] = bindparam("claimed_until")
_AT_MOST: BindParameter[int] = bindparam("claimed_at_most", type_=Integer())


def terms(owner: str, now: datetime, *, lease_s: float, limit: int) -> dict[str, Any]:
    """Return the parameters of a claim."""
    until = now + timedelta(seconds=lease_s)
    given = ((AT, now), (_BY, owner), (_UNTIL, until), (_AT_MOST, limit))
    return {parameter.key: value for parameter, value in given}


def picking(table: Table, keys: Select[Any]) -> CTE:
    """Lock the first rows of a query of keys, past those that another process is at."""
    return keys.limit(_AT_MOST).with_for_update(skip_locked=True, of=table).cte("picked")


def leased(table: Table) -> dict[str, Any]:
    """Return the columns that a claim writes."""
    number = table.c.lease_number + 1
    return {"lease_owner": _BY, "lease_number": number, "lease_until": _UNTIL}


def claiming(table: Table, keys: Select[Any]) -> ReturningUpdate[Any]:
    """Return the statement that claims the first rows of a query of keys (of one column)."""
    (key,) = table.primary_key.columns
    chosen = key.in_(select(*picking(table, keys).c))
    return update(table).where(chosen).values(leased(table)).returning(*table.c)
