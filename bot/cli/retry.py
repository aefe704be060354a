"""``ascend-ci retry``: a new attempt of a run that is done."""

from typing import TYPE_CHECKING

import click

from bot.cli.operators import options

if TYPE_CHECKING:
    from bot.cli.operators.desk import Desk
    from bot.services.operator import No, Retried


@click.command("retry")
@click.argument("run")
@options.by
@options.as_json
def command(run: str, by: str, *, as_json: bool) -> None:
    """Run the suite of RUN again at its commit, with the policy as it was then.

    It runs for whom RUN ran, where that still holds; else for the operator alone.
    """
    from bot.cli.operators.desk import operate, or_leave  # noqa: PLC0415  SQLAlchemy
    from bot.cli.operators.printing import print_json  # noqa: PLC0415  rich

    async def work(desk: "Desk") -> "Retried | No":
        return await desk.operator.retry(run)

    made = or_leave(operate(work, who=by))
    if as_json:
        told = {"id": made.run_id, "suite": made.suite, "attempt": made.attempt}
        print_json({**told, "wanted_by": list(made.sources)})
        return
    wanted = ", ".join(made.sources)
    click.echo(f"{made.run_id} is attempt {made.attempt} of {made.suite}, for {wanted}.")
