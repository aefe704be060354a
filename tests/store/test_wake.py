"""Waking: a poke is never lost between two waits, and crosses processes on PostgreSQL."""

import asyncio

import pytest

from bot.ports.wake import Topic
from bot.store.wake import LocalWake, open_wake
from tests.databases import PostgresServer

pytestmark = pytest.mark.both_databases


_LONG_S = 600.0  # never waited for: a lost poke fails the test by its time limit


async def test_a_poke_before_the_wait_ends_it_at_once_and_counts_once() -> None:
    wake = LocalWake()
    wake.poke(Topic.INBOX, Topic.RUNNER)
    wake.poke(Topic.INBOX)
    async with asyncio.timeout(60):
        await wake.wait(Topic.INBOX, _LONG_S)
        await wake.wait(Topic.RUNNER, _LONG_S)
    waiting = asyncio.create_task(wake.wait(Topic.INBOX, _LONG_S))
    await asyncio.sleep(0)
    assert not waiting.done()
    wake.poke(Topic.INBOX)
    async with asyncio.timeout(60):
        await waiting


async def test_a_wait_ends_by_its_timeout() -> None:
    await LocalWake().wait(Topic.INBOX, 0)


async def test_a_poke_reaches_the_waiters_of_the_own_process(database_url: str) -> None:
    async with open_wake(database_url) as wake, asyncio.timeout(60):
        wake.poke(Topic.FOLLOWER)
        await wake.wait(Topic.FOLLOWER, _LONG_S)


@pytest.mark.postgres  # on SQLite there is one process: nobody else to wake
async def test_a_poke_crosses_connections_and_names_its_topic(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.fresh()
    async with open_wake(url) as here, open_wake(url) as there:
        for topic in Topic:
            await there.wait(topic, 0)  # what connecting itself poked
        here.poke(Topic.REPORTER)
        async with asyncio.timeout(60):
            await there.wait(Topic.REPORTER, _LONG_S)


@pytest.mark.postgres
async def test_who_ends_right_after_a_poke_is_still_heard(postgres_server: PostgresServer) -> None:
    url = postgres_server.fresh()
    async with open_wake(url) as there:
        for _ in range(3):  # it may well be lucky once
            await there.wait(Topic.RUNNER, 0)
            async with open_wake(url) as command:
                command.poke(Topic.RUNNER)
            async with asyncio.timeout(60):
                await there.wait(Topic.RUNNER, _LONG_S)
