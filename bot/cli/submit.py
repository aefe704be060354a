"""`ascend-ci submit`: the single-file helper of the workflows, its arguments passed on unread."""

from __future__ import annotations

import sys

import click

from bot import submit


@click.command(
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Submit a RayJob, follow its log, end with its verdict."""
    sys.exit(submit.main(list(arguments)))
