"""`ascend-ci sync`: compare the policy of a checkout with its workflows, and mend it."""

import codecs
import json
import sys
from pathlib import Path

import click

from bot.cli.init.checkout import Checkout, RefusedError
from bot.cli.init.install import FileChange
from bot.cli.init.templates import Wanted
from bot.cli.init.workflows import sources_of
from bot.cli.repository import REPO
from bot.cli.sync.edit import edited
from bot.core.messages.words import count
from bot.core.policy.loading import PolicyErrors, load_policy
from bot.core.policy.models import Policy
from bot.core.policy.selection import POLICY_PATH
from bot.core.policy.tree import WORKFLOWS
from bot.core.workflows.drift import Drift, drifts


@click.command()
@click.option("--check", is_flag=True, help="End with 1 if the policy and the workflows differ.")
@click.option("--write", is_flag=True, help="Edit the policy; its comments stay.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("directory", metavar="DIR", type=REPO)
def command(directory: Path, *, check: bool, write: bool, as_json: bool) -> None:
    """Compare the policy of the checkout DIR with its workflows.

    It lists the jobs on Ascend NPUs that no suite covers, the workflows and jobs that suites name
    and that do not exist, and the suites whose labels, time limit, number of jobs at once or path
    filters differ from those of their workflow.

    --write edits the policy: it adds suites and labels, changes `runners`, `timeout_minutes`,
    `nodes` and `paths`, and removes what is gone. Comments stay. It prints the change as a diff,
    and lists what has to be changed by hand.

    The exit code is 0. It is 1 with --check if there is a difference, with --write if one is left,
    and if the policy has errors. It is 2 on wrong use.
    """
    if check and write:
        raise click.UsageError("name either --check or --write")
    checkout = Checkout(directory.resolve())
    raw = _policy(checkout)
    policy = _loaded(raw)
    found = _compared(checkout, policy)
    left = _write(checkout, raw, found, quiet=as_json) if write else found
    if as_json:
        click.echo(json.dumps({"differences": [_as_json(one, left, write=write) for one in found]}))
    else:
        _print(found, left, write=write)
    sys.exit(1 if left and (check or write) else 0)


def _policy(checkout: Checkout) -> bytes:
    try:
        raw = checkout.read(POLICY_PATH)
    except RefusedError as error:
        raise click.UsageError(str(error)) from error
    if raw is None:
        raise click.UsageError(f"there is no {POLICY_PATH}; `ascend-ci init` writes one")
    return raw


def _loaded(raw: bytes) -> Policy:
    loaded = load_policy(raw)
    if isinstance(loaded, PolicyErrors):
        for error in loaded.errors:
            click.echo(f"{POLICY_PATH}:{error.line}: {error.path}: {error.message}", err=True)
        sys.exit(1)
    return loaded


def _compared(checkout: Checkout, policy: Policy) -> list[Drift]:
    sources, refused = sources_of(checkout)
    for one in refused:
        click.echo(f"{one.file}: {one.reason}", err=True)
    there = {one.path for one in sources} | {one.file for one in refused}
    named = {f"{WORKFLOWS}{suite.workflow}" for suite in policy.suites.values()}
    return list(drifts(policy, sources, named - there))


def _write(checkout: Checkout, raw: bytes, found: list[Drift], *, quiet: bool) -> list[Drift]:
    """Edit the policy, and return what is left to be done by hand."""
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    text, left = edited(raw.removeprefix(mark).decode(), found)
    after = mark + text.encode()
    if after != raw:
        change = FileChange(POLICY_PATH, raw, after, to_executable=False)
        if not quiet:
            click.echo(change.diff(), nl=False)
        try:
            checkout.write(Wanted(POLICY_PATH, after))
        except RefusedError as error:
            raise click.ClickException(f"{POLICY_PATH}: {error}") from error
    return left


def _print(found: list[Drift], left: list[Drift], *, write: bool) -> None:
    for one in found:
        done = f"{'by hand' if one in left else 'written':<8} " if write else ""
        place = "".join(char if char.isprintable() else "?" for char in one.file)
        click.echo(f"{done}{one.kind:<7} {place}:{one.line}: {one.message}")
    if found:
        click.echo(f"{count(len(found), 'difference')}, {len(left)} left", err=True)
    else:
        click.echo("The policy fits the workflows.", err=True)


def _as_json(one: Drift, left: list[Drift], *, write: bool) -> dict[str, object]:
    found: dict[str, object] = {
        "kind": one.kind.value,
        "file": one.file,
        "line": one.line,
        "suite": one.draft.key if one.draft else one.suite,
        "reason": str(one.message),
    }
    return found | {"written": one not in left} if write else found
