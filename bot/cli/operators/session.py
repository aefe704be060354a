"""Open the database for one command, and turn failures into exit codes."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NoReturn, TypeVar

import click
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from bot.adapters.clock import SystemClock
from bot.cli.service import UNREACHABLE, WRONG_USE
from bot.core.github.markdown import one_line
from bot.ports.errors import DatabaseTrouble
from bot.services.operator import No, Operator
from bot.settings import OperatorSettings, SettingsError, pages_of, read_settings
from bot.store import Store
from bot.store.database import refusals
from bot.store.ids import ulid
from bot.store.trouble import problem_of, why_of
from bot.store.wake import open_wake
from bot.telemetry import configure_logs

NO = 1

_FORMS = "sqlite:///FILE, or postgresql+asyncpg://… with its driver installed"

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """Everything that an operator's command works with."""

    store: Store
    operator: Operator
    pages: str  # the address of GitHub's pages
    policies: tuple[str, ...]  # the server's own policy, which is not in the database
    now: datetime

    async def with_time(self, asked: Awaitable[Answer]) -> tuple[Answer, datetime]:
        """Return an answer together with the time of this session."""
        return await asked, self.now


def operate(work: Callable[[OperatorSession], Awaitable[Answer]], *, who: str = "") -> Answer:
    """Run ``work`` on the database; exit with 2 or 3 if the database can't be used.

    Everything that is written names ``who``; without it the command may only read.
    """
    try:
        settings = read_settings(OperatorSettings)
        _check_file(settings.database_url)
        return asyncio.run(_operate(settings, work, who))
    except SettingsError as error:
        exit_with(WRONG_USE, *error.problems)
    except (ArgumentError, ModuleNotFoundError):  # its text may hold the password
        exit_with(WRONG_USE, f"DATABASE_URL can't be used: {_FORMS}")
    except DatabaseTrouble as error:
        exit_with(UNREACHABLE, f"{error}: {error.why}")


def exit_with(status: int, *lines: str) -> NoReturn:
    """Print the reason on standard error, and exit with this code."""
    for line in lines:
        click.echo(one_line(line), err=True)
    sys.exit(status)


def or_exit(answer: Answer | No, status: int = NO) -> Answer:
    """Return the answer; a refusal ends the command with this code."""
    if isinstance(answer, No):
        exit_with(status, answer.why)
    return answer


async def _operate(
    settings: OperatorSettings, work: Callable[[OperatorSession], Awaitable[Answer]], who: str
) -> Answer:
    configure_logs("WARNING", "console")
    await _check(settings.database_url)
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        # A command that only reads needs no connection to wake the service.
        waking = open_wake(settings.database_url) if who else nullcontext()
        store = await Store.open(
            settings.database_url, wake=await stack.enter_async_context(waking)
        )
        stack.push_async_callback(store.close)
        operator = Operator(store, clock, lambda: ulid(clock.now()), who)
        pages = pages_of(str(settings.github_api_url))
        file = settings.policy_file
        own = (
            [file.read_text(encoding="utf-8", errors="replace")] if file and file.is_file() else []
        )
        session = OperatorSession(store, operator, pages, tuple(own), clock.now())
        return await work(session)


def _check_file(url: str) -> None:
    """Exit with 3 if there is no SQLite file: a connection would create an empty one."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").is_file():
        exit_with(UNREACHABLE, f"there is no database {parsed.database}: see DATABASE_URL")


async def _check(url: str) -> None:
    """Exit with 3 unless the database is reachable and has this version's schema."""
    try:
        store = await Store.open(url)
        try:
            migrated = await store.health.migrated()
        finally:
            await store.close()
    except refusals(url) as error:
        raise DatabaseTrouble(problem_of(error), why_of(error)) from error
    if not migrated:
        exit_with(UNREACHABLE, "the database is not at this version's schema: `ascend-ci migrate`")
