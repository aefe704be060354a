"""The files and branches of a checkout that a person names on the command line."""

import os
import subprocess
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import click

from bot.core.policy.tree import Names, RepoTree
from bot.core.workflows.holdings import read_checkout
from bot.core.workflows.notes import SourceFile
from bot.core.workflows.reading import MAX_BYTES

REPO = click.Path(exists=True, file_okay=False, path_type=Path)

_WORKFLOWS = ".github/workflows"
_MOST_WORKFLOWS = 500
# Nothing that a checkout's own configuration names is started. A clone may lack parts, and Git
# would ask for them: by any command that the configuration gives for it.
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
_ALONE = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}


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
            [*_GIT, "-C", str(folder), *arguments],
            capture_output=True,
            check=True,
            env={**os.environ, **_ALONE},
        )
    except FileNotFoundError as error:
        raise click.ClickException("git is not installed") from error
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode("utf-8", "replace").strip()
        raise click.ClickException(f"git {arguments[0]}: {words}") from error
    return done.stdout.decode("utf-8", "replace")


def with_checkout(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options ``--repo`` and ``--base``, as the workflows that they name."""

    @click.option(
        "--repo", type=REPO, help="A checkout: its workflows tell what jobs of native suites hold."
    )
    @click.option("--base", help="Leave out what GitHub does not start for this base branch.")
    @wraps(command)
    def read(*arguments: Any, repo: Path | None, base: str | None, **options: Any) -> None:
        if base and repo is None:
            raise click.UsageError("--base needs --repo: the workflows name their base branches")
        files = _workflows(repo) if repo else ()
        command(*arguments, checkout=read_checkout(files, base or ""), **options)

    return read


def _workflows(folder: Path) -> Iterator[SourceFile]:
    found = sorted((folder / _WORKFLOWS).glob("*.y*ml"))[:_MOST_WORKFLOWS]
    return (SourceFile(path.name, _beginning(path)) for path in found if path.is_file())


def _beginning(path: Path) -> bytes:
    """Return a file, of a larger one so much that it is told to be too large."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)
