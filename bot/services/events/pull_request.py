"""The event `pull_request`: the head is evaluated, and its runs are planned."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.github.events import PullRequestAction, PullRequestEvent
from bot.core.messages import Message
from bot.core.model.ids import RunId, short
from bot.core.model.people import NOBODY, Account
from bot.core.model.pulls import Head, Pull, PullAt
from bot.core.model.repos import Repo
from bot.core.model.selections import StoredSelection
from bot.core.model.views import GateDue
from bot.core.planning import pull_request as planning
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.head_trigger import (
    HeadTrigger,
    LearnedHead,
    activities,
    former_heads,
    head_since,
)
from bot.core.planning.permissions import Requester
from bot.core.planning.plan import DropClaimant, Plan, Restated
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.starts import StartRequest
from bot.core.planning.trust import Authorship, Person, Trusted
from bot.ports.errors import Permanent, Transient
from bot.services.events.policy_change import PolicyChanges
from bot.services.events.pull_reader import HeadMoved, PullReader
from bot.services.events.strangers import TooOften
from bot.services.events.unknown_gate import UnknownGate
from bot.services.events.workflow_triggers import WorkflowTriggers
from bot.services.policies import Broken
from bot.services.runs.native import Natives
from bot.services.trust import TrustJudge
from bot.services.workers import Deps, Service

_CLOSED = Message("drop_closed")


@dataclass(frozen=True, slots=True)
class RequestedHead:
    """The head of a pull request, evaluated for a person who asks for something there."""

    evaluation: planning.Evaluation
    head: Head
    person: Person
    authorship: Authorship


class PullRequests(Service):
    """Brings what runs for a pull request in line with its head."""

    def __init__(self, deps: Deps, policy_changes: PolicyChanges) -> None:
        super().__init__(deps)
        self._policy_changes = policy_changes
        self.trust = TrustJudge(deps)
        self.reader = PullReader(deps)
        self._unknown = UnknownGate(deps)
        self._natives = Natives(deps)
        self._workflows = WorkflowTriggers(deps)

    async def changed(self, event: PullRequestEvent) -> Plan:
        """Plan what an event of a pull request changes; raise `TooOften` if it has to wait."""
        # Who pushes to the repository itself has write; all else on its branches anybody may do.
        pushed_here = event.action is PullRequestAction.SYNCHRONIZE and not event.pull.from_fork
        costs = event.pull.open and not pushed_here
        known = await self._store.pulls.get(event.repo.id, event.pull.number)
        if costs and not await self._strangers.may_act(event.repo, event.sender):
            gates = await self._gates_that_wait(event, known)
            raise TooOften("its sender, who has no rights here, pushes too often", gates)
        pull, sender = event.pull, event.sender
        if event.action is PullRequestAction.EDITED:  # GitHub tells only of another base so
            pull = replace(pull, based_at=pull.updated_at)
        if known and _out_of_order(event, known):
            # GitHub's answer does not tell of another base that it had in between.
            based_at = max(filter(None, (pull.based_at, known.based_at)), default=None)
            pull = replace(await self.reader.pull(event.repo, pull.number), based_at=based_at)
            sender = sender if pull.head_sha == event.pull.head_sha else NOBODY
        if not pull.open:
            return await self.closed(event.repo, pull)
        told_at = event.pull.updated_at if pull.head_sha == event.pull.head_sha else None
        trigger = HeadTrigger(event.action)
        plan = await self.plan_head(event.repo, pull, trigger, sender, told_at=told_at)
        told = (event.before, event.pull.head_sha)
        return replace(plan, former_heads=former_heads(plan.head, told) if plan.head else ())

    async def _gates_that_wait(
        self, event: PullRequestEvent, known: Pull | None
    ) -> tuple[GateDue, ...]:
        """Open the gate of a commit that was judged for less than a waiting event tells of it.

        It may be green for another base, or for another pull request. Return the gate, closed, in
        case that the event is dropped.
        """
        repo, pull = event.repo, event.pull
        if known is not None and not known.differs(pull):
            return ()
        if await self._is_beside_a_member(repo, pull):
            return ()
        if not await self._store.pulls.selections(repo.id, pull.head_sha):
            return ()
        if not await self._store.pulls.is_unknown(pull):
            gate = GateDue(repo.id, pull.head_sha, pull.number)
            await self._unknown.show_waiting(repo, gate)
        return (planning.gate_of_former_head(pull.head_sha, pull),)

    async def show_waiting(self, repo: Repo, pull: Pull) -> bool:
        """Let the gate of a head say that it waits; False: it does already, or others have it."""
        if await self._store.pulls.is_unknown(pull) or await self._is_beside_a_member(repo, pull):
            return False
        gate = GateDue(repo.id, pull.head_sha, pull.number)
        await self._unknown.show_waiting(repo, gate)
        return True

    async def _is_beside_a_member(self, repo: Repo, pull: Pull) -> bool:
        """Return True if a stranger's pull request would not count for the gate of its head.

        Somebody with rights has one of the same commit there.
        """
        bases = {pull.base_ref, repo.default_branch}
        others = [one.author for one in await self._others_at(pull) if one.base_ref in bases]
        if not others or await self._strangers.has_rights(repo, pull.author):
            return False
        return any([await self._strangers.has_rights(repo, author) for author in others])

    async def closed(self, repo: Repo, pull: Pull, why: Message = _CLOSED) -> Plan:
        """Stop what runs for a closed pull request only."""
        wanted = await self._store.runs.of_claimant(repo.id, planning.pr_source(pull.number))
        plan, former = planning.plan_closed(pull, wanted, why), await self.former_gates(pull)
        return replace(plan, repo=repo, gates=(*plan.gates, *former))

    async def plan_head(
        self,
        repo: Repo,
        pull: Pull,
        trigger: HeadTrigger,
        sender: Account = NOBODY,
        *,
        told_at: datetime | None = None,
    ) -> Plan:
        """Plan the runs for the head of an open pull request, or for its newer head."""
        try:
            return (await self.judge_head(repo, pull, trigger, sender, told_at=told_at))[0]
        except HeadMoved as moved:
            return await self._plan_moved(repo, moved.pull)
        except (Transient, Permanent) as error:
            if not await self._is_beside_a_member(repo, pull):
                gate = GateDue(pull.repo_id, pull.head_sha, pull.number)
                await self._unknown.show(repo, gate, error)
            raise

    async def _plan_moved(self, repo: Repo, pull: Pull) -> Plan:
        """Plan for a head that was seen before its webhook."""
        if not pull.open:
            return await self.closed(repo, pull)
        return (await self.judge_head(repo, pull, HeadTrigger.FOUND_BY_LOOKING))[0]

    async def judge_head(
        self,
        repo: Repo,
        pull: Pull,
        trigger: HeadTrigger,
        sender: Account = NOBODY,
        *,
        told_at: datetime | None = None,
    ) -> tuple[Plan, planning.Evaluation | None]:
        """Plan the runs for the head of an open pull request; return its evaluation, too.

        ``told_at`` is when GitHub told of this head. The evaluation is None without a policy that
        could be read.
        """
        learned = await self._learn(pull, trigger, sender, told_at)
        head, others = learned.head, await self._others_at(pull)
        policy = await self._policies.of(repo, pull.base_ref)
        evaluation: planning.Evaluation | None = None
        given_up = await self._natives.judge_anew(repo, pull.head_sha, PullAt(pull, head.since))
        if policy is None:
            # Without a policy only the runs that an earlier policy started are our concern.
            drops = await self._claims_of_former_heads(pull)
            return Plan(repo=repo, drop_claimants=drops), None
        if isinstance(policy, Broken):
            drops = await self._claims_of_former_heads(pull)
            changes = policy.plan(pull.repo_id, pull.head_sha, pull.number)
            changes = replace(changes, pull=pull, drop_claimants=drops)
            listed = await self.reader.listed(repo, pull, learned.by or pull.author)
            files = listed.files
        else:
            evaluation, head = await self._evaluate(
                repo, pull, policy, learned, shared=bool(others)
            )
            changes = await self._plan(evaluation, given_up.mistaken)
            files = evaluation.files
        former = await self.former_gates(pull)
        plan = replace(
            changes,
            repo=repo,
            head=head,
            new_runs=(*changes.new_runs, *given_up.new_runs),
            run_events=given_up.run_events,
            mistaken=given_up.mistaken,
            gates=(*changes.gates, *given_up.gates, *former),
            restated=await self._judge_others(repo, others),
            proposal=await self._policy_changes.proposed(repo, pull, policy, files),
        )
        return plan, evaluation

    async def _judge_others(self, repo: Repo, others: list[Pull]) -> tuple[Restated, ...]:
        """Judge the trust of the other pull requests with this head for which nobody asked yet.

        Their one gate depends on it now. Where theirs is judged that of this one is, too: else it
        would not count beside them.
        """
        found = []
        for other in others:
            row, policy = await self.selection(other), await self._policies.of(repo, other.base_ref)
            if row is None or row.data.trusted is not None or not isinstance(policy, PolicyAt):
                continue
            learned = await self._learn(other, HeadTrigger.DISPATCH, NOBODY)
            try:
                evaluation, _ = await self._evaluate(repo, other, policy, learned)
            except HeadMoved:
                continue  # it leaves this commit: its own event tells
            trust = evaluation.trust
            data = replace(row.data, trusted=trust.trusted, trust_reason=trust.why)
            found.append(Restated(row, replace(row, data=data)))
        return tuple(found)

    async def selection(self, pull: Pull) -> StoredSelection | None:
        """Return the selection of a pull request's head as it is stored."""
        found = await self._store.pulls.selections(pull.repo_id, pull.head_sha)
        return next((row for row in found if row.number == pull.number), None)

    async def former_gates(self, pull: Pull) -> tuple[GateDue, ...]:
        """Return the gates of the commits that were the head, closed."""
        former = sorted(await self._store.pulls.former_heads(pull))
        return tuple(planning.gate_of_former_head(sha, pull) for sha in former)

    async def _others_at(self, pull: Pull) -> list[Pull]:
        """Return the other open pull requests with the same head."""
        pulls = await self._store.pulls.at(pull.repo_id, pull.head_sha)
        return [other for other in pulls if other.number != pull.number]

    async def _learn(
        self, pull: Pull, trigger: HeadTrigger, by: Account, told_at: datetime | None = None
    ) -> LearnedHead:
        """Return the head with its pusher; a commit keeps the pusher it had first.

        It is fresh only if it was not the head before: a webhook may come late, or again.
        """
        now = self._clock.now()
        row = await self._store.pulls.get(pull.repo_id, pull.number)
        was_head = row is not None and row.open and row.head_sha == pull.head_sha
        fresh = trigger.may_be_fresh and not was_head
        known = await self._store.pulls.heads(pull.repo_id, pull.number)
        pusher = by if trigger.is_push else NOBODY
        since = head_since(pull, row, trigger, told_at)
        found = Head(pull.repo_id, pull.number, pull.head_sha, pusher, now, since)
        for head in known:
            if head.sha == pull.head_sha:
                # A commit that comes back counts as new: its time is now.
                seen_at = head.seen_at if head is known[-1] else now
                found = replace(head, pusher=head.pusher or pusher, seen_at=seen_at)
        others = [head for head in known if head.sha != pull.head_sha]
        return LearnedHead(found, trigger, by, fresh, activities(pull, found, trigger, others))

    async def _claims_of_former_heads(self, pull: Pull) -> tuple[DropClaimant, ...]:
        """Return the claims of this pull request on runs at former heads, to drop them."""
        wanted = await self._store.runs.of_claimant(pull.repo_id, planning.pr_source(pull.number))
        gone = tuple(item for item in wanted if item.run.sha != pull.head_sha)
        return planning.plan_closed(
            pull, gone, Message("superseded_by", sha=short(pull.head_sha))
        ).drop_claimants

    async def evaluate_for(
        self, repo: Repo, pull: Pull, at: PolicyAt, who: Account
    ) -> RequestedHead:
        """Evaluate the head for a person who asks for something there."""
        learned = await self._learn(pull, HeadTrigger.REQUEST, who)
        head = await self.trust.with_pusher(repo, pull, learned.head)
        evaluation, head = await self._evaluate(repo, pull, at, replace(learned, head=head))
        return RequestedHead(
            evaluation=evaluation,
            head=head,
            person=await self.trust.person(repo, at, who),
            authorship=await self.trust.authorship(pull, head),
        )

    async def request(self, asked: RequestedHead) -> StartRequest:
        """Return the request of a person for suites on the head."""
        evaluation = asked.evaluation
        sha, source = evaluation.pull.head_sha, planning.pr_source(evaluation.pull.number)
        requester = Requester(asked.person, sha, asked.authorship, evaluation.trust)
        request = await self.start_request(evaluation, requester, source)
        return replace(request, selection=await self.selection(evaluation.pull))

    async def start_request(
        self, evaluation: planning.Evaluation, requester: Requester, source: str
    ) -> StartRequest:
        """Return a request with the attempts at its commit and the NPU-hours that were used."""
        repo_id = evaluation.pull.repo_id
        runs = await self._store.runs.at(repo_id, requester.sha)
        spent = await self._store.queue.spent(repo_id, self._clock.now())
        return StartRequest(evaluation, requester, source, runs, spent=spent)

    async def _evaluate(
        self, repo: Repo, pull: Pull, at: PolicyAt, learned: LearnedHead, *, shared: bool = False
    ) -> tuple[planning.Evaluation, Head]:
        """Select suites by the head's files, and decide whether the head is trusted.

        Trust costs calls. It is decided only if a suite depends on it, a person asks, or another
        pull request has the same head (``shared``). The head is returned with its pusher, if that
        was asked for.
        """
        head = learned.head
        who = NOBODY if learned.trigger is HeadTrigger.DISPATCH else learned.by or pull.author
        listed = await self.reader.files(repo, pull, who)
        selection, kept = await self._workflows.select(repo, pull, at, learned, listed)
        trust = Trusted(True, Message("trust_unasked"), looked_at=False)
        chosen = (choice for choice in (*selection.choices, *kept) if choice.selected)
        wanted_suites = [at.policy.suites[choice.suite] for choice in chosen]
        asked = learned.trigger.asks_for_trust or shared
        protected = selection.protected
        if asked or wanted_suites:
            protected = await self.trust.protected_files(repo, pull, at, listed)
            selection = replace(selection, protected=protected)
        if asked or any(planning.needs_trust(suite, protected) for suite in wanted_suites):
            trust, head = await self.trust.of_head(repo, pull, at, head, protected)
        evaluation = planning.Evaluation(
            pull=pull,
            at=at,
            selection=selection,
            files=listed.files,
            trust=trust,
            origin=learned.origin,
            fresh=learned.fresh,
            pushed=learned.trigger is HeadTrigger.SYNCHRONIZE,
            kept=kept,
        )
        return evaluation, head

    async def _plan(
        self, evaluation: planning.Evaluation, mistaken: Collection[RunId] = ()
    ) -> Plan:
        """Plan the difference between what should run at a head and what runs.

        ``mistaken`` are runs that are given up.
        """
        pull, runs = evaluation.pull, self._store.runs
        at_head = await runs.at(pull.repo_id, pull.head_sha)
        present = planning.ExistingRuns(
            at_head=tuple(item for item in at_head if item.run.id not in mistaken),
            wanted=await runs.of_claimant(pull.repo_id, planning.pr_source(pull.number)),
        )
        return planning.plan_head(evaluation, present, self._maker())

    async def start_approved(self, evaluation: planning.Evaluation, builder: PlanBuilder) -> None:
        """Start what waited for an approval of the head, if ``builder`` holds one.

        A suite that the approver has started by name is not started twice.
        """
        if (
            builder.base
            or builder.approval is None
            or builder.approval.sha != evaluation.pull.head_sha
        ):
            return
        trust = Trusted(True, Message("trust_approved", by=builder.approval.by.login))
        builder.base = await self._plan_besides(replace(evaluation, trust=trust), builder)
        builder.run_ids += [run.id for run, _ in builder.base.new_runs]

    async def _plan_besides(self, evaluation: planning.Evaluation, builder: PlanBuilder) -> Plan:
        """Plan a head, without what the builder starts there already."""
        changes = await self._plan(evaluation)
        named = {run.suite for run, _ in builder.new_runs}
        waiting = tuple(item for item in changes.new_runs if item[0].suite not in named)
        return replace(changes, new_runs=waiting)

    async def plan_unplanned(self, evaluation: planning.Evaluation, builder: PlanBuilder) -> None:
        """Plan the head, too, if that was never done, or only by a policy with errors."""
        pull = evaluation.pull
        row = await self.selection(pull)
        sure = not await self._store.pulls.is_unknown(pull)
        if builder.base or (row is not None and sure and not row.data.policy_errors):
            return
        origin = Message("origin_found", sha=short(evaluation.pull.head_sha))
        builder.base = await self._plan_besides(replace(evaluation, origin=origin), builder)


def _out_of_order(event: PullRequestEvent, known: Pull) -> bool:
    """Return True if the payload may be older than what we know: webhooks come in any order."""
    if event.action is PullRequestAction.SYNCHRONIZE:
        return event.before != known.head_sha
    seen, said = known.updated_at, event.pull.updated_at
    if seen is None or said is None:
        return False
    return said < seen or (said == seen and event.pull.differs(known))
