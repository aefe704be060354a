"""Files and paths that a person names on the command line."""

import sys

import click

from bot.core.policy.loading import PolicyErrors, load_policy
from bot.core.policy.models import Policy

FILE = click.Path(exists=True, dir_okay=False, allow_dash=True)


def read_bytes(path: str) -> bytes:
    """Return the contents of a file, or of standard input for ``-``."""
    with click.open_file(path, "rb") as file:
        return bytes(file.read())


def policy_or_exit(path: str) -> Policy:
    """Return the policy in a file; with errors print them and exit with 1."""
    loaded = load_policy(read_bytes(path))
    if isinstance(loaded, PolicyErrors):
        for error in loaded.errors:
            click.echo(f"{path}:{error.line}: {error.path}: {error.message}", err=True)
        sys.exit(1)
    return loaded


def changed_paths(policy: str, files_from: str) -> list[str]:
    """Return the paths in a file, one a line, as Git lists them."""
    if files_from == policy:
        raise click.UsageError("the policy and the files cannot come from the same place")
    lines = read_bytes(files_from).decode("utf-8", "replace").split("\n")
    return [git_path(line) for line in lines if line]


def git_path(line: str) -> str:
    """Return a path as Git lists it; warn on stderr if it can match nothing."""
    if line.startswith("/"):
        click.echo(f"{line}: is absolute, and patterns are relative to the checkout", err=True)
    if line.startswith('"'):
        told = "is quoted by Git: list with `git -c core.quotePath=false` or `-z`"
        click.echo(f"{line}: {told}", err=True)
    return line.removeprefix("./")
