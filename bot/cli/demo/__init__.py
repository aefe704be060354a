"""`ascend-ci demo`: everything on this machine, nothing of GitHub's, nothing of a cluster's."""

import asyncio
import sys

import click


@click.command()
@click.option(
    "--once", is_flag=True, help="End when all has happened; else stay up to be looked at."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print what GitHub shows in the end, as JSON."
)
@click.option(
    "--language",
    type=click.Choice(["en", "zh"]),
    default="en",
    help="The language of what the bot writes on GitHub, as `report.language` in a policy.",
)
def command(*, once: bool, as_json: bool, language: str) -> None:
    """Show the bot at work: a simulated GitHub, our submitter and the bot, on loopback.

    Ends with 0 when every check run is as expected, else with 1 and what differs.
    """
    from bot.cli.demo.run import Options, run  # noqa: PLC0415  aiohttp and rich, for this alone

    sys.exit(asyncio.run(run(Options(once=once, as_json=as_json, language=language))))
