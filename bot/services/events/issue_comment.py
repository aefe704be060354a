"""What a person's comment leads to: its commands carried out, and one reply."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.core import commands
from bot.core.commands import Command, Mistake
from bot.core.github.events import IssueCommentEvent
from bot.core.messages import Messages
from bot.core.messages.words import count
from bot.core.model.ids import Sha, short
from bot.core.model.pulls import Head, Pull
from bot.core.model.runs import Run, StopReason, StopRequest
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.permissions import (
    COMMAND,
    SHA_CHARS,
    Refusal,
    Requester,
    by_command,
    commit_for,
    first_head_seen,
    head_seen,
    latest,
    level_for,
    may_approve,
    may_cancel,
    named,
    not_green,
)
from bot.core.planning.plan import AuditEntry, Plan
from bot.core.planning.pull_request import Evaluation, pr_source, waiting
from bot.core.planning.starts import PlanBuilder, StartRequest, Starts, approval, gate_of, merged
from bot.core.planning.trust import Person, Trusted
from bot.core.policy import Limits, Tier
from bot.core.policy.selection import Selection
from bot.core.report.answers import explained
from bot.core.report.context import Context, MarkdownWriter
from bot.core.report.markdown import code, prose
from bot.core.report.views import Reply
from bot.core.report.words import row_state
from bot.ports.clock import Clock
from bot.ports.github import GitHub
from bot.services.events.pull_request import PullRequests
from bot.services.policies import Broken, Policies
from bot.store import Store

RECEIPT = "eyes"
MINUTE = timedelta(seconds=60)
RATE = "rate"  # the rule of what is dropped: too many commands


@dataclass(frozen=True, slots=True)
class AdmittedCommands:
    """The commands of a comment that count, and how many are too many for this minute."""

    commands: tuple[Command | Mistake, ...]
    dropped: int
    limit: int
    told: bool  # their author was told within this minute


@dataclass(frozen=True, slots=True)
class CommandContext:
    """All that the commands of one comment are decided on."""

    event: IssueCommentEvent
    evaluation: Evaluation  # of the head
    heads: tuple[Head, ...]  # oldest first, the head last
    person: Person
    own: frozenset[str]  # author and pusher, in lower case


class IssueComments:
    """Carries out the commands of comments."""

    def __init__(
        self,
        store: Store,
        github: GitHub,
        policies: Policies,
        pulls: PullRequests,
        tools: tuple[Starts, Messages, Clock],
    ) -> None:
        self._store = store
        self._github = github
        self._policies = policies
        self._pulls = pulls
        self._starts, self._messages, self._clock = tools

    async def created(self, event: IssueCommentEvent) -> Plan:
        """Return what a new comment leads to; one without a command leads to nothing.

        A comment counts once, whatever number of deliveries tells of it.
        """
        parsed = commands.parse(event.body)
        if not parsed or await self._store.replies.exists(event.comment_id):
            return Plan(repo=event.repo)
        pull = await self._github.pull(event.repo, event.number)
        policy = await self._policies.of(event.repo, pull.base_ref)
        if policy is None:
            return Plan(repo=event.repo)
        limits = Limits() if isinstance(policy, Broken) else policy.policy.limits
        admitted = await self._within_rate(event, parsed, limits.commands_per_minute)
        builder = self._noted(event, pull, admitted)
        if admitted.told and not admitted.commands:
            return Plan(repo=event.repo, audit=tuple(builder.audit))
        await self._github.react(event.repo, event.comment_id, RECEIPT)
        if isinstance(policy, Broken):
            builder.said.append(self._messages("refuse_policy"))
            return self._answer(event, builder, Plan(audit=builder.barred("policy")))
        return await self._under(event, admitted.commands, builder, (pull, policy))

    async def _under(
        self,
        event: IssueCommentEvent,
        parsed: tuple[Command | Mistake, ...],
        builder: PlanBuilder,
        at: tuple[Pull, PolicyAt],
    ) -> Plan:
        pull, policy = at
        context = await self._context(event, pull, policy)
        for place, command in enumerate(parsed):
            with builder.judging(place):
                await self._carry_out(command, context, builder)
        request = await self._request(context, pull.head_sha)
        changes = merged(builder, gate_of(request))
        if not (builder.new_runs or builder.add_claimants or builder.approval or builder.changes):
            changes = replace(changes, gates=())
        if builder.changes:
            changes = replace(
                changes, gates=(*changes.gates, *await self._pulls.gates_of_former_head(pull))
            )
        # Without a plan the row stays as it was: a new head is still to be looked at.
        return self._answer(event, builder, replace(changes, head=context.heads[-1]))

    async def _context(
        self, event: IssueCommentEvent, pull: Pull, policy: PolicyAt
    ) -> CommandContext:
        asked = await self._pulls.evaluate_for(event.repo, pull, policy, event.author)
        known = await self._store.pulls.heads(event.repo.id, pull.number)
        former = tuple(item for item in known if item.sha != asked.head.sha)
        return CommandContext(
            event=event,
            evaluation=asked.evaluation,
            heads=(*former, asked.head),
            person=asked.person,
            own=asked.own,
        )

    async def _within_rate(
        self, event: IssueCommentEvent, parsed: tuple[Command | Mistake, ...], limit: int
    ) -> AdmittedCommands:
        """Return the commands that count, and how many are beyond a person's rate."""
        since = self._clock.now() - MINUTE
        before = await self._store.audit.since(event.repo.id, event.author, since)
        spent = sum(entry.what.startswith(COMMAND) for entry in before)
        left = max(0, limit - spent)
        told = any(entry.rule == RATE for entry in before)
        return AdmittedCommands(parsed[:left], len(parsed[left:]), limit, told)

    def _noted(
        self, event: IssueCommentEvent, pull: Pull, admitted: AdmittedCommands
    ) -> PlanBuilder:
        """Write down every command; say that some are dropped."""
        audit = [self._entry(event, pull, command.line) for command in admitted.commands]
        said = []
        if admitted.dropped:
            dropped = count(admitted.dropped, "more is", "more are")
            what = f"{count(admitted.dropped, 'command')} dropped"
            audit.append(replace(self._entry(event, pull, what), allowed=False, rule=RATE))
            said.append(self._messages("refuse_rate", limit=admitted.limit, commands=dropped))
        return PlanBuilder(said=said, audit=audit)

    async def _carry_out(
        self, command: Command | Mistake, context: CommandContext, builder: PlanBuilder
    ) -> None:
        match command:
            case Mistake():
                builder.refuse(Refusal(command.text))
            case commands.Run():
                await self._run(command, context, builder)
            case commands.Rerun():
                await self._rerun(command, context, builder)
            case commands.Approve():
                await self._approve(command, context, builder)
            case commands.Cancel():
                await self._cancel(command, context, builder)
            case commands.Explain():
                await self._explain(command, context, builder)
            case commands.Status():
                await self._status(context, builder)
            case commands.Help():
                builder.said.append(commands.help_text(command.verb))

    async def _run(
        self, command: commands.Run, context: CommandContext, builder: PlanBuilder
    ) -> None:
        request = await self._request_for(command.line, command.sha, context, builder)
        if request is None:
            return
        request = replace(
            request, runner=command.runner, settings=command.settings, force=command.force
        )
        policy = context.evaluation.at.policy
        names, refusals = named(self._messages, policy, command.suites)
        if _refused(refusals, builder):
            return
        if not command.suites:
            names = bare(request.evaluation)
        if not names:
            known = ", ".join(code(name) for name in policy.suites)
            sha = code(short(request.requester.sha))
            builder.said.append(self._messages("nothing_selected", sha=sha, names=known))
        await self._start(request, command.line, names, builder)

    async def _rerun(
        self, command: commands.Rerun, context: CommandContext, builder: PlanBuilder
    ) -> None:
        request = await self._request_for(command.line, command.sha, context, builder)
        if request is None:
            return
        policy = context.evaluation.at.policy
        names, refusals = named(self._messages, policy, command.suites, to_start=False)
        if _refused(refusals, builder):
            return
        if not command.suites:
            names = not_green(request.runs)
        if not names:
            sha = code(short(request.requester.sha))
            builder.said.append(self._messages("nothing_to_rerun", sha=sha))
        await self._start(replace(request, failed_only=True), command.line, names, builder)

    async def _start(
        self, request: StartRequest, line: str, names: list[str], builder: PlanBuilder
    ) -> None:
        """Start suites, under a line that says which command on which commit."""
        if names:
            sha = code(short(request.requester.sha))
            builder.said.append(self._messages("reply_for", command=code(line), sha=sha))
        now = self._clock.now()
        self._starts.start(request, names, builder, now)
        await self._pulls.start_approved(request, builder)

    async def _request_for(
        self, line: str, sha: str | None, context: CommandContext, builder: PlanBuilder
    ) -> StartRequest | None:
        """Return the commit that a command means, None when it has to name it first."""
        found = commit_for(self._messages, line, context.evaluation.pull, context.heads, sha)
        if isinstance(found, Refusal):
            builder.refuse(found)
            return None
        request = await self._request(context, found)
        if sha is None:
            unseen = self._unseen(line, context, trusted=request.requester.trust.trusted)
            if unseen:
                builder.refuse(unseen)
                return None
        return request

    def _unseen(self, line: str, context: CommandContext, *, trusted: bool) -> Refusal | None:
        """Refuse a command whose author may not have seen the head."""
        written_at = context.event.created_at
        moved = head_seen(self._messages, line, context.heads, written_at, trusted=trusted)
        late = context.heads[-1].seen_at.replace(microsecond=0) > written_at
        if moved or not late:
            return moved
        return first_head_seen(
            self._messages, line, context.evaluation.pull, written_at, trusted=trusted
        )

    async def _request(self, context: CommandContext, sha: Sha) -> StartRequest:
        """Return an order for the head, or for a former head that a command pins."""
        evaluation, event = context.evaluation, context.event
        runs = await self._store.runs.at(event.repo.id, sha)
        spent = await self._store.queue.spent(event.repo.id, self._clock.now())
        if sha == evaluation.pull.head_sha:
            requester = Requester(context.person, sha, context.own, evaluation.trust)
            return StartRequest(evaluation, requester, pr_source(event.number), runs, spent=spent)
        trust, own = await self._former(context, sha)
        requester = Requester(context.person, sha, own, trust)
        nothing = Selection(())  # a former head's files are not asked for: suites are named
        old = replace(evaluation, selection=nothing, files=())
        return StartRequest(old, requester, f"pin:{event.comment_id}", runs, spent=spent)

    async def _former(self, context: CommandContext, sha: Sha) -> tuple[Trusted, frozenset[str]]:
        """Trust a former head by an approval alone: which files it had is not known any more."""
        rule = context.evaluation.at.policy.trust
        pushers = [head.pusher or "" for head in context.heads if head.sha == sha]
        own = frozenset(name.casefold() for name in (context.evaluation.pull.author, *pushers))
        approvals = await self._store.pulls.approvals(context.event.repo.id, sha)
        granted = [
            item
            for item in approvals
            if item.level.at_least(rule.approve) and item.by.casefold() not in own
        ]
        why = f"approved by {granted[0].by}" if granted else "nobody has approved this commit"
        return Trusted(bool(granted), why), own

    async def _approve(
        self, command: commands.Approve, context: CommandContext, builder: PlanBuilder
    ) -> None:
        request = await self._request_for(command.line, command.sha, context, builder)
        if request is None:
            return
        head = context.evaluation.pull.head_sha
        if request.requester.sha != head:
            again = code(f"{COMMAND} approve --sha {head[:SHA_CHARS]}")
            todo = self._messages("refuse_head_now", new=code(short(head)), command=again)
            old = code(short(request.requester.sha))
            builder.refuse(Refusal(self._messages("refuse_head", old=old, todo=todo)))
            return
        refusal = may_approve(self._messages, context.evaluation.at.policy.trust, request.requester)
        entry = self._entry(context.event, context.evaluation.pull, "approve")
        builder.audit.append(replace(entry, allowed=refusal is None, rule="approve"))
        if refusal:
            builder.refuse(refusal)
            return
        now = self._clock.now()
        builder.approval = approval(context.event.repo.id, request.requester, "command", now)
        await self._pulls.start_approved(request, builder)
        builder.said.append(self._messages("approved", sha=code(short(head))))

    async def _cancel(
        self, command: commands.Cancel, context: CommandContext, builder: PlanBuilder
    ) -> None:
        policy, pull = context.evaluation.at.policy, context.evaluation.pull
        wanted = await self._store.runs.of_claimant(pull.repo_id, pr_source(pull.number))
        wanted += await self._store.runs.pinned(pull.repo_id, pull.number)
        ours = {item.run.id: item.run for item in wanted}
        left = {run.suite for run in ours.values()}
        names, refusals = named(self._messages, policy, command.suites, to_start=False, left=left)
        if _refused(refusals, builder):
            return
        targets = [run for run in ours.values() if not command.suites or run.suite in names]
        if not targets:
            builder.said.append(self._nothing(context, "nothing_to_cancel", names))
        now, who = self._clock.now(), context.person.login
        for run in targets:
            may = may_cancel(policy, run, context.person, pull.author)
            entry = replace(self._entry(context.event, pull, f"cancel {run.suite}"), sha=run.sha)
            builder.audit.append(replace(entry, allowed=may, rule="trust"))
            if not may:
                builder.refuse(self._may_not_cancel(context, run))
                continue
            builder.stop_requests.append(
                (run.id, StopRequest(StopReason.CANCEL, who, f"cancelled by {who}", now))
            )
            builder.run_ids.append(run.id)

    def _may_not_cancel(self, context: CommandContext, run: Run) -> Refusal:
        policy = context.evaluation.at.policy
        suite = policy.suites.get(run.suite)
        needed = level_for(policy.trust, suite) if suite else policy.trust.heavy
        words = (self._messages(f"level_{level}") for level in (needed, context.person.level))
        values = dict(zip(("needed", "level"), words, strict=True))
        return Refusal(self._messages("refuse_cancel", suite=code(run.suite), **values))

    async def _explain(
        self, command: commands.Explain, context: CommandContext, builder: PlanBuilder
    ) -> None:
        repo, evaluation = context.event.repo, context.evaluation
        runs = latest(await self._store.runs.at(repo.id, evaluation.pull.head_sha))
        writer, now = MarkdownWriter(Context(repo.full_name)), self._clock.now()
        stands = {name: row_state(writer, run, now) for name, run in runs.items()}
        builder.said.append(explained(self._messages, evaluation, command.suites, stands))

    async def _status(self, context: CommandContext, builder: PlanBuilder) -> None:
        runs = await self._store.runs.at(context.event.repo.id, context.evaluation.pull.head_sha)
        found = latest(runs)
        builder.run_ids += [run.id for run in found.values()]
        if not found:
            builder.said.append(self._nothing(context, "nothing_runs"))

    def _nothing(self, context: CommandContext, key: str, names: Sequence[str] = ()) -> str:
        """Say that there is nothing, and when only an approval is missing, that."""
        evaluation, waits = context.evaluation, set(waiting(context.evaluation))
        sha = code(short(evaluation.pull.head_sha))
        if waits.intersection(names) if names else waits:
            return self._messages("nothing_yet", sha=sha, why=prose(evaluation.trust.why))
        return self._messages(key, sha=sha)

    def _entry(self, event: IssueCommentEvent, pull: Pull, what: str) -> AuditEntry:
        return AuditEntry(
            at=self._clock.now(),
            who=event.author,
            what=what,
            allowed=True,
            rule="command",
            repo_id=event.repo.id,
            number=event.number,
            sha=pull.head_sha,
        )

    def _answer(self, event: IssueCommentEvent, builder: PlanBuilder, changes: Plan) -> Plan:
        """Add the one reply of the comment."""
        reply = Reply(
            repo_id=event.repo.id,
            comment_id=event.comment_id,
            number=event.number,
            head="\n\n".join(builder.said),
            run_ids=tuple(dict.fromkeys(builder.run_ids)),
        )
        return replace(changes, repo=event.repo, replies=(reply,))


def _refused(refusals: list[Refusal], builder: PlanBuilder) -> bool:
    """Say what can't be followed; one such word stops its whole command."""
    for refusal in refusals:
        builder.refuse(refusal)
    return bool(refusals)


def bare(evaluation: Evaluation) -> list[str]:
    """Return what a command without a suite starts: the selected ones; heavy ones are named."""
    policy = evaluation.at.policy
    return [
        name
        for name in evaluation.selection.selected
        if by_command(policy.suites[name]) and policy.suites[name].tier is Tier.STANDARD
    ]
