"""The command line: commands by file, imported only when they are called."""

import os
from functools import partial
from importlib import import_module

import click

# The module of each command, and its name there unless that is `command`.
COMMANDS = {
    "audit": "audit",
    "cancel": "runs:cancel",
    "check-policy": "check_policy",
    "demo": "demo",
    "digest": "digest",
    "explain": "explain",
    "init": "init",
    "match": "match",
    "migrate": "service:migrate",
    "nightly": "nightly",
    "pause": "pause:pause",
    "resume": "pause:resume",
    "retry": "runs:retry",
    "runs": "runs:runs",
    "schema": "schema",
    "serve": "service:serve",
    "show": "runs:show",
    "simulate": "simulate",
    "submit": "submit",
    "submitter": "submitter",
    "sync": "sync",
    "worker": "service:worker",
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
        module, _, name = COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(f"bot.cli.{module}"), name or "command")
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup)
@click.version_option(package_name="ascend-ci")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Govern CI on scarce Ascend NPUs."""
    if os.environ.get("NO_COLOR"):  # rich respects it, click does not: https://no-color.org
        ctx.color = False
    if ctx.invoked_subcommand not in {"init", "sync"}:  # what they write belongs to a repository
        # The database and its log, kept logs, jobs and locks: only for the user of the process.
        ctx.call_on_close(partial(os.umask, os.umask(0o077)))
