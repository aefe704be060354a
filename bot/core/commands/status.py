"""`/ascend-e2e status`: say how the latest attempts stand. Anybody may ask."""

from dataclasses import dataclass

from bot.core.commands.context import CommandContext
from bot.core.commands.verb import Command, Verb
from bot.core.planning.attempts import latest
from bot.core.planning.plan_builder import PlanBuilder


@dataclass(frozen=True, slots=True)
class StatusCommand(Command):
    """Say how the latest attempts at the head stand."""

    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Add the latest attempts to the reply's table, or say that there are none."""
        found = latest(context.head.runs)
        builder.run_ids += [run.id for run in found.values()]
        if not found:
            builder.said.append(context.nothing_runs())


STATUS = Verb("status", StatusCommand)
