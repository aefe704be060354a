"""``ascend-ci migrate``: bring the database to the newest schema."""

import asyncio
import os

import click

from bot.settings import DEFAULT_DATABASE


@click.command("migrate")
def command() -> None:
    """Bring the database (DATABASE_URL) to the newest schema; safe to run twice at once."""
    from bot.adapters.store import migrate  # noqa: PLC0415  SQLAlchemy, for this command alone

    asyncio.run(migrate(os.environ.get("DATABASE_URL", DEFAULT_DATABASE)))
    click.echo("The database is at the newest schema.", err=True)
