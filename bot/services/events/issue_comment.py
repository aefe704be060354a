"""The event `issue_comment`: the commands of a new comment are carried out, with one reply."""

from dataclasses import dataclass, replace
from datetime import timedelta

from bot.core.commands.context import CommandContext
from bot.core.commands.parser import parse
from bot.core.commands.verb import Command
from bot.core.commands.verbs import USAGES
from bot.core.github.events import IssueCommentEvent
from bot.core.messages import Messages
from bot.core.messages.words import count
from bot.core.model.command import COMMAND
from bot.core.model.ids import Sha
from bot.core.model.pulls import Head, Pull
from bot.core.model.repos import Repo
from bot.core.model.views import RECEIPT, Reply
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.permissions import Requester, broken_policy
from bot.core.planning.plan import AuditEntry, Plan, RunClaimants
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.pull_request import pr_source
from bot.core.planning.shared import weigh
from bot.core.planning.starts import Starter, StartRequest
from bot.core.policy.models import Language, Limits
from bot.core.policy.selection import Selection
from bot.services.events.pull_request import PullRequests, RequestedHead
from bot.services.policies import Broken
from bot.services.workers import Deps, Service

MINUTE = timedelta(seconds=60)
HOUR = timedelta(hours=1)
RATE = "rate"  # the audit's rule for commands beyond a person's rate
OFTEN = "often"  # and for those of people without rights beyond what all of them may


@dataclass(frozen=True, slots=True)
class AdmittedCommands:
    """The commands of a comment that count, and how many are too many for this minute."""

    commands: tuple[Command, ...]
    dropped: int
    limit: int
    told: bool  # the reply to an earlier comment of this minute has said so


class IssueComments(Service):
    """Carries out the commands of comments."""

    def __init__(self, deps: Deps, pulls: PullRequests) -> None:
        super().__init__(deps)
        self._pulls = pulls

    async def created(self, event: IssueCommentEvent) -> Plan:
        """Plan what the commands of a new comment do.

        A comment counts once, however many deliveries tell of it.
        """
        parsed = parse(event.body)
        if not parsed or await self._store.replies.exists(event.comment_id):
            return Plan(repo=event.repo)
        if not await self._strangers.may_act(event.repo, event.author):
            return await self._not_heard(event, parsed)
        pull = await self._pulls.reader.pull(event.repo, event.number)
        policy = await self._policies.of(event.repo, pull.base_ref)
        if policy is None:
            return Plan(repo=event.repo)
        limits = Limits() if isinstance(policy, Broken) else policy.policy.limits
        admitted = await self._within_rate(event, parsed, limits.commands_per_minute)
        messages = Messages(policy.language)
        builder = self._record(event, pull, admitted, messages)
        if admitted.told and not admitted.commands:
            return Plan(repo=event.repo, audit=tuple(builder.audit))
        builder.receipt_missing = not await self._github.react(
            event.repo, event.comment_id, RECEIPT
        )
        if isinstance(policy, Broken):
            builder.said.append(broken_policy(messages, policy.errors, policy.ref))
            plan = Plan(audit=builder.all_refused("policy"))
            return _answer(event, builder, plan, policy.language)
        context = await self._context(event, admitted.commands, pull, policy)
        return await self._carry_out(admitted.commands, context, builder)

    async def _not_heard(self, event: IssueCommentEvent, parsed: tuple[Command, ...]) -> Plan:
        """Drop commands without a call to GitHub; say so once an hour."""
        before = await self._store.audit.since(
            event.repo.id, event.author, self._clock.now() - HOUR
        )
        told = any(entry.rule == OFTEN for entry in before)
        if await self._policies.gate_name(event.repo) is None:
            return Plan(repo=event.repo)
        entry = replace(self._entry(event, None, _dropped(len(parsed))), allowed=False, rule=OFTEN)
        if told:
            return Plan(repo=event.repo, audit=(entry,))
        language = await self._policies.language(event.repo)
        builder = PlanBuilder(said=[Messages(language)("refuse_often")])
        return _answer(event, builder, Plan(audit=(entry,)), language)

    async def _within_rate(
        self, event: IssueCommentEvent, parsed: tuple[Command, ...], limit: int
    ) -> AdmittedCommands:
        """Return the commands that count, and how many are beyond a person's rate."""
        since = self._clock.now() - MINUTE
        before = await self._store.audit.since(event.repo.id, event.author, since)
        spent = sum(entry.what.startswith(COMMAND) for entry in before)
        rest = max(0, limit - spent)
        told = any(entry.rule == RATE for entry in before)
        return AdmittedCommands(parsed[:rest], len(parsed[rest:]), limit, told)

    def _record(
        self,
        event: IssueCommentEvent,
        pull: Pull,
        admitted: AdmittedCommands,
        messages: Messages,
    ) -> PlanBuilder:
        """Write every command into the audit; say that some are dropped."""
        audit = [self._entry(event, pull, command.line) for command in admitted.commands]
        said = []
        if admitted.dropped:
            what = _dropped(admitted.dropped)
            audit.append(replace(self._entry(event, pull, what), allowed=False, rule=RATE))
            said.append(messages("refuse_rate", limit=admitted.limit))
        return PlanBuilder(said=said, audit=audit)

    async def _carry_out(
        self, commands: tuple[Command, ...], context: CommandContext, builder: PlanBuilder
    ) -> Plan:
        for place, command in enumerate(commands):
            with builder.auditing(place):
                command.carry_out(context, builder)
            await self._pulls.start_approved(context.evaluation, builder)
        await self._pulls.plan_unplanned(context.evaluation, builder)
        plan = builder.build(context.head.gate)
        if not (builder.new_runs or builder.add_claimants or builder.approval or builder.base):
            plan = replace(plan, gates=())
        if builder.base:
            former = await self._pulls.former_gates(context.pull)
            plan = replace(plan, gates=(*plan.gates, *former))
        # Without a plan the row stays as it was: a new head is still to be looked at.
        plan = replace(plan, head=context.heads[-1])
        return _answer(context.event, builder, plan, context.evaluation.at.language)

    async def _context(
        self, event: IssueCommentEvent, commands: tuple[Command, ...], pull: Pull, policy: PolicyAt
    ) -> CommandContext:
        messages = Messages(policy.language)
        asked = await self._pulls.evaluate_for(event.repo, pull, policy, event.author)
        known = await self._store.pulls.heads(event.repo.id, pull.number)
        former = tuple(item for item in known if item.sha != asked.head.sha)
        requests = {pull.head_sha: await self._pulls.request(asked)}
        named = tuple(command.sha for command in commands if command.sha)
        for head in former:
            if head.sha.startswith(named):
                requests[head.sha] = await self._request_at_former(event, asked, former, head.sha)
        return CommandContext(
            event=event,
            evaluation=asked.evaluation,
            person=asked.person,
            heads=(*former, asked.head),
            requests=requests,
            claimed=await self._claimed(pull),
            overruled=await self._overruled(event.repo, pull),
            usages=USAGES,
            starts=Starter(messages, self._new_id),
            messages=messages,
            now=self._clock.now(),
        )

    async def _overruled(self, repo: Repo, pull: Pull) -> frozenset[int]:
        """Return the pull requests with the same head that do not count for its gate."""
        pulls = await self._store.pulls.at(repo.id, pull.head_sha)
        rows = await self._store.pulls.selections(repo.id, pull.head_sha)
        return frozenset(one.number for one in weigh(pulls, rows, repo.default_branch).overruled)

    async def _claimed(self, pull: Pull) -> tuple[RunClaimants, ...]:
        """Return the runs that run for this pull request, at any commit."""
        found = await self._store.runs.of_claimant(pull.repo_id, pr_source(pull.number))
        found += await self._store.runs.pinned(pull.repo_id, pull.number)
        return tuple({item.run.id: item for item in found}.values())

    async def _request_at_former(
        self, event: IssueCommentEvent, asked: RequestedHead, former: tuple[Head, ...], sha: Sha
    ) -> StartRequest:
        """Return the request for a former head: its files are not known, suites are named."""
        evaluation = replace(asked.evaluation, selection=Selection(()), files=())
        head = next(head for head in former if head.sha == sha)
        head = await self._pulls.trust.with_pusher(event.repo, evaluation.pull, head)
        authorship = await self._pulls.trust.authorship(evaluation.pull, head)
        at = evaluation.at
        trust = await self._pulls.trust.of_former_head(event.repo, evaluation.pull, at, head)
        requester = Requester(asked.person, sha, authorship, trust)
        source = f"pin:{event.number}:{event.comment_id}"
        return await self._pulls.start_request(evaluation, requester, source)

    def _entry(self, event: IssueCommentEvent, pull: Pull | None, what: str) -> AuditEntry:
        who, sha = event.author, pull.head_sha if pull else None
        where = (event.repo.id, event.number, sha)
        now = self._clock.now()
        return AuditEntry(now, who.login, what, True, "command", *where, who_id=who.id)


def _dropped(commands: int) -> str:
    return f"{count(commands, 'command')} dropped"


def _answer(event: IssueCommentEvent, builder: PlanBuilder, plan: Plan, language: Language) -> Plan:
    """Add the one reply of the comment."""
    reply = Reply(
        repo_id=event.repo.id,
        comment_id=event.comment_id,
        number=event.number,
        head="\n\n".join(dict.fromkeys(builder.said)),
        run_ids=tuple(dict.fromkeys(builder.run_ids)),
        receipt_missing=builder.receipt_missing,
        language=language,
    )
    return replace(plan, repo=event.repo, replies=(reply,))
