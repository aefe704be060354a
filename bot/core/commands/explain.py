"""`/ascend-e2e explain`: say why suites are selected or not. Anybody may ask."""

from dataclasses import dataclass

from bot.core.commands.context import CommandContext
from bot.core.commands.verb import Command, Verb
from bot.core.planning.attempts import latest
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.report.answers import explained
from bot.core.report.context import Context, MarkdownWriter
from bot.core.report.words import row_state


@dataclass(frozen=True, slots=True)
class ExplainCommand(Command):
    """Say why suites are selected or not; if none is named, of all."""

    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Say of each suite whether it is selected, and how its latest attempt stands."""
        writer = MarkdownWriter(
            Context(context.event.repo.full_name, language=context.evaluation.at.language)
        )
        states = {
            name: row_state(writer, run, context.now)
            for name, run in latest(context.head.runs).items()
        }
        text = explained(context.messages, context.evaluation, self.words, states, context.now)
        builder.said.append(text)


EXPLAIN = Verb("explain", ExplainCommand, words="[SUITE…]")
