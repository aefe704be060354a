"""The harness itself: what it calls a kill is one. SQLite leaves no transaction open."""

import asyncio

import pytest
from sqlalchemy import text

from bot.ports.errors import Transient
from bot.store.database import DbConnection
from tests.conftest import BOTH
from tests.e2e.world import World


@pytest.mark.parametrize("database_kind", [BOTH[1]], indirect=True)
async def test_a_dropped_bot_lets_go_of_the_database_and_commits_nothing(
    world: World,
) -> None:
    store = world.bot.parts.store
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work(conn: DbConnection) -> None:
        await conn.execute(text("UPDATE repos SET name = 'half'"))
        begun.set()
        await go_on.wait()

    world.open_pull(path="docs/a.md")
    await world.settle()
    writing = asyncio.create_task(store._db.write(work))
    await begun.wait()
    await world.restart()
    go_on.set()
    with pytest.raises(Transient):
        await writing
    pull = world.open_pull()
    await world.settle()
    await world.finish()
    await world.pass_time(10)
    assert world.gate(pull.head_sha).conclusion == "success"
