"""A client against the scripted server, its clock in hand, its retries without waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
import stamina
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.adapters.github import GitHubClient
from bot.adapters.github.outages import Outages
from tests.adapters.github.support import HandClock, Scripted


@pytest.fixture(scope="session")
def private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="session")
def pem(private_key: rsa.RSAPrivateKey) -> str:
    return private_key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()


@pytest.fixture(autouse=True)
def _retries_do_not_wait() -> Iterator[None]:
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def github(clock: HandClock) -> AsyncIterator[Scripted]:
    scripted = Scripted()
    scripted.clock = clock
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", scripted.handle)
    async with TestServer(app) as server:
        scripted.url = str(server.make_url("/")).rstrip("/")
        yield scripted


@pytest.fixture
async def calls() -> list[tuple[str, int]]:
    return []


@pytest.fixture
async def client(
    github: Scripted, clock: HandClock, pem: str, calls: list[tuple[str, int]]
) -> AsyncIterator[GitHubClient]:
    async with aiohttp.ClientSession() as session:
        yield GitHubClient(
            session,
            app_id="99",
            private_key=pem,
            api_url=github.url,
            api_version="2026-03-10",
            clock=clock,
            outages=Outages(clock),
            on_call=lambda operation, status, _: calls.append((operation, status)),
        )
