"""`ascend-ci simulate`: show what a policy would have run over past commits, and the cost."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from bot.cli.inputs import FILE, policy_or_exit
from bot.cli.repository import with_checkout
from bot.core.explain import simulation as trial
from bot.core.explain.explaining import Starts, starts
from bot.core.messages.words import count, number
from bot.core.policy.errors import unknown
from bot.core.policy.models import Policy
from bot.core.workflows.holdings import ReadWorkflows

if TYPE_CHECKING:
    from rich.table import Table


@click.command()
@click.option("--policy", type=FILE, required=True, help="The policy to try.")
@click.option("--against", type=FILE, help="The policy to compare it with.")
@click.option(
    "--commits",
    type=FILE,
    required=True,
    help='JSON lines, like {"commit": "1a2b3c4", "files": ["src/a.py"]}.',
)
@click.option(
    "--minutes",
    "times",
    type=FILE,
    help='JSON, like {"unit": 35}: typical minutes of suites. Default: the time limits.',
)
@with_checkout
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    policy: str,
    against: str | None,
    commits: str,
    times: str | None,
    checkout: ReadWorkflows,
    *,
    as_json: bool,
) -> None:
    """Show what a policy would have started over past commits.

    Only automatic starts count. The cost is in NPU-hours: nodes × NPUs × hours. The hours are each
    suite's time limit, or its typical minutes.
    """
    if [policy, against, commits, times].count("-") > 1:
        raise click.UsageError("only one of the files can be standard input")
    new, old = policy_or_exit(policy), policy_or_exit(against) if against else None
    past = _commits(commits)
    minutes = _minutes(times, {*new.suites, *(old.suites if old else ())}) if times else {}
    simulation = trial.simulate(new, past, minutes, checkout)
    before = trial.simulate(old, past, minutes, checkout) if old else None
    difference = trial.compare(before, simulation) if before else None
    if as_json:
        click.echo(json.dumps(trial.to_json(simulation, difference), indent=2))
    else:
        _print(simulation, difference, typical=bool(minutes))
        _notes(new, simulation)


def _commits(path: str) -> tuple[trial.PastCommit, ...]:
    with click.open_file(path, encoding="utf-8", errors="replace") as file:
        read = trial.read_commits(file)
    if isinstance(read, trial.BadLine):
        raise click.UsageError(f"{path}:{read.line}: {read.message}")
    return read


def _minutes(path: str, suites: set[str]) -> Mapping[str, float]:
    with click.open_file(path, encoding="utf-8", errors="replace") as file:
        try:
            data = json.load(file)
        except (ValueError, RecursionError) as error:
            raise click.UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict) or not all(map(_is_time, data.values())):
        raise click.UsageError(f'{path} is not like {{"unit": 35}}, minutes above 0')
    for name in data:
        if name not in suites:
            raise click.UsageError(f"{path}: {unknown('suite', name, sorted(suites))}")
    return data


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e6


def _print(
    simulation: trial.Simulation, difference: trial.Difference | None, *, typical: bool
) -> None:
    from rich.console import Console  # noqa: PLC0415 - scripts that ask for JSON need not wait

    console = Console(highlight=False, markup=False)
    console.print(_table(simulation, difference))
    bound = "about" if typical else "up to"
    console.print(_total("", simulation, bound))
    if difference is None:
        return
    console.print(_total("before: ", difference.old, bound))
    for item in difference.commits:
        signs = [*(f"+{name}" for name in item.added), *(f"-{name}" for name in item.removed)]
        console.print(f"{item.commit}  {' '.join(signs)}", soft_wrap=True)
    same = len(simulation.commits) - len(difference.commits)
    console.print(f"{same} of {count(len(simulation.commits), 'commit')} select the same suites")


def _notes(policy: Policy, simulation: trial.Simulation) -> None:
    """Print which runs the bot does not start: those of GitHub, and all in a dry run."""
    native = {name for name, suite in policy.suites.items() if starts(suite) is Starts.GITHUB}
    theirs = sum(tally.runs for tally in simulation.suites if tally.suite in native)
    ours = simulation.runs - theirs
    if theirs:
        runs = count(theirs, "run is", "runs are")
        click.echo(f"{runs} started by GitHub itself (native suites), {ours:,} by the bot")
    if policy.mode == "dry_run":
        runs = count(ours, "run")
        click.echo(f"dry run: the bot would start {runs}, and starts nothing until `mode: on`")


def _total(head: str, simulation: trial.Simulation, bound: str) -> str:
    starting = f"{simulation.starting} of {count(len(simulation.commits), 'commit')}"
    cost = f"{count(simulation.runs, 'run')}, {bound} {number(simulation.npu_hours)} NPU-hours"
    return f"{head}{starting} start something: {cost}"


def _table(simulation: trial.Simulation, difference: trial.Difference | None) -> "Table":
    """Return a row for each suite that runs, under both policies if there are two."""
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(
        "suite", "runs", "NPU-hours", *(("runs before", "NPU-hours before") if difference else ())
    )
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.justify = "right"
    both = [simulation, difference.old] if difference else [simulation]
    tallies = [{tally.suite: tally for tally in item.suites} for item in both]
    for name in dict.fromkeys(name for item in tallies for name in item):
        row = [item.get(name) for item in tallies]
        if any(tally and tally.runs for tally in row):
            told = [(f"{t.runs:,}", number(t.npu_hours)) if t else ("-", "-") for t in row]
            table.add_row(Text(name), *(cell for cells in told for cell in cells))
    return table
