"""`ascend-ci submit`: the single-file helper of the workflows; it parses its own arguments."""

import sys

import click

from bot import submit


@click.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Submit a RayJob, follow its log, and end with its result."""
    sys.exit(submit.main(list(arguments)))
