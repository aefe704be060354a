"""A fresh database for every test that stores: a real SQLite file.

A test marked ``both_databases`` runs on a real PostgreSQL too: tests of claims, locks, upserts and
races; of each statement once, for PostgreSQL is strict about types; and of one passing story.
"""

import gc
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the process that hands tests to the others reads this file, and runs none
    from bot.ports.wake import Wake
    from bot.store import Store
    from tests.databases import PostgresServer, SqliteTemplate

StoreFactory = Callable[..., Awaitable["Store"]]

BOTH = ("sqlite", pytest.param("postgres", marks=pytest.mark.postgres))


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Start one worker more than there are cores: a test that waits for a process leaves one free.

    `optionalhook`: pytest-xdist may be switched off.
    """
    return (yield) + 1


def pytest_sessionstart() -> None:
    """Look for no garbage while modules load: there is none, and looking takes a second.

    Jobs find this Python first: the machine's may be a script that takes longer than the job.
    """
    gc.disable()
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def pytest_collection_finish() -> None:
    """Look from now on, past all that was loaded.

    Look seldom: a test leaves little, and looking takes 2 to 6 % of the time at 100,000 objects.
    """
    gc.freeze()
    gc.set_threshold(1_000_000, 20, 20)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Look a last time: pytest looks five times for what the last tests left, each as dear."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """Undo what a command that ran in this process made of the logs."""
    import structlog  # noqa: PLC0415  only where tests run, as below

    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SqliteTemplate]":
    from tests.databases import SqliteTemplate, quick_folder  # noqa: PLC0415

    template = SqliteTemplate(tmp_path_factory.mktemp("sqlite"), quick_folder())
    yield template
    template.close()


@pytest.fixture(scope="session")
def postgres_server() -> "Iterator[PostgresServer]":
    """Start PostgreSQL when the first test asks for it."""
    from tests.databases import PostgresServer, quick_folder  # noqa: PLC0415

    server = PostgresServer(quick_folder())
    yield server
    server.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let a test marked ``both_databases`` run once on each."""
    marked = metafunc.definition.get_closest_marker("both_databases")
    if marked and "database_kind" in metafunc.fixturenames:
        metafunc.parametrize("database_kind", BOTH, indirect=True)


@pytest.fixture
def database_kind(request: pytest.FixtureRequest) -> str:
    """Return the kind of a test's database."""
    return str(getattr(request, "param", "sqlite"))


@pytest.fixture
def database_url(request: pytest.FixtureRequest, database_kind: str, tmp_path: Path) -> str:
    """Return the URL of a fresh, migrated database."""
    if database_kind == "sqlite":
        template: SqliteTemplate = request.getfixturevalue("sqlite_template")
        return template.fresh(tmp_path)
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.fresh()


@pytest.fixture
async def store_factory(database_url: str) -> AsyncIterator[StoreFactory]:
    """Return a function that opens one more store on the test's database, as a replica does."""
    from bot.store import Store  # noqa: PLC0415

    opened: list[Store] = []

    async def factory(*, wake: "Wake | None" = None) -> Store:
        store = await Store.open(database_url, wake=wake)
        opened.append(store)
        return store

    yield factory
    for store in opened:
        await store.close()


@pytest.fixture
async def store(store_factory: StoreFactory) -> "Store":
    """Return a store on a fresh database."""
    return await store_factory()
