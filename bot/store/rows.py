"""Turns rows into values and back: a column has the name of its field."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, get_type_hints

import sqlalchemy as sa

from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import Account
from bot.core.model.repos import Repo
from bot.core.model.runs import Claimant, Run
from bot.core.planning.plan import RunClaimants
from bot.store.columns import Time
from bot.store.database import DbConnection, Insert, Part, insert
from bot.store.prepared import prepared
from bot.store.tables import claimants, repos, runs

Value = TypeVar("Value")

OPEN_RUN = sa.text("runs.state <> 'done'")
"""Written as a literal, so that the partial index is seen to fit."""


def load(kind: type[Value], row: sa.RowMapping) -> Value:
    """Make a value of a dataclass from the columns named like its fields."""
    found = {
        name: Account(row[f"{name}_id"], row[name]) if is_account else row[name]
        for name, is_account in _fields(kind)  # type: ignore[arg-type]
    }
    return kind(**found)


@cache
def _fields(kind: type) -> tuple[tuple[str, bool], ...]:
    """Return a dataclass's field names, and whether each holds an account; asked for every row."""
    of = get_type_hints(kind)
    return tuple((field.name, of[field.name] is Account) for field in fields(kind))


def _columns(kind: type) -> list[str]:
    """Return the names of the columns of a dataclass: an account has one more, for its number."""
    accounts = [f"{name}_id" for name, is_account in _fields(kind) if is_account]
    return [*(name for name, _ in _fields(kind)), *accounts]


def values(value: Any) -> dict[str, Any]:
    """Return a dataclass's fields as columns."""
    row: dict[str, Any] = {}
    for name, is_account in _fields(type(value)):  # type: ignore[arg-type]
        row[name] = getattr(value, name)
        if is_account:
            row[f"{name}_id"], row[name] = row[name].id, row[name].login
    return row


async def upsert(conn: DbConnection, table: sa.Table, value: Any) -> None:
    """Write a dataclass's row, or replace the one that has its primary key."""
    await conn.execute(_upsert(insert(conn, table), value.__class__), values(value))


@cache
def _upsert(base: Insert, kind: type) -> Insert:
    keys = [column.name for column in base.table.primary_key]
    changed = {name: base.excluded[name] for name in _columns(kind) if name not in keys}
    return base.on_conflict_do_update(index_elements=keys, set_=changed)


def moment(time: datetime | None) -> sa.ColumnElement[datetime | None]:
    """Return a time for SQL where no column beside it tells how it is stored."""
    if isinstance(time, sa.BindParameter):  # of a prepared statement
        return sa.type_coerce(time, Time())
    return sa.literal(time, Time())


async def load_all(
    conn: DbConnection,
    kind: type[Value],
    table: sa.Table,
    *where: sa.ColumnElement[bool],
    order: Iterable[sa.ColumnElement[Any]] = (),
) -> tuple[Value, ...]:
    """Load the values of a table's rows."""
    columns = tuple(order)
    query = sa.select(table).where(*where).order_by(*columns) if where else _every(table, columns)
    return await load_found(conn, kind, query, {})


@cache
def _every(table: sa.Table, order: tuple[sa.ColumnElement[Any], ...]) -> sa.Select[Any]:
    return sa.select(table).order_by(*order)


async def load_found(
    conn: DbConnection, kind: type[Value], query: sa.Select[Any], parameters: dict[str, Any]
) -> tuple[Value, ...]:
    """Load the values of the rows that a prepared query finds."""
    return tuple(load(kind, row) for row in (await conn.execute(query, parameters)).mappings())


@cache
def _having(table: sa.Table, names: tuple[str, ...]) -> sa.Select[Any]:
    """Return the query of the rows whose columns have the values that its parameters name."""
    return sa.select(table).where(*(table.c[name] == sa.bindparam(name) for name in names))


class Reads(Part):
    """A part of the store with short ways to read whole rows of its tables."""

    async def _all(
        self,
        kind: type[Value],
        table: sa.Table,
        *where: sa.ColumnElement[bool],
        order: Iterable[sa.ColumnElement[Any]] = (),
    ) -> tuple[Value, ...]:
        return await self._db.read(lambda conn: load_all(conn, kind, table, *where, order=order))

    async def _found(
        self, kind: type[Value], query: sa.Select[Any], parameters: dict[str, Any]
    ) -> tuple[Value, ...]:
        return await self._db.read(lambda conn: load_found(conn, kind, query, parameters))

    async def _one(self, kind: type[Value], table: sa.Table, **key: object) -> Value | None:
        """Load the row that has this key; its query is made once, for it is asked all the time."""

        async def work(conn: DbConnection) -> Value | None:
            row = (await conn.execute(_having(table, tuple(key)), key)).mappings().first()
            return None if row is None else load(kind, row)

        return await self._db.read(work)


def oldest_first(*where: sa.ColumnElement[bool] | sa.TextClause) -> sa.Select[Any]:
    """Return the query of runs, oldest first."""
    return sa.select(runs).where(*where).order_by(runs.c.created_at, runs.c.attempt, runs.c.id)


async def load_runs(conn: DbConnection, *where: sa.ColumnElement[bool]) -> tuple[Run, ...]:
    """Load runs, oldest first."""
    return await load_found(conn, Run, oldest_first(*where), {})


@prepared
def runs_of_ids(ids: Sequence[str]) -> sa.Select[Any]:
    """Return the query of runs by their ids, oldest first."""
    return oldest_first(runs.c.id.in_(ids))


@prepared
def runs_at(repo_id: RepoId, sha: Sha) -> sa.Select[Any]:
    """Return the query of a commit's runs, oldest first."""
    return oldest_first(runs.c.repo_id == repo_id, runs.c.sha == sha)


async def load_repos(conn: DbConnection, ids: Iterable[RepoId]) -> dict[RepoId, Repo]:
    """Load repositories by their ids."""
    found = await load_found(conn, Repo, *_repos_of(tuple(ids)))
    return {repo.id: repo for repo in found}


@prepared
def _repos_of(ids: Sequence[RepoId]) -> sa.Select[Any]:
    return sa.select(repos).where(repos.c.id.in_(ids))


async def load_by_run(
    conn: DbConnection, kind: type[Value], table: sa.Table, run_ids: Iterable[str]
) -> dict[str, tuple[Value, ...]]:
    """Load the rows of many runs in one query, grouped by run, in a steady order."""
    grouped: dict[str, list[Value]] = {}
    for row in (await conn.execute(_of_runs(table), {"run_ids": list(run_ids)})).mappings():
        grouped.setdefault(row["run_id"], []).append(load(kind, row))
    return {run_id: tuple(items) for run_id, items in grouped.items()}


@cache
def _of_runs(table: sa.Table) -> sa.Select[Any]:
    """Order by time where a table has one, then by key."""
    times = [table.c.at] if "at" in table.c else []
    its = table.c.run_id.in_(sa.bindparam("run_ids", expanding=True))
    return sa.select(table).where(its).order_by(*times, *table.primary_key.columns)


async def load_claimants(
    conn: DbConnection, run_ids: Iterable[str]
) -> dict[str, tuple[Claimant, ...]]:
    """Load the claimants of many runs."""
    return await load_by_run(conn, Claimant, claimants, run_ids)


async def with_claimants(conn: DbConnection, found: tuple[Run, ...]) -> tuple[RunClaimants, ...]:
    """Return runs with their claimants."""
    grouped = await load_claimants(conn, (run.id for run in found))
    return tuple(RunClaimants(run, grouped.get(run.id, ())) for run in found)


def in_repo(repo: str, repo_id: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Return SQL for "a row is of the repository that has this number or name"."""
    if repo.isdigit():
        return repo_id == int(repo)
    owner, _, name = repo.lower().partition("/")
    named = (sa.func.lower(repos.c.owner) == owner) & (sa.func.lower(repos.c.name) == name)
    return repo_id.in_(sa.select(repos.c.id).where(named))
