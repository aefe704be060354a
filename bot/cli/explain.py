"""`ascend-ci explain`: why a change selects what, who may start it, at what cost."""

import json
import sys
from collections.abc import Sequence

import click

from bot.cli.paths import path_of
from bot.core.explain.explaining import (
    Explanation,
    Starts,
    explain,
    hours,
    how,
    to_json,
    where,
    who,
)
from bot.core.messages import Messages
from bot.core.policy import Policy, PolicyErrors, load_policy
from bot.core.policy.errors import unknown
from bot.core.policy.selection import MAX_LISTED_FILES, ChangedFile, suites_named

_FILE = click.Path(exists=True, dir_okay=False, allow_dash=True)


@click.command()
@click.option("--policy", type=_FILE, required=True, help="The policy, like .github/ascend-ci.yml.")
@click.option("--files-from", type=_FILE, help="Changed files, one path a line; -: standard input.")
@click.option("--suite", "words", multiple=True, help="A suite or a glob; may be given again.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("paths", nargs=-1)
def command(
    policy: str,
    files_from: str | None,
    words: tuple[str, ...],
    paths: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Explain each suite for a change of PATHS: selected or not, who may start it, its cost."""
    listed = _listed(policy, files_from, paths)
    loaded = load_policy(_bytes_of(policy))
    if isinstance(loaded, PolicyErrors):
        for error in loaded.errors:
            click.echo(f"{policy}:{error.line}: {error.path}: {error.message}", err=True)
        sys.exit(1)
    names = _named(loaded, words)
    files = [ChangedFile(path) for path in listed]
    items = explain(loaded, files, names=names, truncated=len(files) > MAX_LISTED_FILES)
    if as_json:
        click.echo(json.dumps({"suites": [to_json(item) for item in items]}, indent=2))
    else:
        _print(items)


def _listed(policy: str, files_from: str | None, paths: tuple[str, ...]) -> list[str]:
    """Return the changed paths, from where exactly one of the two ways says."""
    if bool(paths) is bool(files_from):
        msg = "name the changed files either as PATHS or by --files-from"
        raise click.UsageError(msg)
    if files_from is None:
        return [path_of(path) for path in paths if path]
    if files_from == policy:
        msg = "the policy and the files cannot come from the same place"
        raise click.UsageError(msg)
    lines = _bytes_of(files_from).decode("utf-8", "replace").split("\n")
    return [path_of(line) for line in lines if line]


def _bytes_of(path: str) -> bytes:
    with click.open_file(path, "rb") as file:
        return bytes(file.read())


def _named(policy: Policy, words: Sequence[str]) -> set[str]:
    """Return the suites that ``words`` stand for; each has to name one at least."""
    names: set[str] = set()
    for word in words:
        found = suites_named(policy, word)
        if not found:
            raise click.UsageError(unknown("suite", word, policy.suites))
        names.update(found)
    return names


def _print(items: Sequence[Explanation]) -> None:
    """Print two lines a suite: whether and why, then what starts it, for whom, at what cost."""
    messages = Messages()
    width = max((len(item.suite) for item in items), default=0)
    for item in items:
        more = f" and {len(item.files) - 1} more" if len(item.files) > 1 else ""
        answer = click.style("yes", "green") if item.selected else click.style("no ", dim=True)
        click.echo(f"{answer}  {item.suite:{width}}  {item.reason}{more}")
        cost = f"{hours(messages, item.cost)}, {where(messages, item.cost)}"
        starter = "" if item.starts is Starts.GITHUB else f"{messages('head_who')}: "
        start = f"{messages('head_starts')}: {how(messages, item)} · {starter}{who(messages, item)}"
        click.echo(f"     {start} · {messages('head_cost')}: {cost}")
    count = sum(item.selected for item in items)
    click.echo(f"{count} of {len(items)} suites selected")
