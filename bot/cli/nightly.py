"""``ascend-ci nightly``: list the nightly schedules, and start one now."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from bot.cli.operators import options
from bot.cli.service import WRONG_USE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.cli.operators.session import OperatorSession
    from bot.core.planning.schedule import Firing
    from bot.store.schedules import ScheduleListing

# A schedule, one of its firings, the results of its suites.
Row = tuple["ScheduleListing", "Firing | None", dict[str, str]]


@click.group("nightly")
def command() -> None:
    """List the nightly schedules, and start one now."""


@command.command("list")
@options.repo
@click.option(
    "--nights",
    "each",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Number of firings of each schedule, newest first.",
)
@options.as_json
def listing(repo: str | None, each: int, *, as_json: bool) -> None:
    """List the schedules of all policies, and their last results."""
    from bot.cli.operators.printing import print_json  # noqa: PLC0415
    from bot.cli.operators.session import operate  # noqa: PLC0415  SQLAlchemy, for the work alone

    async def work(session: "OperatorSession") -> "tuple[list[Row], datetime]":
        told = [
            item for item in await session.store.schedules.listing(each=each) if _is_of(item, repo)
        ]
        rows = [row for item in told for row in await _rows(session, item)]
        return rows, session.now

    rows, now = operate(work)
    if as_json:
        print_json({"nightly": _as_json(rows)})
    else:
        _print(rows, now)


@command.command("run")
@click.argument("name")
@options.repo
@options.by
@options.as_json
def run(name: str, repo: str | None, by: str, *, as_json: bool) -> None:
    """Let the running service start the schedule NAME now.

    It runs on the head of its branch. The next time of the schedule stays. A suite that already
    runs on that commit is not started twice.
    """
    from bot.cli.operators.printing import print_json  # noqa: PLC0415
    from bot.cli.operators.session import operate  # noqa: PLC0415  SQLAlchemy, for the work alone

    async def work(session: "OperatorSession") -> "tuple[ScheduleListing, Firing]":
        return await _ask(session, name, repo, by)

    told, firing = operate(work, who=by)
    if as_json:
        print_json({"repo": told.repo.full_name, "name": firing.name, "at": _iso(firing.at)})
    else:
        click.echo(f"The service starts {firing.name} of {told.repo.full_name}.")


async def _ask(
    session: "OperatorSession", name: str, repo: str | None, by: str
) -> "tuple[ScheduleListing, Firing]":
    """Store a firing for the service, and who asked for it."""
    from bot.core.planning.plan import AuditEntry  # noqa: PLC0415
    from bot.core.planning.schedule import Firing, FiringState  # noqa: PLC0415

    told = _one(await session.store.schedules.listing(each=1), name, repo)
    at, note = session.now.replace(microsecond=0), f"asked for by {by}"
    firing = Firing(told.schedule.repo_id, name, at, FiringState.ASKED, note=note)
    entry = AuditEntry(
        session.now, by, f"nightly {name}", allowed=True, rule="operator", repo_id=firing.repo_id
    )
    await session.store.schedules.ask(firing, entry)
    return told, firing


def _one(told: "Sequence[ScheduleListing]", name: str, repo: str | None) -> "ScheduleListing":
    """Return the schedule of that name; exit with 2 if there is none, or more than one."""
    from bot.cli.operators.session import exit_with  # noqa: PLC0415

    here = [item for item in told if _is_of(item, repo)]
    found = [item for item in here if item.schedule.name == name]
    if len(found) > 1:
        names = ", ".join(item.repo.full_name for item in found)
        exit_with(WRONG_USE, f"{name} is a schedule of {names}: say which by --repo")
    if not found:
        known = ", ".join(dict.fromkeys(item.schedule.name for item in here)) or "none"
        exit_with(WRONG_USE, f"no known policy has a schedule {name}; known: {known}")
    return found[0]


def _is_of(item: "ScheduleListing", repo: str | None) -> bool:
    names = {item.repo.full_name.casefold(), str(item.repo.id)}
    return repo is None or repo.casefold() in names


async def _rows(session: "OperatorSession", item: "ScheduleListing") -> "list[Row]":
    from bot.core.planning.schedule import firing_source, latest_attempts  # noqa: PLC0415

    rows: list[Row] = []
    for firing in item.firings:
        source = firing_source(firing.name, firing.at)
        ran = latest_attempts(firing, await session.store.schedules.runs_of(firing.repo_id, source))
        ends = {name: (run.outcome or run.state).value for name, run in sorted(ran.items())}
        rows.append((item, firing, ends))
    return rows or [(item, None, {})]


def _as_json(rows: "list[Row]") -> list[dict[str, Any]]:
    """Return one object for each schedule, with its firings, newest first."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for item, firing, ends in rows:
        one = found.setdefault(
            (item.repo.full_name, item.schedule.name),
            {
                "repo": item.repo.full_name,
                "name": item.schedule.name,
                "cron": item.schedule.cron,
                "next": _iso(item.schedule.next),
                "nights": [],
            },
        )
        if firing is not None:
            told = {"at": _iso(firing.at), "state": firing.state.value, "sha": firing.sha or None}
            one["nights"].append({**told, "note": firing.note, "suites": ends})
    return list(found.values())


def _print(rows: "list[Row]", now: datetime) -> None:
    from bot.cli.operators.printing import print_table, when  # noqa: PLC0415  rich

    heads = ("repository", "name", "cron", "next", "last", "state", "commit", "suites", "note")
    print_table(
        heads,
        [
            (
                item.repo.full_name,
                item.schedule.name,
                item.schedule.cron,
                when(item.schedule.next, now),
                when(firing.at, now) if firing else "",
                firing.state.value if firing else "",
                firing.sha[:7] if firing else "",
                ", ".join(f"{name} {end}" for name, end in ends.items()),
                firing.note if firing else "",
            )
            for item, firing, ends in rows
        ],
        whole=("cron", "next", "last"),
    )


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
