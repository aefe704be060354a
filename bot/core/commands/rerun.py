"""`/ascend-e2e rerun`: run suites again on a commit.

Needs what starting them needs.
"""

from dataclasses import dataclass, replace

from bot.core.commands.context import CommandContext, refused
from bot.core.commands.verb import SHA, Command, Verb
from bot.core.planning.permissions import named, not_green, nothing_to_rerun
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.starts import StartRequest


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
            builder.said.append(_nothing(context, request))
        context.start(replace(request, failed_only=True), self.line, names, builder)


def _nothing(context: CommandContext, request: StartRequest) -> str:
    """Say why nothing runs again; where nothing has run, how suites start."""
    sha = request.requester.sha
    if not request.runs and sha == context.pull.head_sha:
        return context.nothing_runs()
    return nothing_to_rerun(context.messages, request.runs, sha)


RERUN = Verb("rerun", RerunCommand, words="[SUITE…]", options=(SHA,))
