"""`ascend-ci match`: show which suites a list of changed files selects, without a server."""

import json
import sys

import click

from bot.cli.inputs import FILE, changed_paths, policy_or_exit
from bot.cli.repository import with_checkout
from bot.core.explain.explaining import for_base
from bot.core.policy.selection import MAX_LISTED_FILES, ChangedFile, Selection, select
from bot.core.workflows.holdings import ReadWorkflows

_UNBOUND = 10_000  # columns


@click.command()
@click.option("--policy", type=FILE, required=True, help="The policy, like .github/ascend-ci.yml.")
@click.option(
    "--files-from",
    type=FILE,
    default="-",
    show_default="standard input",
    help="Changed files, one path per line, or as `git -z` lists them.",
)
@with_checkout
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(policy: str, files_from: str, checkout: ReadWorkflows, *, as_json: bool) -> None:
    """Show which suites a change selects, and why."""
    paths = changed_paths(policy, files_from)
    loaded = policy_or_exit(policy)
    files = [ChangedFile(path) for path in paths]
    selection = select(loaded, files, truncated=len(files) > MAX_LISTED_FILES)
    selection = for_base(loaded, selection, checkout)
    if as_json:
        click.echo(json.dumps(_as_json(selection), indent=2))
    else:
        _print_table(selection)


def _as_json(selection: Selection) -> dict[str, object]:
    """Return the object that `--json` prints."""
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
    # In a pipe a row is one line and nothing is cut, for grep.
    console = Console(width=None if sys.stdout.isatty() else _UNBOUND)
    console.print(table)
    count = len(selection.selected)
    console.print(f"{count} of {len(selection.choices)} suites selected", highlight=False)
