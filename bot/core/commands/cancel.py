"""`/ascend-e2e cancel`: stop suites of this pull request.

Needs what starting them needs; the pull request's author may always cancel.
"""

from dataclasses import dataclass

from bot.core.commands.context import CommandContext, refused
from bot.core.commands.verb import Command, Verb
from bot.core.messages import Message
from bot.core.model.runs import Run, StopReason, StopRequest
from bot.core.planning.permissions import Refusal, level_for, may_cancel, named
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.report.markdown import code


@dataclass(frozen=True, slots=True)
class CancelCommand(Command):
    """Stop suites; if none is named, all of this pull request."""

    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Ask for the runs to be stopped, or say that there are none."""
        running = {run.suite for run in context.claimed}
        names, refusals = named(
            context.messages, context.policy, self.words, to_start=False, left=running
        )
        if refused(refusals, builder):
            return
        targets = [run for run in context.claimed if not self.words or run.suite in names]
        if not targets:
            builder.said.append(context.nothing("nothing_to_cancel", names))
        for run in targets:
            _cancel(run, context, builder)


def _cancel(run: Run, context: CommandContext, builder: PlanBuilder) -> None:
    allowed = may_cancel(context.policy, run, context.person, context.pull.author)
    builder.audit.append(
        context.audit(f"cancel {run.suite}", "trust", allowed=allowed, sha=run.sha)
    )
    if not allowed:
        builder.refuse(_may_not(run, context))
        return
    who = context.person.login
    stop = StopRequest(StopReason.CANCEL, who, Message("cancelled_by_person", by=who), context.now)
    builder.stop_requests.append((run.id, stop))
    builder.run_ids.append(run.id)


def _may_not(run: Run, context: CommandContext) -> Refusal:
    say, policy = context.messages, context.policy
    suite = policy.suites.get(run.suite)
    needed = level_for(policy.trust, suite) if suite else policy.trust.heavy
    text = say(
        "refuse_cancel",
        suite=code(run.suite),
        needed=say(f"level_{needed}"),
        level=say(f"level_{context.person.level}"),
    )
    return Refusal(text)


CANCEL = Verb("cancel", CancelCommand, words="[SUITE…]")
