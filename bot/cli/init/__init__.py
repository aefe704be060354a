"""`ascend-ci init`: write workflows, scripts and a policy into a checkout."""

import json
import sys
from pathlib import Path

import click

from bot.cli.init.checkout import Checkout
from bot.cli.init.install import (
    AS_WANTED,
    Ask,
    FileChange,
    Installed,
    Result,
    install,
    loss_text,
)
from bot.cli.init.templates import wanted, with_policy
from bot.cli.init.workflows import policy_from_workflows
from bot.core.workflows import Transfer

_NO_POLICY = """\
No workflow could be carried over, so no policy was written: none is started by pull requests or a
schedule and has a job on a label that names Ascend NPUs. Without --from-workflows a starter policy
is written.\
"""
_NEXT = """\
Next: set labels and `slots` in .github/ascend-ci.yml to what your runners can hold, set the
repository variables that the workflows read (ASCEND_CI_URL, SUBMITTER_URL, ASCEND_CI_STAGING_DIR),
check the policy with `ascend-ci check-policy .github/ascend-ci.yml`, and commit it all to the
default branch. Everybody with write can start the workflows by hand until the variable
ASCEND_CI_ACTOR names the account of your app (its page is https://github.com/apps/<app-slug>):
  gh variable set ASCEND_CI_ACTOR --body '<app-slug>[bot]'\
"""
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.option(
    "--yes", is_flag=True, help="Ask nothing: create missing files, keep files that differ."
)
@click.option(
    "--force",
    is_flag=True,
    help="Create and replace files; ask only before a script of the repository loses something.",
)
@click.option(
    "--from-workflows",
    is_flag=True,
    help="Make the policy from the workflows in DIR, instead of the starter policy.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("directory", metavar="DIR", type=_FOLDER)
def command(
    directory: Path, *, yes: bool, force: bool, from_workflows: bool, as_json: bool
) -> None:
    """Put workflows, scripts and a policy into the checkout DIR.

    Without --yes or --force it shows each change as a diff and asks. Files that are already right
    stay unchanged, so a second run changes nothing. It follows no symbolic link below DIR.

    Scripts outside of .github/ are the repository's own, and are kept. --force replaces them, too:
    it compares the arguments, lists those that the new script lacks, and asks. With --yes as well,
    a script that would lose something is kept.

    --from-workflows makes suites from the workflows in .github/workflows/ that have a job on Ascend
    NPUs. GitHub continues to start them, and the bot follows them. The jobs that pull requests
    start are one suite. In a workflow that only a schedule, a person or another workflow starts,
    each job is a suite of its own. A job is on NPUs if one of its labels is not hosted by GitHub
    and has a word (between -, _ and .) that is an Ascend chip, npu or ascend. Everything that a
    policy cannot say is listed with file and line; --json lists each place. The workflows and
    scripts are written, too: a suite needs them once the bot starts it. Both policies begin with
    `mode: dry_run`, which starts nothing.

    The exit code is 0 if every file is right. It is 1 if a file was kept, skipped or refused, or if
    no workflow became a suite. It is 2 on wrong use.
    """
    checkout = Checkout(directory.resolve())
    if not (directory / ".git").exists():
        click.echo(f"{directory} is not a Git checkout. Is it the right folder?", err=True)
    files = wanted()
    carried = policy_from_workflows(checkout) if from_workflows else None
    if carried is not None:
        files = with_policy(files, carried.policy)
    done = install(checkout, files, _answer(yes=yes, force=force))
    if as_json:
        click.echo(json.dumps(_as_json(done, carried), indent=2))
    else:
        _print(done, carried, force=force)
        click.echo(
            _NO_POLICY if carried is not None and carried.policy is None else _NEXT, err=True
        )
    complete = all(one.status in AS_WANTED for one in done)
    sys.exit(0 if complete and (carried is None or carried.policy is not None) else 1)


def _answer(*, yes: bool, force: bool) -> Ask:
    """Return the function that decides on a change: by the options, or by asking."""

    def forced(change: FileChange) -> bool:
        lost = change.lost()
        return not lost or (not yes and _ask_despite(change, lost))

    if force:
        return forced
    if yes:
        return lambda change: change.before is None
    return lambda change: not change.of_repository and _ask(change)


def _ask(change: FileChange) -> bool:
    click.echo(change.diff(), err=True)
    verb = "Create" if change.before is None else "Replace"
    return _confirm(f"{verb} {change.path}?", default=change.before is None)


def _ask_despite(change: FileChange, lost: list[str]) -> bool:
    """Ask whether a script may be replaced that would lose something."""
    click.echo(f"{change.path} differs{loss_text(lost)}.", err=True)
    return _confirm(f"Replace {change.path}?", default=False)


def _confirm(question: str, *, default: bool) -> bool:
    try:
        return click.confirm(question, default=default, err=True)
    except click.Abort:
        click.echo(
            "\nNobody answered: --yes creates missing files, --force also replaces files, and both "
            "together keep a script that would lose something.",
            err=True,
        )
        raise


def _as_json(done: list[Installed], carried: Transfer | None) -> dict[str, object]:
    files = [{"path": one.path, "status": one.status.value, "reason": one.reason} for one in done]
    if carried is None:
        return {"files": files}
    workflows = [
        {"file": one.file, "suite": one.suite, "reason": one.reason} for one in carried.workflows
    ]
    missed = [{"file": one.file, "line": one.line, "reason": one.reason} for one in carried.missed]
    return {"files": files, "workflows": workflows, "missed": missed}


def _print(done: list[Installed], carried: Transfer | None, *, force: bool) -> None:
    for one in done:
        hint = "; --force replaces it" if one.status is Result.KEPT and not force else ""
        _line(one.status.value, one.path, f"{one.reason}{hint}")
    if carried is None:
        return
    for workflow in carried.workflows:
        if workflow.suite is not None:
            detail = workflow.reason.removeprefix("carried over")
            _line("carried", workflow.file, f"suite {workflow.suite}{detail}")
    left = [(one.file, one.reason, one.reason) for one in carried.workflows if one.suite is None]
    _fold("left", left)
    places = [(f"{one.file}:{one.line}", one.reason, one.shared) for one in carried.missed]
    _fold("missed", places)


def _fold(kind: str, places: list[tuple[str, str, str]]) -> None:
    """Print a line for each reason; places with the same one share it."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for place, reason, shared in places:
        alike.setdefault(shared, []).append((place, reason))
    for shared, (first, *others) in alike.items():
        if others:
            _line(kind, f"{first[0]} and {len(others)} more", shared)
        else:
            _line(kind, *first)


def _line(word: str, path: str, reason: str) -> None:
    place = "".join(char if char.isprintable() else "?" for char in path)
    click.echo(f"{word:<9} {place}{f': {reason}' if reason else ''}")
