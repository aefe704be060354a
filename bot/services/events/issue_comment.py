"""What a person's comment leads to: its commands carried out, and one reply."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.core import commands
from bot.core.commands import Command, Mistake
from bot.core.github.events import CommentCreated
from bot.core.messages import Texts
from bot.core.messages.words import count
from bot.core.model.ids import Sha
from bot.core.model.pulls import Head, Pull
from bot.core.model.runs import Run, Wish, WishKind
from bot.core.planning.permissions import (
    COMMAND,
    SHA_CHARS,
    Asked,
    Refusal,
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
from bot.core.planning.plan import AuditEntry, Changes
from bot.core.planning.pull_request import Chosen, PolicyAt, pr_source, short, waiting
from bot.core.planning.trust import Person, Trusted
from bot.core.policy import Limits, Tier
from bot.core.policy.selection import Selection
from bot.core.report.answers import explained
from bot.core.report.context import Context, Pen
from bot.core.report.markdown import code, prose
from bot.core.report.views import Reply
from bot.core.report.words import row_state
from bot.ports.clock import Clock
from bot.ports.github import GitHub
from bot.ports.inbox import InboxStore
from bot.services.events.pull_request import Brought, Pulls
from bot.services.events.starts import Gathered, Order, Starts, approval, gate_of, merged
from bot.services.policies import Broken, Policies

RECEIPT = "eyes"
MINUTE = timedelta(seconds=60)
RATE = "rate"  # the rule of what is dropped: too many commands


@dataclass(frozen=True, slots=True)
class Heard:
    """The commands of a comment that count, and how many are too many for this minute."""

    commands: tuple[Command | Mistake, ...]
    dropped: int
    limit: int
    told: bool  # their author was told within this minute


@dataclass(frozen=True, slots=True)
class Setting:
    """All that the commands of one comment are decided on."""

    event: CommentCreated
    chosen: Chosen  # of the head
    heads: tuple[Head, ...]  # oldest first, the head last
    person: Person
    own: frozenset[str]  # author and pusher, in lower case


class Comments:
    """Carries out the commands of comments."""

    def __init__(
        self,
        store: InboxStore,
        github: GitHub,
        policies: Policies,
        pulls: Pulls,
        tools: tuple[Starts, Texts, Clock],
    ) -> None:
        self._store = store
        self._github = github
        self._policies = policies
        self._pulls = pulls
        self._starts, self._say, self._clock = tools

    async def created(self, event: CommentCreated) -> Changes:
        """Return what a new comment leads to; one without a command leads to nothing.

        A comment counts once, whatever number of deliveries tells of it.
        """
        parsed = commands.parse(event.body)
        if not parsed or await self._store.answered(event.comment_id):
            return Changes(repo=event.repo)
        pull = await self._github.pull(event.repo, event.number)
        policy = await self._policies.of(event.repo, pull.base_ref)
        if policy is None:
            return Changes(repo=event.repo)
        limits = Limits() if isinstance(policy, Broken) else policy.policy.limits
        heard = await self._within_rate(event, parsed, limits.commands_per_minute)
        into = self._noted(event, pull, heard)
        if heard.told and not heard.commands:
            return Changes(repo=event.repo, audit=tuple(into.audit))
        await self._github.react(event.repo, event.comment_id, RECEIPT)
        if isinstance(policy, Broken):
            into.said.append(self._say("refuse_policy"))
            return self._answer(event, into, Changes(audit=into.barred("policy")))
        return await self._under(event, heard.commands, into, (pull, policy))

    async def _under(
        self,
        event: CommentCreated,
        parsed: tuple[Command | Mistake, ...],
        into: Gathered,
        at: tuple[Pull, PolicyAt],
    ) -> Changes:
        pull, policy = at
        setting = await self._setting(event, pull, policy)
        for place, command in enumerate(parsed):
            with into.judging(place):
                await self._carry_out(command, setting, into)
        order = await self._order(setting, pull.head_sha)
        changes = merged(into, gate_of(order))
        if not (into.new_runs or into.add_wants or into.approval or into.changes):
            changes = replace(changes, gates=())
        if into.changes:
            changes = replace(changes, gates=(*changes.gates, *await self._pulls.left(pull)))
        # Without a plan the row stays as it was: a new head is still to be looked at.
        return self._answer(event, into, replace(changes, head=setting.heads[-1]))

    async def _setting(self, event: CommentCreated, pull: Pull, policy: PolicyAt) -> Setting:
        repo, rule = event.repo, policy.policy.trust
        head = await self._pulls.head(pull, Brought("asked", None), self._clock.now())
        brought = Brought("asked", event.author)
        chosen = await self._pulls.choose(repo, pull, policy, brought, head)
        known = await self._store.heads(repo.id, pull.number)
        former = tuple(item for item in known if item.sha != head.sha)
        return Setting(
            event=event,
            chosen=chosen,
            heads=(*former, head),
            person=await self._pulls.person(repo, rule, event.author),
            own=frozenset(name.casefold() for name in (pull.author, head.pusher or "") if name),
        )

    async def _within_rate(
        self, event: CommentCreated, parsed: tuple[Command | Mistake, ...], limit: int
    ) -> Heard:
        """Return the commands that count, and how many are beyond a person's rate."""
        since = self._clock.now() - MINUTE
        before = await self._store.audit_since(event.repo.id, event.author, since)
        spent = sum(entry.what.startswith(COMMAND) for entry in before)
        left = max(0, limit - spent)
        told = any(entry.rule == RATE for entry in before)
        return Heard(parsed[:left], len(parsed[left:]), limit, told)

    def _noted(self, event: CommentCreated, pull: Pull, heard: Heard) -> Gathered:
        """Write down every command; say that some are dropped."""
        audit = [self._entry(event, pull, command.line) for command in heard.commands]
        said = []
        if heard.dropped:
            dropped = count(heard.dropped, "more is", "more are")
            what = f"{count(heard.dropped, 'command')} dropped"
            audit.append(replace(self._entry(event, pull, what), allowed=False, rule=RATE))
            said.append(self._say("refuse_rate", limit=heard.limit, commands=dropped))
        return Gathered(said=said, audit=audit)

    async def _carry_out(
        self, command: Command | Mistake, setting: Setting, into: Gathered
    ) -> None:
        match command:
            case Mistake():
                into.refuse(Refusal(command.text))
            case commands.Run():
                await self._run(command, setting, into)
            case commands.Rerun():
                await self._rerun(command, setting, into)
            case commands.Approve():
                await self._approve(command, setting, into)
            case commands.Cancel():
                await self._cancel(command, setting, into)
            case commands.Explain():
                await self._explain(command, setting, into)
            case commands.Status():
                await self._status(setting, into)
            case commands.Help():
                into.said.append(commands.help_text(command.verb))

    async def _run(self, command: commands.Run, setting: Setting, into: Gathered) -> None:
        order = await self._ordered(command.line, command.sha, setting, into)
        if order is None:
            return
        order = replace(
            order, runner=command.runner, settings=command.settings, force=command.force
        )
        policy = setting.chosen.at.policy
        names, refusals = named(self._say, policy, command.suites)
        if _refused(refusals, into):
            return
        if not command.suites:
            names = bare(order.chosen)
        if not names:
            known = ", ".join(code(name) for name in policy.suites)
            sha = code(short(order.asked.sha))
            into.said.append(self._say("nothing_selected", sha=sha, names=known))
        await self._start(order, command.line, names, into)

    async def _rerun(self, command: commands.Rerun, setting: Setting, into: Gathered) -> None:
        order = await self._ordered(command.line, command.sha, setting, into)
        if order is None:
            return
        policy = setting.chosen.at.policy
        names, refusals = named(self._say, policy, command.suites, to_start=False)
        if _refused(refusals, into):
            return
        if not command.suites:
            names = not_green(order.runs)
        if not names:
            sha = code(short(order.asked.sha))
            into.said.append(self._say("nothing_to_rerun", sha=sha))
        await self._start(replace(order, failed_only=True), command.line, names, into)

    async def _start(self, order: Order, line: str, names: list[str], into: Gathered) -> None:
        """Start suites, under a line that says which command on which commit."""
        if names:
            sha = code(short(order.asked.sha))
            into.said.append(self._say("reply_for", command=code(line), sha=sha))
        now = self._clock.now()
        self._starts.start(order, names, into, now)
        await self._pulls.start_approved(order, into, now)

    async def _ordered(
        self, line: str, sha: str | None, setting: Setting, into: Gathered
    ) -> Order | None:
        """Return the commit that a command means, None when it has to name it first."""
        found = commit_for(self._say, line, setting.chosen.pull, setting.heads, sha)
        if isinstance(found, Refusal):
            into.refuse(found)
            return None
        order = await self._order(setting, found)
        if sha is None:
            unseen = self._unseen(line, setting, trusted=order.asked.trust.trusted)
            if unseen:
                into.refuse(unseen)
                return None
        return order

    def _unseen(self, line: str, setting: Setting, *, trusted: bool) -> Refusal | None:
        """Refuse a command whose author may not have seen the head."""
        written_at = setting.event.created_at
        moved = head_seen(self._say, line, setting.heads, written_at, trusted=trusted)
        late = setting.heads[-1].seen_at.replace(microsecond=0) > written_at
        if moved or not late:
            return moved
        return first_head_seen(self._say, line, setting.chosen.pull, written_at, trusted=trusted)

    async def _order(self, setting: Setting, sha: Sha) -> Order:
        """Return an order for the head, or for a former head that a command pins."""
        chosen, event = setting.chosen, setting.event
        runs = await self._store.runs_at(event.repo.id, sha)
        spent = await self._store.spent(event.repo.id, self._clock.now())
        if sha == chosen.pull.head_sha:
            asked = Asked(setting.person, sha, setting.own, chosen.trust)
            return Order(chosen, asked, pr_source(event.number), runs, spent=spent)
        trust, own = await self._former(setting, sha)
        asked = Asked(setting.person, sha, own, trust)
        nothing = Selection(())  # a former head's files are not asked for: suites are named
        old = replace(chosen, selection=nothing, files=())
        return Order(old, asked, f"pin:{event.comment_id}", runs, spent=spent)

    async def _former(self, setting: Setting, sha: Sha) -> tuple[Trusted, frozenset[str]]:
        """Trust a former head by an approval alone: which files it had is not known any more."""
        rule = setting.chosen.at.policy.trust
        pushers = [head.pusher or "" for head in setting.heads if head.sha == sha]
        own = frozenset(name.casefold() for name in (setting.chosen.pull.author, *pushers))
        approvals = await self._store.approvals(setting.event.repo.id, sha)
        granted = [
            item
            for item in approvals
            if item.level.at_least(rule.approve) and item.by.casefold() not in own
        ]
        why = f"approved by {granted[0].by}" if granted else "nobody has approved this commit"
        return Trusted(bool(granted), why), own

    async def _approve(self, command: commands.Approve, setting: Setting, into: Gathered) -> None:
        order = await self._ordered(command.line, command.sha, setting, into)
        if order is None:
            return
        head = setting.chosen.pull.head_sha
        if order.asked.sha != head:
            again = code(f"{COMMAND} approve --sha {head[:SHA_CHARS]}")
            todo = self._say("refuse_head_now", new=code(short(head)), command=again)
            old = code(short(order.asked.sha))
            into.refuse(Refusal(self._say("refuse_head", old=old, todo=todo)))
            return
        refusal = may_approve(self._say, setting.chosen.at.policy.trust, order.asked)
        entry = self._entry(setting.event, setting.chosen.pull, "approve")
        into.audit.append(replace(entry, allowed=refusal is None, rule="approve"))
        if refusal:
            into.refuse(refusal)
            return
        now = self._clock.now()
        into.approval = approval(setting.event.repo.id, order.asked, "command", now)
        await self._pulls.start_approved(order, into, now)
        into.said.append(self._say("approved", sha=code(short(head))))

    async def _cancel(self, command: commands.Cancel, setting: Setting, into: Gathered) -> None:
        policy, pull = setting.chosen.at.policy, setting.chosen.pull
        wanted = await self._store.wanted_by(pull.repo_id, pr_source(pull.number))
        wanted += await self._store.pinned_by(pull.repo_id, pull.number)
        ours = {item.run.id: item.run for item in wanted}
        left = {run.suite for run in ours.values()}
        names, refusals = named(self._say, policy, command.suites, to_start=False, left=left)
        if _refused(refusals, into):
            return
        targets = [run for run in ours.values() if not command.suites or run.suite in names]
        if not targets:
            into.said.append(self._nothing(setting, "nothing_to_cancel", names))
        now, who = self._clock.now(), setting.person.login
        for run in targets:
            may = may_cancel(policy, run, setting.person, pull.author)
            entry = replace(self._entry(setting.event, pull, f"cancel {run.suite}"), sha=run.sha)
            into.audit.append(replace(entry, allowed=may, rule="trust"))
            if not may:
                into.refuse(self._may_not_cancel(setting, run))
                continue
            into.wishes.append((run.id, Wish(WishKind.CANCEL, who, f"cancelled by {who}", now)))
            into.run_ids.append(run.id)

    def _may_not_cancel(self, setting: Setting, run: Run) -> Refusal:
        policy = setting.chosen.at.policy
        suite = policy.suites.get(run.suite)
        needed = level_for(policy.trust, suite) if suite else policy.trust.heavy
        words = (self._say(f"level_{level}") for level in (needed, setting.person.level))
        values = dict(zip(("needed", "level"), words, strict=True))
        return Refusal(self._say("refuse_cancel", suite=code(run.suite), **values))

    async def _explain(self, command: commands.Explain, setting: Setting, into: Gathered) -> None:
        repo, chosen = setting.event.repo, setting.chosen
        runs = latest(await self._store.runs_at(repo.id, chosen.pull.head_sha))
        pen, now = Pen(Context(repo.full_name)), self._clock.now()
        stands = {name: row_state(pen, run, now) for name, run in runs.items()}
        into.said.append(explained(self._say, chosen, command.suites, stands))

    async def _status(self, setting: Setting, into: Gathered) -> None:
        runs = await self._store.runs_at(setting.event.repo.id, setting.chosen.pull.head_sha)
        found = latest(runs)
        into.run_ids += [run.id for run in found.values()]
        if not found:
            into.said.append(self._nothing(setting, "nothing_runs"))

    def _nothing(self, setting: Setting, key: str, names: Sequence[str] = ()) -> str:
        """Say that there is nothing, and when only an approval is missing, that."""
        chosen, waits = setting.chosen, set(waiting(setting.chosen))
        sha = code(short(chosen.pull.head_sha))
        if waits.intersection(names) if names else waits:
            return self._say("nothing_yet", sha=sha, why=prose(chosen.trust.why))
        return self._say(key, sha=sha)

    def _entry(self, event: CommentCreated, pull: Pull, what: str) -> AuditEntry:
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

    def _answer(self, event: CommentCreated, into: Gathered, changes: Changes) -> Changes:
        """Add the one reply of the comment."""
        reply = Reply(
            repo_id=event.repo.id,
            comment_id=event.comment_id,
            number=event.number,
            head="\n\n".join(into.said),
            run_ids=tuple(dict.fromkeys(into.run_ids)),
        )
        return replace(changes, repo=event.repo, replies=(reply,))


def _refused(refusals: list[Refusal], into: Gathered) -> bool:
    """Say what can't be followed; one such word stops its whole command."""
    for refusal in refusals:
        into.refuse(refusal)
    return bool(refusals)


def bare(chosen: Chosen) -> list[str]:
    """Return what a command without a suite starts: the selected ones; heavy ones are named."""
    policy = chosen.at.policy
    return [
        name
        for name in chosen.selection.selected
        if by_command(policy.suites[name]) and policy.suites[name].tier is Tier.STANDARD
    ]
