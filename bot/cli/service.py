"""`ascend-ci serve`, `worker` and `migrate`: settings, and errors at the start."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from bot.settings import Kind, OperatorSettings, Settings, SettingsError, read_settings

WRONG_USE = 2
UNREACHABLE = 3


def settings_or_exit(kind: type[Kind]) -> Kind:
    """Read the environment; print all mistakes and exit with 2."""
    try:
        return read_settings(kind)
    except SettingsError as error:
        click.echo("The settings can't be used:", err=True)
        for problem in error.problems:
            click.echo(f"  {problem}", err=True)
        sys.exit(WRONG_USE)


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Print one line if a process can't start, and exit with 2 or 3."""
    from bot.ports.errors import (  # noqa: PLC0415  not for every command
        DatabaseTrouble,
        ListenError,
    )

    try:
        yield
    except ListenError as error:
        _leave(WRONG_USE, f"HOST, PORT: {error}")
    except DatabaseTrouble as error:
        _leave(UNREACHABLE, f"DATABASE_URL: {error}: {error.why}")


def _leave(status: int, line: str) -> NoReturn:
    click.echo(line, err=True)
    sys.exit(status)


def _service_command(name: str, text: str, *, with_web: bool) -> click.Command:
    """Return a command that runs the service."""

    @click.command(name, help=text)
    def command() -> None:
        settings = settings_or_exit(Settings)
        from bot.app import run  # noqa: PLC0415  seconds of imports, for these commands alone

        with exit_on_error():
            asyncio.run(run(settings, with_web=with_web))

    return command


serve = _service_command("serve", "Answer webhooks and do the work, until SIGTERM.", with_web=True)
worker = _service_command(
    "worker", "Do the work only, beside a `serve`, until SIGTERM.", with_web=False
)


@click.command("migrate")
def migrate() -> None:
    """Bring the database (DATABASE_URL) to the newest schema.

    It is safe to run it twice at once.
    """
    settings = settings_or_exit(OperatorSettings)
    from bot import store  # noqa: PLC0415  SQLAlchemy, for this command alone

    with exit_on_error():
        asyncio.run(store.migrate(settings.database_url))
    click.echo("The database is at the newest schema.", err=True)
