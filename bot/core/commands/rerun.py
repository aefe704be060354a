"""`/ascend-e2e rerun`: run suites again on a commit.

Needs what starting them needs.
"""

from dataclasses import dataclass, replace

from bot.core.commands.context import CommandContext, refused
from bot.core.commands.verb import SHA, Command, Verb
from bot.core.github.markdown import code
from bot.core.model.ids import short
from bot.core.planning.permissions import named, not_green
from bot.core.planning.plan_builder import PlanBuilder


@dataclass(frozen=True, slots=True)
class RerunCommand(Command):
    """Run suites again; if none is named, those that are not green."""

    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Start the next attempts, or say that there is nothing to run again."""
        request = context.request_for(self.line, self.sha, builder)
        if request is None:
            return
        names, refusals = named(context.messages, context.policy, self.words, to_start=False)
        if refused(refusals, builder):
            return
        if not self.words:
            names = not_green(request.runs, request.evaluation.at)
        if not names:
            sha = code(short(request.requester.sha))
            builder.said.append(context.messages("nothing_to_rerun", sha=sha))
        context.start(replace(request, failed_only=True), self.line, names, builder)


RERUN = Verb("rerun", RerunCommand, words="[SUITE…]", options=(SHA,))
