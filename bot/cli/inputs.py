"""Files and paths that a person names on the command line."""

import codecs
import re
import sys

import click

from bot.core.policy.loading import PolicyErrors, load_policy
from bot.core.policy.models import Policy

# How Git writes a character of a quoted name (quote.c): a letter, or a byte in octal digits.
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})')
_ESCAPES = {
    b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r",
    b'"': b'"', b"\\": b"\\",
}  # fmt: skip

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
    """Return the paths in a file as Git lists them: one a line, or each ended by NUL (`-z`)."""
    if files_from == policy:
        raise click.UsageError("the policy and the files cannot come from the same place")
    data = read_bytes(files_from).removeprefix(codecs.BOM_UTF8)
    names = data.split(b"\0")
    if len(names) == 1:  # Git quotes a name with a carriage return, so a bare one is Windows'
        names = [_unquoted(line.removesuffix(b"\r")) for line in data.split(b"\n")]
    return [git_path(name.decode("utf-8", "replace")) for name in names if name]


def _unquoted(name: bytes) -> bytes:
    """Return a name without the quotes in which Git lists one with unusual characters."""
    if len(name) < 2 or not name.startswith(b'"') or not name.endswith(b'"'):
        return name
    return _ESCAPE.sub(
        lambda found: _ESCAPES.get(found[1]) or bytes([int(found[1], 8)]), name[1:-1]
    )


def git_path(line: str) -> str:
    """Return a path as Git lists it; warn on stderr if it can match nothing."""
    if line.startswith("/"):
        click.echo(f"{line}: is absolute, and patterns are relative to the checkout", err=True)
    return line.removeprefix("./")
