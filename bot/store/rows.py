"""Between rows and values: columns are named like the fields they fill."""

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import BindParameter, ColumnElement, RowMapping, Table, literal, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.core.model.ids import RepoId, Sha
from bot.core.model.runs import Claimant, Run
from bot.ports.lease import Lease
from bot.store.columns import EPOCH, Time
from bot.store.tables import claimants, runs

Value = TypeVar("Value")

FREE: dict[str, Any] = {"lease_owner": "", "lease_until": EPOCH}
"""What gives a lease back."""


def load(kind: type[Value], row: RowMapping) -> Value:
    """Make a value of a dataclass from the columns named like its fields."""
    return kind(**{name: row[name] for name in _names(kind)})  # type: ignore[arg-type]


@cache
def _names(kind: type) -> tuple[str, ...]:
    """Return a dataclass's field names; asked for every row."""
    return tuple(field.name for field in fields(kind))


def values(value: Any) -> dict[str, Any]:
    """Return a dataclass's fields as columns."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def lease_of(row: RowMapping, key: str) -> Lease:
    """Return the lease that a claimed row carries."""
    pokes = row.get("pokes", 0)
    return Lease(key=key, owner=row["lease_owner"], number=row["lease_number"], pokes=pokes)


def moment(time: datetime | None) -> BindParameter[datetime | None]:
    """Return a time for SQL where no column beside it tells how it is stored."""
    return literal(time, Time())


def held(table: Table, lease: Lease) -> ColumnElement[bool]:
    """Tell in SQL whether the row is still ours: nobody claimed it since, we did not return it."""
    return (table.c.lease_owner == lease.owner) & (table.c.lease_number == lease.number)


def shas_in(table: Table, wanted: Iterable[tuple[RepoId, Sha]]) -> ColumnElement[bool]:
    """Tell in SQL whether a row is of one of these commits."""
    return tuple_(table.c.repo_id, table.c.sha).in_(list(wanted))


async def load_all(
    conn: AsyncConnection, kind: type[Value], table: Table, *where: ColumnElement[bool]
) -> list[Value]:
    """Load the values of a table's rows."""
    found = await conn.execute(select(table).where(*where))
    return [load(kind, row) for row in found.mappings()]


async def load_runs(conn: AsyncConnection, *where: ColumnElement[bool]) -> tuple[Run, ...]:
    """Load runs, oldest first."""
    query = select(runs).where(*where).order_by(runs.c.created_at, runs.c.attempt, runs.c.id)
    return tuple(load(Run, row) for row in (await conn.execute(query)).mappings())


async def load_by_run(
    conn: AsyncConnection, kind: type[Value], table: Table, run_ids: Iterable[str]
) -> dict[str, tuple[Value, ...]]:
    """Load the rows of many runs in one query, grouped by run, in a steady order."""
    query = select(table).where(table.c.run_id.in_(list(run_ids))).order_by(*_order(table))
    grouped: dict[str, list[Value]] = {}
    for row in (await conn.execute(query)).mappings():
        grouped.setdefault(row["run_id"], []).append(load(kind, row))
    return {run_id: tuple(items) for run_id, items in grouped.items()}


def _order(table: Table) -> list[ColumnElement[Any]]:
    """Order by time where a table has one, then by key."""
    times = [table.c.at] if "at" in table.c else []
    return [*times, *table.primary_key.columns]


async def load_claimants(
    conn: AsyncConnection, run_ids: Iterable[str]
) -> dict[str, tuple[Claimant, ...]]:
    """Load the wants of many runs."""
    return await load_by_run(conn, Claimant, claimants, run_ids)
