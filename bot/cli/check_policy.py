"""`ascend-ci check-policy`: print every error of a policy, for editors and CI."""

import sys

import click

from bot.cli.inputs import FILE, read_bytes
from bot.core.messages.words import count
from bot.core.policy.loading import PolicyError, PolicyErrors, check_policy
from bot.core.policy.models import Policy


@click.command()
@click.argument("file", type=FILE)
def command(file: str) -> None:
    """Check the policy FILE and print every error with its line."""
    checked = check_policy(read_bytes(file))
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
