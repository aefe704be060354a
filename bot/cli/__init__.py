"""The command line: one file for each command, imported only when it is called."""

import os
from importlib import import_module

import click

COMMANDS = {
    "audit": "audit",
    "cancel": "cancel",
    "check-policy": "check_policy",
    "demo": "demo",
    "digest": "digest",
    "explain": "explain",
    "init": "init",
    "match": "match",
    "migrate": "migrate",
    "nightly": "nightly",
    "pause": "pause",
    "resume": "resume",
    "retry": "retry",
    "runs": "runs",
    "schema": "schema",
    "serve": "serve",
    "show": "show",
    "simulate": "simulate",
    "submit": "submit",
    "submitter": "submitter",
    "worker": "worker",
}


class LazyGroup(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; return None for an unknown command."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"bot.cli.{COMMANDS[cmd_name]}").command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup)
@click.version_option(package_name="ascend-ci")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Govern CI on scarce Ascend NPUs."""
    if os.environ.get("NO_COLOR"):  # rich respects it, click does not: https://no-color.org
        ctx.color = False
