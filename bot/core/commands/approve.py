"""`/ascend-e2e approve`: let the head's commit run here.

Needs the policy's ``trust.approve``, and that the commit is not one's own.
"""

from dataclasses import dataclass

from bot.core.commands.context import CommandContext
from bot.core.commands.verb import SHA, Command, Verb
from bot.core.github.markdown import code
from bot.core.model.ids import Sha, short
from bot.core.planning.offers import line
from bot.core.planning.permissions import Refusal, head_moved, may_approve
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.starts import approval


@dataclass(frozen=True, slots=True)
class ApproveCommand(Command):
    """Let the head run here."""

    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Record the approval of the head; former heads can't be approved."""
        request = context.request_for(self.line, self.sha, builder)
        if request is None:
            return
        requester, messages = request.requester, context.messages
        if requester.sha != context.pull.head_sha:
            builder.refuse(_not_the_head(requester.sha, context))
            return
        refusal = may_approve(messages, context.policy.trust, requester)
        builder.audit.append(context.audit("approve", "approve", allowed=refusal is None))
        if refusal:
            builder.refuse(refusal)
            return
        builder.approval = approval(context.event.repo.id, requester, "command", context.now)
        builder.said.append(messages("approved", sha=code(short(requester.sha))))
        if context.pull.draft and not context.policy.drafts:
            builder.said.append(messages("approved_draft"))


def _not_the_head(sha: Sha, context: CommandContext) -> Refusal:
    pull, messages = context.pull, context.messages
    todo = messages("refuse_head_now", command=code(line("approve", sha=pull.head_sha)))
    return Refusal(head_moved(messages, sha, pull, todo))


APPROVE = Verb("approve", ApproveCommand, options=(SHA,))
