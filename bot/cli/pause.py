"""``ascend-ci pause`` and ``resume``: start nothing new on a label, on a pool, or anywhere."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from bot.cli.operators import options
from bot.cli.service import WRONG_USE
from bot.core.model.times import FORMS, ahead
from bot.core.queue.state import Pause

if TYPE_CHECKING:
    from bot.cli.operators.session import OperatorSession


@click.command("pause")
@click.argument("resource", required=False, metavar="[LABEL|POOL]")
@click.option("--all", "everything", is_flag=True, help="Pause everything.")
@click.option("--list", "listing", is_flag=True, help="List what is paused.")
@options.reason
@click.option("--until", metavar="T", help=f"End of the pause: {FORMS}. Default: until `resume`.")
@options.by_or_none
@options.as_json
def pause(  # noqa: PLR0913 - one parameter an option
    *,
    resource: str | None,
    everything: bool,
    listing: bool,
    reason: str | None,
    until: str | None,
    by: str | None,
    as_json: bool,
) -> None:
    """Start nothing new on a runner label or a pool of NPUs.

    A pause holds in every repository. Running jobs continue to their end. Waiting runs show who
    paused it, why, and until when. If a name is a label and a pool, use label:NAME or pool:NAME.
    """
    if sum((resource is not None, everything, listing)) != 1:
        raise click.UsageError("name one label or pool, or say --all or --list")
    if listing:
        _list(as_json=as_json)
        return
    if reason is None:
        raise click.UsageError("--reason is needed: people who wait read why")
    if by is None:
        raise click.UsageError("--by is needed: people who wait read who paused it")
    _pause(resource, Pause("", by, reason, *_times(until)), as_json=as_json)


def _times(until: str | None) -> tuple[datetime | None, datetime]:
    """Return the end of a pause (None: when somebody resumes) and its start."""
    now = datetime.now(UTC)
    if until is None:
        return None, now
    at = ahead(until, now)
    if at is None:
        raise click.UsageError(f"--until: {until!r} is not a time like {FORMS}")
    if at <= now:
        msg = f"--until: {at:%Y-%m-%dT%H:%MZ} is in the past: it is {now:%Y-%m-%dT%H:%MZ} now"
        raise click.UsageError(msg)
    return at, now


def _pause(resource: str | None, pause: Pause, *, as_json: bool) -> None:
    from bot.cli.operators.printing import pause_line, print_json  # noqa: PLC0415  rich
    from bot.cli.operators.session import operate, or_exit  # noqa: PLC0415  SQLAlchemy
    from bot.web.answers import pause_json  # noqa: PLC0415

    async def work(session: "OperatorSession") -> None:
        named = "all"
        if resource is not None:
            known = await session.operator.resource(resource, session.policies)
            named = or_exit(known, WRONG_USE)
            if named not in await session.operator.known(session.policies):
                click.echo(f"No known policy or run has {named}.", err=True)
        before = await session.operator.pause(named, pause.reason, pause.until)
        now_paused = replace(pause, resource=named)
        if as_json:
            print_json(pause_json(now_paused))
        else:
            line = pause_line(now_paused, session.now)
            click.echo(f"{line}. Running jobs go on; nothing new starts.")
        if before is not None:
            click.echo(
                f"Before that, {pause_line(before, session.now, was=True)}.",
                err=True,
            )

    operate(work, who=pause.by)


def _list(*, as_json: bool) -> None:
    from bot.cli.operators.printing import print_json, print_table, when  # noqa: PLC0415  rich
    from bot.cli.operators.session import operate  # noqa: PLC0415  SQLAlchemy
    from bot.web.answers import pause_json  # noqa: PLC0415

    async def work(session: "OperatorSession") -> tuple[tuple[Pause, ...], datetime]:
        return await session.store.pauses.in_force(session.now), session.now

    found, now = operate(work)
    if as_json:
        print_json({"pauses": [pause_json(item) for item in found]})
        return
    heads = ("paused", "by", "since", "until", "why")
    rows = [(p.resource, p.by, when(p.at, now), when(p.until, now), p.reason) for p in found]
    print_table(heads, rows, whole=("paused",))


@click.command("resume")
@click.argument("resource", required=False, metavar="[LABEL|POOL]")
@click.option("--all", "everything", is_flag=True, help="End the pause of everything.")
@options.by
@options.as_json
def resume(resource: str | None, by: str, *, everything: bool, as_json: bool) -> None:
    """End the pause of a label, of a pool, or of everything.

    Other pauses stay.
    """
    if (resource is not None) is everything:
        raise click.UsageError("name one label or pool, or say --all")

    from bot.cli.operators.printing import pause_line, print_json  # noqa: PLC0415  rich
    from bot.cli.operators.session import operate, or_exit  # noqa: PLC0415  SQLAlchemy
    from bot.web.answers import pause_json  # noqa: PLC0415

    async def work(session: "OperatorSession") -> None:
        named = "all"
        if resource is not None:
            known = await session.operator.resource(resource, session.policies)
            named = or_exit(known, WRONG_USE)
        ended = or_exit(await session.operator.resume(named))
        left = await session.store.pauses.in_force(session.now)
        if as_json:
            print_json(
                {"resumed": pause_json(ended), "pauses": [pause_json(item) for item in left]}
            )
            return
        click.echo(f"Runs start again: {pause_line(ended, session.now, was=True)}.")
        for pause in left:
            click.echo(f"Another pause remains: {pause_line(pause, session.now)}.", err=True)

    operate(work, who=by)
