"""`ascend-ci schema`: print the policy's JSON Schema, for editors."""

import json

import click

from bot.core.policy.models import policy_schema


@click.command()
def command() -> None:
    """Print the JSON Schema of the policy."""
    click.echo(json.dumps(policy_schema(), indent=2))
