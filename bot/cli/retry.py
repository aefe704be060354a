"""``ascend-ci retry``: start a finished run again."""

from typing import TYPE_CHECKING

import click

from bot.cli.operators import options

if TYPE_CHECKING:
    from bot.cli.operators.session import OperatorSession
    from bot.services.operator import No, Retried


@click.command("retry")
@click.argument("run")
@options.by
@options.as_json
def command(run: str, by: str, *, as_json: bool) -> None:
    """Run the suite of RUN again, with the policy of that time.

    It runs at the same commit. The new run counts for the same pull requests as RUN, if that is
    still right. Otherwise it is only the operator's.
    """
    from bot.cli.operators.printing import print_json  # noqa: PLC0415  rich
    from bot.cli.operators.session import operate, or_exit  # noqa: PLC0415  SQLAlchemy

    async def work(session: "OperatorSession") -> "Retried | No":
        return await session.operator.retry(run)

    made = or_exit(operate(work, who=by))
    if as_json:
        told = {"id": made.run_id, "suite": made.suite, "attempt": made.attempt}
        print_json({**told, "wanted_by": list(made.sources)})
        return
    wanted = ", ".join(made.sources)
    click.echo(f"{made.run_id} is attempt {made.attempt} of {made.suite}, for {wanted}.")
