"""``ascend-ci cancel``: stop runs."""

import click

from bot.cli.operators import options


@click.command("cancel")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@options.required_reason
@options.by
@options.as_json
def command(runs: tuple[str, ...], reason: str, by: str, *, as_json: bool) -> None:
    """Stop each RUN, as a person's cancel does.

    It is not retried. Its check run says who stopped it, and why.
    """
    from bot.cli.operators.printing import print_json  # noqa: PLC0415  rich
    from bot.cli.operators.session import NO, OperatorSession, exit_with, operate  # noqa: PLC0415  SQLAlchemy
    from bot.services.operator import No  # noqa: PLC0415

    stopping: list[dict[str, str]] = []

    async def work(session: OperatorSession) -> list[str]:
        refusals = []
        for word in dict.fromkeys(runs):
            answer = await session.operator.cancel(word, reason)
            if isinstance(answer, No):
                refusals.append(answer.why)
                continue
            stopping.append({"id": answer.id, "suite": answer.suite})
            if not as_json:
                click.echo(f"{answer.id} ({answer.suite}) is to stop.")
        return refusals

    refusals = operate(work, who=by)
    if as_json:
        print_json({"cancelled": stopping, "refused": refusals})
    if refusals:
        exit_with(NO, *refusals)
