"""`/ascend-e2e explain`: say why suites are selected or not. Anybody may ask."""

from dataclasses import dataclass

from bot.core.commands.context import CommandContext
from bot.core.commands.verb import Command, TypedLine, Verb
from bot.core.planning.permissions import latest
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.report.answers import explained
from bot.core.report.context import Context, MarkdownWriter
from bot.core.report.words import row_state


@dataclass(frozen=True, slots=True)
class ExplainCommand(Command):
    """Say why suites are selected or not; if none is named, of all."""

    suites: tuple[str, ...] = ()

    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Say of each suite whether it is selected, and how its latest attempt stands."""
        writer = MarkdownWriter(Context(context.event.repo.full_name))
        states = {
            name: row_state(writer, run, context.now)
            for name, run in latest(context.head.runs).items()
        }
        text = explained(context.messages, context.evaluation, self.suites, states)
        builder.said.append(text)


def _read(line: TypedLine) -> ExplainCommand:
    return ExplainCommand(line.text, line.words)


EXPLAIN = Verb("explain", _read, words="[SUITE…]")
