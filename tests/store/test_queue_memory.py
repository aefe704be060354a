"""A process remembers a queue and reads what changed, whoever changed it."""

import pytest
from sqlalchemy import delete

from bot.core.model.ids import RunId, Sha
from bot.core.model.queue import Alternatives, Need
from bot.core.model.runs import Run
from bot.store import Store, queue_memory
from bot.store.database import DbConnection
from bot.store.queue_memory import forget_changes, note_change, queue_changes, read_queue
from bot.store.tables import queue
from tests.conftest import StoreFactory
from tests.store.building import NOW, REPO, put, run

pytestmark = pytest.mark.both_databases

FULL: Alternatives = ((Need("label:a3", 1, 0),),)


class Undone(Exception):  # noqa: N818  no error: the transaction's end
    """A transaction is rolled back."""


async def line_up(store: Store, *suites: str) -> list[Run]:
    """Let runs wait for what nobody gets."""
    made = [run(suite, sha=Sha(f"{n:040x}")) for n, suite in enumerate(suites)]
    await put(store, *made)
    for one in made:
        await store.queue.acquire(one, FULL, NOW)
    return made


async def waiting(store: Store) -> set[str]:
    """Return the suites of the runs that wait, as the process knows them."""

    async def work(conn: DbConnection) -> set[str]:
        return {item.suite for item in (await read_queue(conn, REPO.id))[0]}

    return await store._db.write(work)


async def test_what_another_replica_did_is_read(store_factory: StoreFactory) -> None:
    one, other = await store_factory(), await store_factory()
    await line_up(one, "a", "b")
    assert await waiting(one) == await waiting(other) == {"a", "b"}
    await line_up(other, "c")
    assert await waiting(one) == {"a", "b", "c"}


async def test_what_was_rolled_back_is_not_remembered(store: Store) -> None:
    [gone, _] = await line_up(store, "a", "b")

    async def leave(conn: DbConnection) -> None:
        await conn.execute(delete(queue).where(queue.c.run_id == gone.id))
        await note_change(conn, REPO.id, gone.id)
        assert {item.suite for item in (await read_queue(conn, REPO.id))[0]} == {"b"}
        raise Undone

    with pytest.raises(Undone):
        await store._db.write(leave)
    await line_up(store, "c")  # it takes the number of the change that never was
    assert await waiting(store) == {"a", "b", "c"}


async def test_who_knows_only_a_forgotten_change_reads_everything(
    store_factory: StoreFactory,
) -> None:
    one, other = await store_factory(), await store_factory()
    await line_up(one, "a")
    assert await waiting(other) == {"a"}
    await line_up(one, "b")

    async def prune(conn: DbConnection) -> None:
        for _ in range(queue_memory._KEPT):
            await note_change(conn, REPO.id, RunId("X"))
        await forget_changes(conn)

    await one._db.write(prune)
    assert await waiting(other) == {"a", "b"}


async def test_a_look_that_changes_nothing_writes_nothing(store: Store) -> None:
    [first] = await line_up(store, "a")

    async def changes(conn: DbConnection) -> int:
        return len((await conn.execute(queue_changes.select())).all())

    before = await store._db.read(changes)
    await store.queue.acquire(first, FULL, NOW)
    assert await store._db.read(changes) == before
