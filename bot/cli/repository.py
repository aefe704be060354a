"""The files and branches of a checkout that a person names on the command line."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click

from bot.core.policy.tree import Names, RepoTree

REPO = click.Path(exists=True, file_okay=False, path_type=Path)

# Nothing that a checkout's own configuration names is started.
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")


def read_tree(folder: Path) -> RepoTree:
    """Return the files of a checkout, and its branches if its clone knows all of them."""
    if not (folder / ".git").exists():
        return RepoTree(Names(frozenset(_walked(folder))))
    listed = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    files = frozenset(path for path in listed.split("\0") if path)
    return RepoTree(
        Names(frozenset(one for one in files if os.path.lexists(folder / one))), _branches(folder)
    )


def _walked(folder: Path) -> Iterator[str]:
    for here, _, names in os.walk(folder):
        for name in names:
            yield (Path(here) / name).relative_to(folder).as_posix()


def _branches(folder: Path) -> Names | None:
    """Return the branches of a clone and its remotes; None if it holds only some."""
    if _git(folder, "rev-parse", "--is-shallow-repository").strip() == "true":
        click.echo("The clone is shallow, so branches are not checked.", err=True)
        return None
    refs = _git(folder, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes")
    names = frozenset(_branch(ref) for ref in refs.splitlines())
    return Names(names - {"HEAD"}) if names else None


def _branch(ref: str) -> str:
    """Return the branch of a ref, without the name of its remote."""
    kind, _, name = ref.removeprefix("refs/").partition("/")
    return name if kind == "heads" else name.partition("/")[2]


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - fixed words, and a folder that the user named
            [*_GIT, "-C", str(folder), *arguments], capture_output=True, check=True
        )
    except FileNotFoundError as error:
        raise click.ClickException("git is not installed") from error
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode("utf-8", "replace").strip()
        raise click.ClickException(f"git {arguments[0]}: {words}") from error
    return done.stdout.decode("utf-8", "replace")
