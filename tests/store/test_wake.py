"""Waking: a poke is never lost between two waits, and crosses processes on PostgreSQL."""

import asyncio
from contextlib import suppress

import pytest

from bot.ports.wake import Topic, Wake
from bot.store.wake import LocalWake, open_wake
from tests.databases import PostgresServer

pytestmark = pytest.mark.both_databases


async def _drain(wake: Wake) -> None:
    """Take what connecting itself poked, and what was poked before."""
    for topic in Topic:
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                await wake.wait(topic)


async def test_a_poke_before_the_wait_ends_it_at_once_and_counts_once() -> None:
    wake = LocalWake()
    wake.poke(Topic.INBOX, Topic.RUNNER)
    wake.poke(Topic.INBOX)
    async with asyncio.timeout(60):
        await wake.wait(Topic.INBOX)
        await wake.wait(Topic.RUNNER)
    waiting = asyncio.create_task(wake.wait(Topic.INBOX))
    await asyncio.sleep(0)
    assert not waiting.done()
    wake.poke(Topic.INBOX)
    async with asyncio.timeout(60):
        await waiting


async def test_a_poke_reaches_the_waiters_of_the_own_process(database_url: str) -> None:
    async with open_wake(database_url) as wake, asyncio.timeout(60):
        wake.poke(Topic.FOLLOWER)
        await wake.wait(Topic.FOLLOWER)


@pytest.mark.postgres  # on SQLite there is one process: nobody else to wake
async def test_a_poke_crosses_connections_and_names_its_topic(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.fresh()
    async with open_wake(url) as here, open_wake(url) as there:
        await _drain(there)
        here.poke(Topic.REPORTER)
        async with asyncio.timeout(60):
            await there.wait(Topic.REPORTER)


@pytest.mark.postgres
async def test_who_ends_right_after_a_poke_is_still_heard(postgres_server: PostgresServer) -> None:
    url = postgres_server.fresh()
    async with open_wake(url) as there:
        for _ in range(3):  # it may well be lucky once
            await _drain(there)
            async with open_wake(url) as command:
                command.poke(Topic.RUNNER)
            async with asyncio.timeout(60):
                await there.wait(Topic.RUNNER)
