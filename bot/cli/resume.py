"""``ascend-ci resume``: end a pause."""

from typing import TYPE_CHECKING

import click

from bot.cli.operators import options

if TYPE_CHECKING:
    from bot.cli.operators.session import OperatorSession


@click.command("resume")
@click.argument("resource", required=False, metavar="[LABEL|POOL]")
@click.option("--all", "everything", is_flag=True, help="End the pause of everything.")
@options.by
@options.as_json
def command(resource: str | None, by: str, *, everything: bool, as_json: bool) -> None:
    """End the pause of a label, of a pool, or of everything.

    Other pauses stay.
    """
    if (resource is not None) is everything:
        msg = "name one label or pool, or say --all"
        raise click.UsageError(msg)

    from bot.cli.operators.printing import pause_line, print_json  # noqa: PLC0415  rich
    from bot.cli.operators.session import operate, or_exit, or_wrong_use  # noqa: PLC0415  SQLAlchemy
    from bot.web.answers import pause_json  # noqa: PLC0415

    async def work(session: "OperatorSession") -> None:
        named = "all"
        if resource is not None:
            named = or_wrong_use(await session.operator.resource(resource, session.policies))
        ended = or_exit(await session.operator.resume(named))
        left = await session.store.pauses.in_force(session.now)
        if as_json:
            print_json(
                {"resumed": pause_json(ended), "pauses": [pause_json(item) for item in left]}
            )
            return
        click.echo(f"Runs start again: {pause_line(ended, session.now, was=True)}.")
        for pause in left:
            click.echo(f"Still, {pause_line(pause, session.now)}.", err=True)

    operate(work, who=by)
