"""What a pull request's events lead to: its head, its selection, its plan."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.github.events import PullChanged
from bot.core.model.levels import Level
from bot.core.model.pulls import Head, Pull
from bot.core.model.repos import Repo
from bot.core.planning.plan import DropClaimant, Plan
from bot.core.planning.pull_request import (
    Evaluation,
    ExistingRuns,
    PolicyAt,
    close,
    leave,
    plan,
    pr_source,
    short,
    starts_by_itself,
)
from bot.core.planning.starts import PlanBuilder, StartRequest
from bot.core.planning.trust import Person, Trusted, trust_sha
from bot.core.policy import Trust
from bot.core.policy.selection import POLICY_PATH, select, touches_protected
from bot.core.report.views import Gate
from bot.ports.clock import Clock
from bot.ports.github import ChangedFiles, GitHub
from bot.ports.inbox import InboxStore
from bot.services.events.policy_change import Proposals
from bot.services.policies import Broken, Policies

_FRESH = {"opened", "reopened", "synchronize", "found"}


@dataclass(frozen=True, slots=True)
class HeadTrigger:
    """How a head came to be looked at: the action, who sent it, and from which base it moved."""

    action: str  # the webhook's, "found" after a lost one, "asked" by a person's command or click
    sender: str | None


class Pulls:
    """Brings what runs for a pull request in line with its head."""

    def __init__(
        self,
        store: InboxStore,
        github: GitHub,
        policies: Policies,
        proposals: Proposals,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._github = github
        self._policies = policies
        self._proposals = proposals
        self._clock = clock
        self._new_id = new_id

    async def changed(self, event: PullChanged) -> Plan:
        """Return what a pull request's webhook leads to."""
        known = await self._store.pull(event.repo.id, event.pull.number)
        pull, sender = event.pull, event.sender or None
        if _out_of_order(event, known):
            pull = await self._github.pull(event.repo, pull.number)
            sender = sender if pull.head_sha == event.pull.head_sha else None
        if not pull.open:
            return await self.closed(event.repo, pull)
        return await self.look(event.repo, pull, HeadTrigger(event.action, sender))

    async def closed(
        self, repo: Repo, pull: Pull, why: str = "the pull request was closed"
    ) -> Plan:
        """Return what a closed pull request leads to."""
        wanted = await self._store.runs_of_claimant(repo.id, pr_source(pull.number))
        changes = close(pull, wanted, why)
        shared = await self._others_at(pull, pull)
        return replace(changes, repo=repo, gates=() if shared else changes.gates)

    async def look(self, repo: Repo, pull: Pull, trigger: HeadTrigger) -> Plan:
        """Return what an open pull request's head leads to."""
        now = self._clock.now()
        policy = await self._policies.of(repo, pull.base_ref)
        head = await self.head(pull, trigger, now)
        if policy is None:
            # A repository without a policy is none of ours, but for what its last one began.
            return Plan(repo=repo, drop_claimants=await self._moved_on(pull))
        if isinstance(policy, Broken):
            changes = await self._broken(pull, policy)
            listed = await self._github.pull_files(repo, pull.number, pull.changed_files)
            files = listed.files
        else:
            evaluation = await self.evaluate(repo, pull, policy, trigger, head)
            changes, files = await self.plan(evaluation, now), evaluation.files
        gates = (*changes.gates, *await self.left(pull))
        proposal = await self._proposals.of(repo, pull, policy, files)
        return replace(changes, repo=repo, head=head, gates=gates, proposal=proposal)

    async def left(self, pull: Pull) -> tuple[Gate, ...]:
        """Return the gate of the head that a pull request has moved on from, if it has."""
        known = await self._store.pull(pull.repo_id, pull.number)
        if known is None or known.head_sha == pull.head_sha or await self._others_at(known, pull):
            return ()
        return (leave(known.head_sha, pull),)

    async def _others_at(self, at: Pull, besides: Pull) -> bool:
        """Tell whether another open pull request has ``at``'s head as its own."""
        pulls = await self._store.pulls_at(at.repo_id, at.head_sha)
        return any(other.number != besides.number for other in pulls)

    async def head(self, pull: Pull, trigger: HeadTrigger, now: datetime) -> Head:
        """Return the head with the one who brought it: a commit keeps its first pusher."""
        known = await self._store.heads(pull.repo_id, pull.number)
        for head in reversed(known):
            if head.sha == pull.head_sha and head.pusher:
                # A commit that comes back is as new as one that nobody has seen.
                return head if head is known[-1] else replace(head, seen_at=now)
        pushed = trigger.action in {"opened", "synchronize"}
        pusher = trigger.sender if pushed else None
        return Head(pull.repo_id, pull.number, pull.head_sha, pusher, now)

    async def _broken(self, pull: Pull, policy: Broken) -> Plan:
        """Return a gate that lists the policy's errors; nothing starts."""
        errors = tuple(f"`{policy.ref}` {error}" for error in policy.errors)
        gate = Gate(pull.repo_id, pull.head_sha, pull.number, policy_errors=errors)
        return Plan(pull=pull, gates=(gate,), drop_claimants=await self._moved_on(pull))

    async def _moved_on(self, pull: Pull) -> tuple[DropClaimant, ...]:
        """Return the wants at other commits: whatever the policy, they are not the head's."""
        wanted = await self._store.runs_of_claimant(pull.repo_id, pr_source(pull.number))
        gone = tuple(item for item in wanted if item.run.sha != pull.head_sha)
        return close(pull, gone, f"superseded by {short(pull.head_sha)}").drop_claimants

    async def evaluate(
        self, repo: Repo, pull: Pull, at: PolicyAt, trigger: HeadTrigger, head: Head
    ) -> Evaluation:
        """Return what a head's files select, and whether it is trusted.

        Trust costs calls: it is asked for when something starts by itself, or a person asked.
        """
        listed = await self._github.pull_files(repo, pull.number, pull.changed_files)
        selection = select(at.policy, listed.files, truncated=listed.truncated)
        protected = selection.protected or touches_protected(listed.files, POLICY_PATH)
        trust = Trusted(True, "nothing starts by itself", looked_at=False)
        wanted_suites = [at.policy.suites[name] for name in selection.selected]
        requester = trigger.action == "asked"
        if requester or any(starts_by_itself(suite) for suite in wanted_suites):
            trust = await self._trust(repo, pull, at.policy.trust, head, protected)
            by_files = trust.trusted and not trust.approved
            if by_files and not await self._are_of_head(repo, pull, listed):
                trust = Trusted(False, "the head moved while its files were listed")
        return Evaluation(
            pull=pull,
            at=at,
            selection=selection,
            files=listed.files,
            trust=trust,
            origin=_origin(pull, trigger),
            fresh=trigger.action in _FRESH,
            pushed=trigger.action == "synchronize",
        )

    async def _are_of_head(self, repo: Repo, pull: Pull, listed: ChangedFiles) -> bool:
        """Tell whether the files are the head's: GitHub lists those of the head at that moment.

        A list that does not say whose it is, as when files are only removed, costs a call.
        """
        if listed.heads or listed.truncated:
            return listed.truncated or listed.heads == {pull.head_sha}
        return (await self._github.pull(repo, pull.number)).head_sha == pull.head_sha

    async def plan(self, evaluation: Evaluation, now: datetime) -> Plan:
        """Return the difference between what a head should run and what runs."""
        pull = evaluation.pull
        present = ExistingRuns(
            at_head=await self._store.runs_at(pull.repo_id, pull.head_sha),
            wanted=await self._store.runs_of_claimant(pull.repo_id, pr_source(pull.number)),
        )
        return plan(evaluation, present, now, self._new_id)

    async def start_approved(
        self, request: StartRequest, builder: PlanBuilder, now: datetime
    ) -> None:
        """Start what was waiting for the approval of the head that ``into`` holds, if it does.

        Suites that the approver has started by name are there already.
        """
        evaluation = request.evaluation
        if (
            builder.changes
            or builder.approval is None
            or builder.approval.sha != evaluation.pull.head_sha
        ):
            return
        trust = Trusted(True, f"approved by {builder.approval.by}")
        changes = await self.plan(replace(evaluation, trust=trust), now)
        named = {run.suite for run, _ in builder.new_runs}
        waiting = tuple(item for item in changes.new_runs if item[0].suite not in named)
        builder.changes = replace(changes, new_runs=waiting)
        builder.run_ids += [run.id for run, _ in waiting]

    async def _trust(
        self, repo: Repo, pull: Pull, rule: Trust, head: Head, protected: tuple[str, ...]
    ) -> Trusted:
        author = await self.person(repo, rule, pull.author)
        pusher = None
        if head.pusher is not None:
            same = head.pusher.casefold() == author.login.casefold()
            pusher = author if same else await self.person(repo, rule, head.pusher)
        approvals = await self._store.approvals(repo.id, pull.head_sha)
        return trust_sha(rule, pull, (author, pusher), protected, approvals)

    async def person(self, repo: Repo, rule: Trust, login: str) -> Person:
        """Return somebody with their level now, and whether the policy lists them."""
        level = await self._github.permission(repo, login) if login else Level.NONE
        return Person(login, level, await self._listed(repo, rule, login))

    async def _listed(self, repo: Repo, rule: Trust, login: str) -> bool:
        if login.casefold() in {user.casefold() for user in rule.users}:
            return True
        for team in rule.teams:
            if login and await self._github.in_team(repo, team, login):
                return True
        return False


def _out_of_order(event: PullChanged, known: Pull | None) -> bool:
    """Tell whether the payload may not be the newest: webhooks come in any order."""
    if known is None:
        return False
    if event.action == "synchronize":
        return event.before != known.head_sha
    seen, said = known.updated_at, event.pull.updated_at
    return seen is not None and said is not None and said < seen


def _origin(pull: Pull, trigger: HeadTrigger) -> str:
    if trigger.action == "synchronize":
        return f"a push of {short(pull.head_sha)}"
    if trigger.action == "found":
        return f"{short(pull.head_sha)}, found as the head"
    if trigger.action == "asked":
        return f"the approval of {trigger.sender}"
    return f"the pull request being {trigger.action.replace('_', ' ')}"
