"""``ascend-ci resume``: what was paused starts again."""

from typing import TYPE_CHECKING

import click

from bot.cli.operators import options

if TYPE_CHECKING:
    from bot.cli.operators.desk import Desk


@click.command("resume")
@click.argument("resource", required=False, metavar="[LABEL|POOL]")
@click.option("--all", "everything", is_flag=True, help="End the pause of everything.")
@options.by
@options.as_json
def command(resource: str | None, by: str, *, everything: bool, as_json: bool) -> None:
    """End the pause of a label or a pool, or the one of everything; other pauses stay."""
    if (resource is not None) is everything:
        msg = "name one label or pool, or say --all"
        raise click.UsageError(msg)

    from bot.cli.operators.desk import operate, or_leave, or_wrong_use  # noqa: PLC0415  SQLAlchemy
    from bot.cli.operators.printing import pause_line, print_json  # noqa: PLC0415  rich
    from bot.web.shapes import paused  # noqa: PLC0415

    async def work(desk: "Desk") -> None:
        named = "all"
        if resource is not None:
            named = or_wrong_use(await desk.operator.resource(resource, desk.policies))
        ended = or_leave(await desk.operator.resume(named))
        left = await desk.store.pauses.in_force(desk.now)
        if as_json:
            print_json({"resumed": paused(ended), "pauses": [paused(item) for item in left]})
            return
        click.echo(f"Runs start again: {pause_line(ended, desk.now, was=True)}.")
        for pause in left:
            click.echo(f"Still, {pause_line(pause, desk.now)}.", err=True)

    operate(work, who=by)
