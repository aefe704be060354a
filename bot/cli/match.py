"""`ascend-ci match`: show which suites a list of changed files selects, without a server."""

import json
import sys
from datetime import UTC, datetime

import click

from bot.cli.inputs import FILE, changed_paths, policy_or_exit
from bot.cli.repository import with_checkout
from bot.core.explain.explaining import in_quarantine, quarantine_json
from bot.core.messages import Messages
from bot.core.policy.models import Policy
from bot.core.policy.quarantined import quarantines_of
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
    truncated = len(files) > MAX_LISTED_FILES
    selection = select(loaded, files, truncated=truncated, workflows=checkout.triggers)
    if as_json:
        click.echo(json.dumps(_as_json(loaded, selection), indent=2))
    else:
        _print_table(loaded, selection)


def _as_json(policy: Policy, selection: Selection) -> dict[str, object]:
    """Return the object that `--json` prints; a suite has `quarantine` if the policy has one."""
    return {
        "suites": [
            {
                "name": choice.suite,
                "selected": choice.selected,
                "reason": choice.reason,
                "files": list(choice.files),
                **_quarantine(policy, choice.suite),
            }
            for choice in selection.choices
        ]
    }


def _quarantine(policy: Policy, suite: str) -> dict[str, object]:
    entries = quarantines_of(policy.quarantine, suite)
    return {"quarantine": quarantine_json(entries)} if entries else {}


def _print_table(policy: Policy, selection: Selection) -> None:
    from rich.console import Console  # noqa: PLC0415 - scripts that ask for JSON need not wait
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table("suite", "selected", "why", "files")
    table.columns[0].overflow = table.columns[2].overflow = "fold"
    table.columns[3].justify = "right"
    for choice in sorted(selection.choices, key=lambda choice: not choice.selected):
        answer = Text("yes", "green") if choice.selected else Text("no", "dim")
        entries = quarantines_of(policy.quarantine, choice.suite)
        why = "; ".join(
            filter(None, (choice.reason, in_quarantine(Messages(), entries, datetime.now(UTC))))
        )
        cells = (Text(choice.suite), answer, Text(why), Text(str(len(choice.files))))
        table.add_row(*cells)
    # In a pipe a row is one line and nothing is cut, for grep.
    console = Console(width=None if sys.stdout.isatty() else _UNBOUND)
    console.print(table)
    count = len(selection.selected)
    console.print(f"{count} of {len(selection.choices)} suites selected", highlight=False)
