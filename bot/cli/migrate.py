"""``ascend-ci migrate``: bring the database to the newest schema."""

import asyncio

import click

from bot.cli.service import exit_on_error, settings_or_exit
from bot.settings import OperatorSettings


@click.command("migrate")
def command() -> None:
    """Bring the database (DATABASE_URL) to the newest schema.

    It is safe to run it twice at once.
    """
    settings = settings_or_exit(OperatorSettings)
    from bot.store import migrate  # noqa: PLC0415  SQLAlchemy, for this command alone

    with exit_on_error():
        asyncio.run(migrate(settings.database_url))
    click.echo("The database is at the newest schema.", err=True)
