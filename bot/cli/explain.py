"""`ascend-ci explain`: explain why each suite is selected, who may start it, and its cost."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from bot.cli.inputs import FILE, changed_paths, git_path, policy_or_exit
from bot.cli.repository import with_checkout
from bot.core.explain import explaining
from bot.core.messages import Messages
from bot.core.policy.errors import unknown
from bot.core.policy.models import Policy
from bot.core.policy.selection import MAX_LISTED_FILES, ChangedFile, select, suites_named
from bot.core.workflows.holdings import ReadWorkflows


@click.command()
@click.option("--policy", type=FILE, required=True, help="The policy, like .github/ascend-ci.yml.")
@click.option(
    "--files-from",
    type=FILE,
    help="Changed files, one path per line, or as `git -z` lists them; -: standard input.",
)
@click.option("--suite", "words", multiple=True, help="A suite or a glob; may be repeated.")
@with_checkout
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("paths", nargs=-1)
def command(
    policy: str,
    files_from: str | None,
    words: tuple[str, ...],
    checkout: ReadWorkflows,
    paths: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Explain why a change of PATHS selects each suite, or not.

    For each suite: selected or not, the pattern and the file, who may start it, and its cost.
    """
    listed = _listed(policy, files_from, paths)
    loaded = policy_or_exit(policy)
    names = _named(loaded, words)
    files = [ChangedFile(path) for path in listed]
    truncated = len(files) > MAX_LISTED_FILES
    chosen = select(loaded, files, truncated=truncated, workflows=checkout.triggers)
    items = explaining.explain(loaded, chosen, names, checkout)
    if as_json:
        click.echo(json.dumps({"suites": [explaining.to_json(item) for item in items]}, indent=2))
    else:
        _print(items)


def _listed(policy: str, files_from: str | None, paths: tuple[str, ...]) -> list[str]:
    """Return the changed paths, from the arguments or from a file."""
    if bool(paths) is bool(files_from):
        raise click.UsageError("name the changed files either as PATHS or by --files-from")
    if files_from is None:
        return [git_path(path) for path in paths if path]
    return changed_paths(policy, files_from)


def _named(policy: Policy, words: Sequence[str]) -> set[str]:
    """Return the suites that ``words`` name; each word must name at least one."""
    names: set[str] = set()
    for word in words:
        found = suites_named(policy, word)
        if not found:
            raise click.UsageError(unknown("suite", word, policy.suites))
        names.update(found)
    return names


def _print(items: Sequence[explaining.Explanation]) -> None:
    """Print two lines for each suite: the reason, then how it starts, for whom, and its cost."""
    messages = Messages()
    width = max((len(item.suite) for item in items), default=0)
    for item in items:
        more = f" and {len(item.files) - 1} more" if len(item.files) > 1 else ""
        answer = click.style("yes", "green") if item.selected else click.style("no ", dim=True)
        click.echo(f"{answer}  {item.suite:{width}}  {item.reason}{more}")
        cost = f"{explaining.hours(messages, item.cost)}, {explaining.where(messages, item.cost)}"
        starter = "" if item.starts is explaining.Starts.GITHUB else f"{messages('head_who')}: "
        start = f"{messages('head_starts')}: {explaining.how(messages, item)}"
        who = f"{starter}{explaining.who(messages, item)}"
        click.echo(f"     {start} · {who} · {messages('head_cost')}: {cost}")
        if told := explaining.in_quarantine(messages, item.quarantine, datetime.now(UTC)):
            click.echo(f"     {told}")
    count = sum(item.selected for item in items)
    click.echo(f"{count} of {len(items)} suites selected")
