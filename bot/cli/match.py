"""`ascend-ci match`: which suites a list of changed files selects, without a server."""

import json
import sys

import click

from bot.cli.paths import path_of
from bot.core.policy import Policy, PolicyErrors, load_policy
from bot.core.policy.selection import MAX_LISTED_FILES, ChangedFile, Selection, select

_UNBOUND = 10_000  # columns
_FILE = click.Path(exists=True, dir_okay=False, allow_dash=True)


@click.command()
@click.option("--policy", type=_FILE, required=True, help="The policy, like .github/ascend-ci.yml.")
@click.option(
    "--files-from",
    type=_FILE,
    default="-",
    show_default="standard input",
    help="Changed files, one path a line.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(policy: str, files_from: str, *, as_json: bool) -> None:
    """Show which suites a change selects, and why."""
    if policy == files_from:
        msg = "the policy and the files cannot come from the same place"
        raise click.UsageError(msg)
    loaded = load_policy(_bytes_of(policy))
    if isinstance(loaded, PolicyErrors):
        for error in loaded.errors:
            click.echo(f"{policy}:{error.line}: {error.path}: {error.message}", err=True)
        sys.exit(1)
    selection = _select(loaded, _bytes_of(files_from))
    if as_json:
        click.echo(json.dumps(_answer(selection), indent=2))
    else:
        _print_table(selection)


def _bytes_of(path: str) -> bytes:
    with click.open_file(path, "rb") as file:
        return bytes(file.read())


def _select(policy: Policy, listing: bytes) -> Selection:
    lines = listing.decode("utf-8", "replace").split("\n")
    files = [ChangedFile(path_of(line)) for line in lines if line]
    return select(policy, files, truncated=len(files) > MAX_LISTED_FILES)


def _answer(selection: Selection) -> dict[str, object]:
    """Return what `--json` prints."""
    return {
        "suites": [
            {
                "name": choice.suite,
                "selected": choice.selected,
                "reason": choice.reason,
                "files": list(choice.files),
            }
            for choice in selection.choices
        ]
    }


def _print_table(selection: Selection) -> None:
    from rich.console import Console  # noqa: PLC0415 - scripts that ask for JSON need not wait
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table("suite", "selected", "why", "files")
    table.columns[0].overflow = table.columns[2].overflow = "fold"
    table.columns[3].justify = "right"
    for choice in sorted(selection.choices, key=lambda choice: not choice.selected):
        answer = Text("yes", "green") if choice.selected else Text("no", "dim")
        cells = (Text(choice.suite), answer, Text(choice.reason), Text(str(len(choice.files))))
        table.add_row(*cells)
    # Where nobody looks a row is a line and nothing is cut: for grep.
    console = Console(width=None if sys.stdout.isatty() else _UNBOUND)
    console.print(table)
    count = len(selection.selected)
    console.print(f"{count} of {len(selection.choices)} suites selected", highlight=False)
