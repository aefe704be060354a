"""`/ascend-e2e help`: say what can be typed. Anybody may ask."""

from dataclasses import dataclass
from difflib import get_close_matches

from bot.core.commands.context import CommandContext
from bot.core.commands.name import COMMAND
from bot.core.commands.verb import Command, Verb
from bot.core.messages import Messages
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.report.markdown import code


@dataclass(frozen=True, slots=True)
class HelpCommand(Command):
    """Say what can be typed, or how one verb is typed."""

    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Say it in the reply."""
        topic = self.words[0].lower() if self.words else None
        builder.said.append(help_text(context.messages, context.verbs, topic))


def help_text(messages: Messages, verbs: tuple[Verb, ...], topic: str | None) -> str:
    """Return how one verb is typed, or all of them; an unknown verb is named first."""
    found = [verb for verb in verbs if verb.name == topic]
    lines = "\n".join(
        f"- {code(verb.usage)}: {messages(f'help_{verb.name}')}" for verb in found or verbs
    )
    if topic is None or found:
        return lines
    near = get_close_matches(topic, [verb.name for verb in verbs], n=1)
    guess = messages("guess", guess=code(f"{COMMAND} help {near[0]}")) if near else ""
    return f"{messages('unknown_topic', word=code(topic), guess=guess)}\n\n{lines}"


HELP = Verb("help", HelpCommand, words="[VERB]")
