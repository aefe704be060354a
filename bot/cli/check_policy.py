"""`ascend-ci check-policy`: print every error of a policy, for editors and CI."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from bot.cli.inputs import FILE, read_bytes
from bot.cli.repository import REPO, read_tree
from bot.core.messages.words import count
from bot.core.policy.loading import PolicyError, PolicyErrors, check_policy
from bot.core.policy.models import Policy


@click.command()
@click.option("--repo", type=REPO, help="A checkout; warn of names that it does not have.")
@click.argument("file", type=FILE)
def command(file: str, repo: Path | None) -> None:
    """Check the policy FILE and print every error with its line.

    With --repo it also warns of path filters that match no file of the checkout, of branches that
    it does not have, and of suites whose workflow or script does not exist. Warnings do not change
    the exit code.
    """
    tree = read_tree(repo) if repo is not None else None
    checked = check_policy(read_bytes(file), tree, today=datetime.now(UTC).date())
    for warning in checked.warnings:
        click.echo(_line(file, warning, "warning: "), err=True)
    if isinstance(checked.result, PolicyErrors):
        for error in checked.result.errors:
            click.echo(_line(file, error))
        sys.exit(1)
    click.echo(_summary(file, checked.result, len(checked.warnings)))


def _line(name: str, error: PolicyError, kind: str = "") -> str:
    return f"{name}:{error.line}: {error.path}: {kind}{error.message}"


def _summary(name: str, policy: Policy, warnings: int) -> str:
    counts = (
        count(len(policy.suites), "suite"),
        count(len(policy.runners), "runner label"),
        count(len(policy.pools), "pool"),
        count(len(policy.nightly), "nightly time"),
        count(warnings, "warning"),
    )
    return f"{name}: OK, {', '.join(counts)}"
