"""What `serve`, `worker` and `migrate` share: settings read once, mistakes said at once."""

import asyncio
import sys

import click

from bot.settings import Settings, SettingsError, read_settings

WRONG_USE = 2


def settings_or_exit() -> Settings:
    """Read the environment; say every mistake and leave with 2."""
    try:
        return read_settings()
    except SettingsError as error:
        click.echo("The settings can't be used:", err=True)
        for problem in error.problems:
            click.echo(f"  {problem}", err=True)
        sys.exit(WRONG_USE)


def service_command(name: str, text: str, *, with_web: bool) -> click.Command:
    """Return a command that runs the service."""

    @click.command(name, help=text)
    def command() -> None:
        from bot.app import run  # noqa: PLC0415  seconds of imports, for these commands alone

        asyncio.run(run(settings_or_exit(), with_web=with_web))

    return command
