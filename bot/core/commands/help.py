"""`/ascend-e2e help`: say what can be typed. Anybody may ask."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from bot.core.commands.context import CommandContext
from bot.core.commands.verb import Command, Verb
from bot.core.github.markdown import code
from bot.core.messages import Messages
from bot.core.model.command import COMMAND
from bot.core.planning.plan_builder import PlanBuilder


@dataclass(frozen=True, slots=True)
class HelpCommand(Command):
    """Say what can be typed, or how one verb is typed."""

    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Say it in the reply."""
        topic = self.words[0].lower() if self.words else None
        builder.said.append(help_text(context.messages, context.usages, topic))


def help_text(messages: Messages, usages: Mapping[str, str], topic: str | None) -> str:
    """Return how one verb is typed, or all of them; an unknown verb is named first."""
    names = [topic] if topic is not None and topic in usages else list(usages)
    lines = "\n".join(
        messages("usage_line", usage=code(usages[name]), what=messages(f"help_{name}"))
        for name in names
    )
    if topic is None or topic in usages:
        return lines
    near = get_close_matches(topic, usages, n=1)
    guess = messages("guess", guess=code(f"{COMMAND} help {near[0]}")) if near else ""
    return f"{messages('unknown_topic', word=code(topic), guess=guess)}\n\n{lines}"


HELP = Verb("help", HelpCommand, words="[VERB]")
