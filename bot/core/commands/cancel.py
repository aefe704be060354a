"""`/ascend-e2e cancel`: stop suites of this pull request.

Needs what starting them needs; the pull request's author may always cancel. A run that another
pull request or a merge group has too goes on for that one.
"""

from dataclasses import dataclass

from bot.core.commands.context import CommandContext, refused
from bot.core.commands.verb import Command, Verb
from bot.core.github.markdown import code
from bot.core.messages import Message
from bot.core.messages.words import listing
from bot.core.model.ids import short
from bot.core.model.runs import Claimant, Run, StopReason, StopRequest
from bot.core.planning.offers import line
from bot.core.planning.permissions import Refusal, level_for, may_cancel, named
from bot.core.planning.plan import DropClaimant, RunClaimants
from bot.core.planning.plan_builder import PlanBuilder


@dataclass(frozen=True, slots=True)
class CancelCommand(Command):
    """Stop suites; if none is named, all of this pull request."""

    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Ask for the runs to be stopped, or say that there are none."""
        running = {item.run.suite for item in context.claimed}
        names, refusals = named(
            context.messages, context.policy, self.words, to_start=False, left=running
        )
        if refused(refusals, builder):
            return
        targets = [item for item in context.claimed if not self.words or item.run.suite in names]
        if context.is_older_than_head:
            # It was meant for the head before, whose runs end without it.
            builder.refuse(_moved(context, self.line))
            targets = [item for item in targets if item.run.sha != context.pull.head_sha]
        elif not targets:
            builder.said.append(_nothing(names, context))
        for item in targets:
            _cancel(item, context, builder)


def _nothing(names: list[str], context: CommandContext) -> str:
    """Say that nothing of the pull request, or none of these suites, can be stopped."""
    if missing := context.approval_missing(names):
        return missing
    if not names:
        return context.messages("nothing_to_cancel")
    suites, status = ", ".join(map(code, names)), code(line("status"))
    return context.messages("not_to_cancel", suites=suites, command=status)


def _cancel(item: RunClaimants, context: CommandContext, builder: PlanBuilder) -> None:
    run = item.run
    allowed = may_cancel(context.policy, run, context.person, context.pull.author)
    builder.audit.append(
        context.audit(f"cancel {run.suite}", "trust", allowed=allowed, sha=run.sha)
    )
    if not allowed:
        builder.refuse(_may_not(run, context))
        return
    who = context.person.login
    why = Message("cancelled_by_person", by=who)
    stop = StopRequest(StopReason.CANCEL, who, why, context.now)
    number = context.pull.number
    # A pull request that does not count does not keep the run of one that does.
    gone = {number} if number in context.overruled else {number, *context.overruled}
    for claimant in item.claimants:
        if claimant.number in gone:
            builder.drop_claimants.append(DropClaimant(run.id, claimant.source, why, stop))
    others = [one for one in item.claimants if one.number not in gone]
    if others:
        builder.said.append(_goes_on(run, others, context))
    else:
        builder.run_ids.append(run.id)


def _goes_on(run: Run, others: list[Claimant], context: CommandContext) -> str:
    """Say for whom a run goes on."""
    whom = list(dict.fromkeys(_claimant(one, context) for one in others))
    return context.messages("cancel_shared", suite=code(run.suite), others=listing(whom))


def _moved(context: CommandContext, line: str) -> Refusal:
    old, new = (code(short(head.sha)) for head in context.heads[-2:])
    return Refusal(context.messages("refuse_cancel_moved", old=old, new=new, command=code(line)))


def _claimant(one: Claimant, context: CommandContext) -> str:
    """Return a claimant in words."""
    kind, _, rest = one.source.partition(":")
    if one.number:
        return f"#{one.number}"
    if kind == "pin":
        return context.messages("for_operator")
    if kind == "push":
        return context.messages("for_push", name=code(rest))
    if kind == "nightly":
        return context.messages("for_nightly", name=code(rest.partition("@")[0]))
    return context.messages("for_group")


def _may_not(run: Run, context: CommandContext) -> Refusal:
    say, policy = context.messages, context.policy
    suite = policy.suites.get(run.suite)
    needed = level_for(policy.trust, suite) if suite else policy.trust.heavy
    text = say(
        "refuse_cancel",
        suite=code(run.suite),
        needed=say(f"level_{needed}"),
        level=say(f"level_{context.person.level}"),
        command=code(line("cancel", run.suite)),
    )
    return Refusal(text)


CANCEL = Verb("cancel", CancelCommand, words="[SUITE…]")
