"""``ascend-ci runs``: list runs and their states."""

from typing import TYPE_CHECKING

import click

from bot.cli.operators import options
from bot.core.model.runs import State

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bot.store.run_reads import ListedRun

ID_CHARS = 16  # a time and 30 random bits, enough for `show`, `cancel` and `retry`


@click.command("runs")
@click.option(
    "--state", type=click.Choice([item.value for item in State]), help="Only runs in this state."
)
@options.number
@options.repo
@click.option("--label", help="Only runs on this runner label, or waiting for it.")
@options.limit
@options.as_json
def command(
    state: str | None,
    number: int | None,
    repo: str | None,
    label: str | None,
    limit: int,
    *,
    as_json: bool,
) -> None:
    """List runs, newest first."""
    from bot.cli.operators.printing import print_json  # noqa: PLC0415
    from bot.cli.operators.session import operate  # noqa: PLC0415  SQLAlchemy, for the work alone
    from bot.store.run_reads import RunQuery  # noqa: PLC0415
    from bot.web.answers import run_json  # noqa: PLC0415

    wanted = State(state) if state else None
    query = RunQuery(repo=repo, number=number, state=wanted, label=label, limit=limit)
    found, now = operate(lambda session: session.with_time(session.store.runs.search(query)))
    if as_json:
        print_json({"runs": [run_json(item) for item in found]})
    else:
        _print(found, now)


def _print(found: "Sequence[ListedRun]", now: "datetime") -> None:
    from bot.cli.operators import printing  # noqa: PLC0415  rich, for people alone

    heads = ("run", "repository", "pr", "suite", "try", "state", "on", "for", "why")
    rows = [
        (
            printing.short(item.run.id, ID_CHARS),
            item.repo.full_name if item.repo else str(item.run.repo_id),
            printing.pull(item.run.number),
            item.run.suite,
            str(item.run.attempt),
            printing.state(item.run),
            printing.where(item.run),
            printing.since(item.run, now),
            item.run.cause or item.run.why,
        )
        for item in found
    ]
    printing.print_table(heads, rows, whole=("run", "pr", "try", "state"))
