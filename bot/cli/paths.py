"""Paths that people hand over: as Git lists them, relative to the checkout."""

import click


def path_of(line: str) -> str:
    """Return a path as Git lists it; say on stderr why one can match nothing."""
    if line.startswith("/"):
        click.echo(f"{line}: is absolute, and patterns are relative to the checkout", err=True)
    if line.startswith('"'):
        told = "is quoted by Git: list with `git -c core.quotePath=false` or `-z`"
        click.echo(f"{line}: {told}", err=True)
    return line.removeprefix("./")
