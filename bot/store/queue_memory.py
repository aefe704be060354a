"""What a process remembers of each repository's queue, so that it reads only what changed since.

Each change of a run's place is written down in its transaction. Who reads goes on from the last
change that it knows. If that one is gone, because it was rolled back, or was forgotten, the whole
queue is read. So the memory may be stale or lost at any time: it is only a shorter way to the rows.
"""

import secrets
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import BigInteger, Column, Index, Select, Table, Text, delete, func, select
from sqlalchemy.pool import Pool

from bot.core.model.ids import RepoId, RunId
from bot.core.model.queue import Alternatives
from bot.core.queue.state import Holder, PendingRun
from bot.store import columns
from bot.store.database import DbConnection, insert
from bot.store.prepared import prepared
from bot.store.rows import load
from bot.store.tables import holds, metadata, pulls, queue, runs

# Who waits, or holds something, since when: the changes in their order.
queue_changes = Table(
    "queue_changes",
    metadata,
    Column("seq", columns.Counter, primary_key=True, autoincrement=True),
    Column("repo_id", BigInteger, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("mark", Text, nullable=False),
    Index("queue_changes_repo", "repo_id", "seq"),
)

_KEPT = 2000  # changes; who knows none of them reads everything
_AT_ONCE = 500  # changed runs that are read one by one; beyond, everything is read

run_author = func.coalesce(
    select(pulls.c.author_id)
    .where(pulls.c.repo_id == runs.c.repo_id, pulls.c.number == runs.c.number)
    .scalar_subquery(),
    0,
)


@dataclass
class _Queue:
    """One repository's queue after the change ``seq``, whose mark no other change has."""

    seq: int = 0
    mark: str = ""
    waiting: dict[RunId, PendingRun] = field(default_factory=dict)
    holders: dict[RunId, Holder] = field(default_factory=dict)
    kinds: dict[Alternatives, Alternatives] = field(default_factory=dict)  # equal needs: one object

    def read(self, waiting: Any, holders: Iterable[Any]) -> None:
        """Remember rows."""
        for row in waiting.mappings():
            item = load(PendingRun, row)
            needs = self.kinds.setdefault(item.needs, item.needs)
            self.waiting[item.run_id] = replace(item, needs=needs)
        self.holders |= _holders(holders)


_memories: WeakKeyDictionary[Pool, defaultdict[RepoId, _Queue]] = WeakKeyDictionary()


async def note_change(conn: DbConnection, repo_id: RepoId, run_id: RunId) -> None:
    """Write down that a run's place, or what it holds, changed."""
    row = {"repo_id": repo_id, "run_id": run_id, "mark": secrets.token_hex(8)}
    await conn.execute(insert(conn, queue_changes), row)


async def forget_changes(conn: DbConnection) -> None:
    """Delete the changes that hardly anybody still has to read."""
    newest = await conn.scalar(select(func.max(queue_changes.c.seq)))
    await conn.execute(delete(queue_changes).where(queue_changes.c.seq <= (newest or 0) - _KEPT))


async def read_queue(
    conn: DbConnection, repo_id: RepoId
) -> tuple[tuple[PendingRun, ...], tuple[Holder, ...]]:
    """Return the runs that wait, and those that hold resources, longest first."""
    known = _memories.setdefault(conn.sync_engine.pool, defaultdict(_Queue))
    memory = known[repo_id]
    changes = (await conn.execute(*_changes_since(repo_id, memory.seq))).all()
    known_is_there = changes and (changes[0].seq, changes[0].mark) == (memory.seq, memory.mark)
    if not known_is_there or len(changes) > _AT_ONCE:
        memory = known[repo_id] = await _read_all(conn, repo_id)
    elif changed := tuple({RunId(change.run_id) for change in changes[1:]}):
        waiting = await conn.execute(*_these_waiting(changed))
        holders = await conn.execute(*_these_holds(changed))
        for run_id in changed:
            memory.waiting.pop(run_id, None)
            memory.holders.pop(run_id, None)
        memory.read(waiting, holders)
        memory.seq, memory.mark = changes[-1].seq, changes[-1].mark
    return tuple(memory.waiting.values()), _longest_first(memory.holders.values())


async def _read_all(conn: DbConnection, repo_id: RepoId) -> _Queue:
    newest = (await conn.execute(*_newest_change(repo_id))).first()
    memory = _Queue(newest.seq, newest.mark) if newest else _Queue()
    waiting = await conn.execute(*_all_waiting(repo_id))
    memory.read(waiting, await conn.execute(*_all_holds(repo_id)))
    return memory


def _longest_first(holders: Iterable[Holder]) -> tuple[Holder, ...]:
    return tuple(sorted(holders, key=lambda item: (item.since, item.run_id)))


@prepared
def _changes_since(repo_id: RepoId, seq: int) -> Select[Any]:
    """Return the query of a known change and those after it, at most too many."""
    later = (queue_changes.c.repo_id == repo_id) & (queue_changes.c.seq >= seq)
    return select(queue_changes).where(later).order_by(queue_changes.c.seq).limit(_AT_ONCE + 1)


@prepared
def _newest_change(repo_id: RepoId) -> Select[Any]:
    its = queue_changes.c.repo_id == repo_id
    return select(queue_changes).where(its).order_by(queue_changes.c.seq.desc()).limit(1)


@prepared
def _all_waiting(repo_id: RepoId) -> Select[Any]:
    return select(queue).where(queue.c.repo_id == repo_id)


@prepared
def _these_waiting(run_ids: Sequence[RunId]) -> Select[Any]:
    return select(queue).where(queue.c.run_id.in_(run_ids))


@prepared
def _all_holds(repo_id: RepoId) -> Select[Any]:
    return _held().where(holds.c.repo_id == repo_id)


@prepared
def _these_holds(run_ids: Sequence[RunId]) -> Select[Any]:
    return _held().where(holds.c.run_id.in_(run_ids))


def _held() -> Select[Any]:
    what = (holds.c.run_id, runs.c.suite, holds.c.since, holds.c.resource, holds.c.amount)
    query = select(*what, runs.c.number, run_author).join(runs, runs.c.id == holds.c.run_id)
    return query.order_by(holds.c.since, holds.c.run_id, holds.c.resource)


def _holders(rows: Iterable[Any]) -> dict[RunId, Holder]:
    found: dict[RunId, Holder] = {}
    for run_id, suite, since, resource, amount, number, whose in rows:
        before = found[run_id].amounts if run_id in found else ()
        amounts = (*before, (resource, amount))
        found[run_id] = Holder(run_id, suite, since, amounts, number, whose)
    return found
