"""`ascend-ci digest`: show why a log failed, on any machine, without the service."""

import re
import sys
from collections.abc import Sequence
from typing import BinaryIO, cast

import click

from bot.cli.inputs import FILE
from bot.core.digest.digester import Digester
from bot.core.digest.result import Digest, Found
from bot.core.digest.signatures import load_signatures
from bot.core.github.markdown import clean
from bot.core.secrets.redaction import Redactor
from bot.resources import text

_CHUNK_BYTES = 256 * 1024
# A frame that may be the repository's own: an absolute path outside of Python's libraries.
_FRAME = re.compile(
    r'File "/(?![^"]*/(?:site-packages|dist-packages|lib/python[\d.]*)/)[^"]+", line'
)
_NO_ROOT = (
    "\n--repo-root DIR names the line in the repository: DIR is the folder of the checkout on the"
    " machine that wrote the log."
)


@click.command()
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--repo-root",
    "repo_roots",
    multiple=True,
    metavar="DIR",
    help="Folder of the checkout on the machine that wrote the log; may be a pattern.",
)
@click.option("--infra-only", is_flag=True, help="Exit with 1 if a retry would not help.")
def command(file: str, *, as_json: bool, repo_roots: tuple[str, ...], infra_only: bool) -> None:
    """Show why the log FILE failed, and whether a retry would help.

    FILE may be `-` for standard input.
    """
    with click.open_file(file, "rb") as stream:
        digest = _read(cast("BinaryIO", stream), repo_roots)
    if as_json:
        from bot.cli.operators.printing import print_json  # noqa: PLC0415  rich

        print_json(_as_json(digest))
    else:
        _print(digest)
        if not (digest.annotations or repo_roots) and _FRAME.search(digest.excerpt):
            click.echo(_NO_ROOT)
    if infra_only and not digest.infra:
        sys.exit(1)


def _read(stream: BinaryIO, repo_roots: Sequence[str]) -> Digest:
    signatures = load_signatures(text("signatures.yml"))
    digester = Digester(signatures, repo_roots=repo_roots, redactor=Redactor())
    while chunk := stream.read(_CHUNK_BYTES):
        digester.feed(chunk)
    return digester.end()


def _as_json(digest: Digest) -> dict[str, object]:
    """Return the object that `--json` prints."""
    annotations = [
        {"path": a.path, "line": a.line, "message": a.message} for a in digest.annotations
    ]
    first = digest.annotations[0] if digest.annotations else None
    return {
        "class": digest.failure_class,
        "infra": digest.infra,
        "codes": list(digest.codes),
        "root_cause_line": digest.root_cause_line,
        "excerpt": digest.excerpt,
        "annotation": None if first is None else {"path": first.path, "line": first.line},
        "annotations": annotations,
        "hint": digest.hint,
        "title": digest.title,
        "lines": digest.lines,
        "bytes": digest.bytes,
    }


def _print(digest: Digest) -> None:
    """Print for a person: class, cause, the lines around it with their numbers, hint."""
    from rich.console import Console  # noqa: PLC0415 - takes long to import
    from rich.text import Text  # noqa: PLC0415 - as above

    console = Console(soft_wrap=True, highlight=False)
    console.print(Text(clean(digest.title), style="bold"))
    if digest.root_cause_line is not None:
        retry = "a retry may help" if digest.infra else "a retry would not help"
        if digest.infra and digest.found is not Found.NOTHING:
            retry = f"infrastructure, {retry}"
        console.print(Text(f"{digest.failure_class} ({retry})"))
        codes = f" [{', '.join(digest.codes)}]" if digest.codes else ""
        console.print(Text(f"\nline {digest.root_cause_line}: {clean(digest.cause)}{codes}\n"))
    for number, line in digest.excerpt_lines:
        style = "bold" if number == digest.root_cause_line else "dim"
        console.print(Text(f"{number:>8}  {clean(line)}", style=style))
    for annotation in digest.annotations:
        console.print(Text(f"\n{clean(annotation.path)}:{annotation.line}", style="cyan"))
    if digest.found is Found.NOTHING and digest.root_cause_line is not None:
        console.print(Text("\nThe log stops without an error: its end may be lost."))
    if digest.hint:
        console.print(Text(f"\n{digest.hint}"))
    lines = f"{digest.lines} line" if digest.lines == 1 else f"{digest.lines} lines"
    console.print(Text(f"\n{lines}, {digest.bytes} bytes", style="dim"))
