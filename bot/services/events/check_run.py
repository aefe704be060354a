"""The events `check_run` and `check_suite`: people press *Re-run* or a button in the checks tab.

GitHub has set the suite back to queued when a click arrives. A click that starts nothing is
therefore answered by a new check run that gives the reason.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from bot.core.github.events import CheckRunEvent, CheckSuiteEvent
from bot.core.github.markdown import code, prose
from bot.core.messages import Message, Messages
from bot.core.model.ids import short
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.runs import Run, State
from bot.core.model.views import GateDue
from bot.core.planning import permissions
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.commits import rerun_candidates, suites_to_rerun
from bot.core.planning.merge_group import waiting_group
from bot.core.planning.offers import line
from bot.core.planning.plan import AuditEntry, Plan, RepublishCheck, RunClaimants
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.shared import meant_pull
from bot.core.planning.starts import Starter, StartRequest, approval
from bot.core.planning.trust import Authorship, Trusted
from bot.services.events.pull_request import PullRequests
from bot.services.policies import Broken
from bot.services.workers import Deps, Service

SAME_CLICK = timedelta(seconds=60)
APPROVE = "approve"
RERUN_FAILED = "rerun_failed"

Click = CheckRunEvent | CheckSuiteEvent


@dataclass(frozen=True, slots=True)
class Target:
    """What was clicked: one suite's check run, or (None) the gate or the whole suite.

    ``messages`` say the answer in the repository's language.
    """

    run: Run | None
    messages: Messages
    approves: bool = False

    @property
    def verb(self) -> str:
        """Return the click as the audit names it."""
        if self.approves:
            return "approve"
        return f"rerun {self.run.suite}" if self.run else "rerun"


class CheckRuns(Service):
    """Carries out what people press in the checks tab."""

    def __init__(self, deps: Deps, pulls: PullRequests) -> None:
        super().__init__(deps)
        self._pulls = pulls

    async def clicked(self, event: Click) -> Plan:
        """Plan what a click starts; one that starts nothing is answered with the reason."""
        target = await self._target(event)
        pulls = await self._store.pulls.at(event.repo.id, event.sha)
        rows = await self._store.pulls.selections(event.repo.id, event.sha)
        branch = event.repo.default_branch
        pull = meant_pull(pulls, rows, branch, approves=target.approves)
        if pull is None:
            return await self._without_pull(event, target)
        policy = await self._policies.of(event.repo, pull.base_ref)
        if policy is not None:
            target = replace(target, messages=Messages(policy.language))
        if not isinstance(policy, PolicyAt):
            refused = self._entry(event, target.verb, "policy", allowed=False)
            text = _without_policy(target.messages, policy, event.repo)
            return self._refused(event, target, text, refused)
        asked = await self._pulls.evaluate_for(event.repo, pull, policy, event.sender)
        request = replace(await self._pulls.request(asked), failed_only=True)
        if target.approves:
            return await self._approve(event, target, request)
        return await self._rerun(event, target, request)

    async def _target(self, event: Click) -> Target:
        messages = Messages(await self._policies.language(event.repo))
        if isinstance(event, CheckSuiteEvent) or event.identifier == RERUN_FAILED:
            return Target(None, messages)
        if event.identifier == APPROVE:
            return Target(None, messages, approves=True)
        return Target(await self._store.runs.of_check(event.repo.id, event.external_id), messages)

    async def _approve(self, event: Click, target: Target, request: StartRequest) -> Plan:
        """Approve the commit that the button names, and start what was waiting for it."""
        policy = request.evaluation.at.policy
        refusal = permissions.may_approve(target.messages, policy.trust, request.requester)
        entry = self._entry(event, "approve", "approve", allowed=refusal is None)
        entry = replace(entry, number=request.evaluation.pull.number)
        if refusal:
            return self._refused(event, target, refusal.text, entry)
        builder = PlanBuilder(audit=[entry])
        now = self._clock.now()
        builder.approval = approval(event.repo.id, request.requester, "button", now)
        await self._pulls.start_approved(request.evaluation, builder)
        return self._started(event, request, builder)

    async def _rerun(self, event: Click, target: Target, request: StartRequest) -> Plan:
        """Start the clicked suite again, or on the gate every one that is not green."""
        names = (
            [target.run.suite]
            if target.run
            else permissions.not_green(request.runs, request.evaluation.at)
        )
        known = request.evaluation.at.policy.suites
        counting = permissions.counting(request.runs, request.evaluation.at)
        open_ones = {item.run.suite for item in counting if item.run.state is not State.DONE}
        names = [name for name in names if name in known and name not in open_ones]
        fresh = [name for name in names if not await self._is_repeated(event, name)]
        builder = PlanBuilder()
        self._starter(target).start(request, fresh, builder, self._clock.now())
        await self._pulls.start_approved(request.evaluation, builder)
        await self._pulls.plan_unplanned(request.evaluation, builder)
        if builder.base and not builder.audit:
            entry = self._entry(event, target.verb, "never planned", allowed=True)
            builder.audit.append(replace(entry, number=request.evaluation.pull.number))
        if builder.new_runs or builder.base:
            return self._started(event, request, builder)
        if names and not fresh:
            builder.said.append(target.messages("merged_click"))
        if not builder.audit:
            rule = "same click" if names else "nothing to run"
            entry = self._entry(event, target.verb, rule, allowed=False)
            builder.audit.append(replace(entry, number=request.evaluation.pull.number))
        text = "\n\n".join(builder.said) or _why_nothing(target.messages, request)
        return self._refused(event, target, text, *builder.audit)

    def _started(self, event: Click, request: StartRequest, builder: PlanBuilder) -> Plan:
        """Return the plan, to be committed only if its commit is still the head then.

        A push is another subject, so it may be handled at the same moment.
        """
        changes = builder.build(request.gate)
        # A gate that has ended would leave its suite queued.
        gate = RepublishCheck(event.repo.id, event.sha, None, "")
        again = () if changes.new_runs else (gate,)
        basis = request.evaluation.pull
        return replace(changes, repo=event.repo, pull=None, basis=basis, republish=again)

    def _starter(self, target: Target) -> Starter:
        return Starter(target.messages, self._new_id)

    async def _without_pull(self, event: Click, target: Target) -> Plan:
        """Answer a click on a commit that is no open pull request's head.

        A merge group, a push or a schedule may have runs there.
        """
        group = waiting_group(await self._store.pulls.selections(event.repo.id, event.sha))
        runs = await self._store.runs.at(event.repo.id, event.sha)
        candidates = rerun_candidates(runs, group=group is not None)
        if not candidates and group is None:
            return await self._not_a_head(event, target)
        builder = PlanBuilder()
        for name in suites_to_rerun(candidates, target.run):
            if await self._is_repeated(event, name):
                builder.said.append(target.messages("merged_click"))
            else:
                await self._start_again(event, target, candidates[name], builder)
        if builder.new_runs:
            # A merge group's gate is looked at anew.
            gates = (GateDue(event.repo.id, event.sha, 0, name=group.data.gate),) if group else ()
            made, audit = tuple(builder.new_runs), tuple(builder.audit)
            return Plan(repo=event.repo, gates=gates, new_runs=made, audit=audit)
        text = "\n\n".join(dict.fromkeys(builder.said))
        if not text:
            found = tuple(candidates.values())
            text = permissions.nothing_to_rerun(target.messages, found, event.sha)
        return self._refused(event, target, text, *builder.audit)

    async def _not_a_head(self, event: Click, target: Target) -> Plan:
        """Answer a click on a former head of an open pull request, or on a commit of none."""
        known = await self._store.pulls.ever_at(event.repo.id, event.sha)
        pull = next((item.pull for item in known if item.pull.open), None)
        old = code(short(event.sha))
        text = target.messages("refuse_no_head", old=old)
        if known and not pull:
            closed = f"#{known[0].pull.number}"
            text = target.messages("refuse_closed", old=old, pull=closed)
        if pull:
            command = code(await self._for_former_head(event, target, pull))
            key = "refuse_head_now" if target.approves else "refuse_pin"
            todo = target.messages(key, old=old, command=command) if command else ""
            text = permissions.head_moved(target.messages, event.sha, pull, todo)
        refused = self._entry(event, target.verb, "head", allowed=False)
        return self._refused(event, target, text, refused)

    async def _for_former_head(self, event: Click, target: Target, pull: Pull) -> str:
        """Return the comment for a click on a former head; "" if there is nothing to run again."""
        if target.approves:
            return line("approve", sha=pull.head_sha)
        at = await self._policies.of(event.repo, pull.base_ref)
        if not isinstance(at, PolicyAt):
            return ""
        runs = await self._store.runs.at(event.repo.id, event.sha)
        names = [target.run.suite] if target.run else permissions.not_green(runs, at)
        if at.policy.suites.keys().isdisjoint(names):
            return ""
        return line("rerun", *(names if target.run else ()), sha=event.sha)

    async def _start_again(
        self, event: Click, target: Target, candidate: RunClaimants, builder: PlanBuilder
    ) -> None:
        """Start the next attempt with the snapshot of the one before, or say why not."""
        before = candidate.run
        at = await self._policies.of(event.repo, before.snapshot.policy_ref)
        if not isinstance(at, PolicyAt):
            builder.refuse(permissions.Refusal(_without_policy(target.messages, at, event.repo)))
            return
        person = await self._pulls.trust.person(event.repo, at, event.sender)
        trust = Trusted(True, Message("trust_no_pull"))
        requester = permissions.Requester(person, event.sha, Authorship(frozenset()), trust)
        answer = permissions.may_start(target.messages, at.policy, before.suite, requester, "")
        allowed = isinstance(answer, permissions.Allowed)
        builder.audit.append(self._entry(event, f"rerun {before.suite}", "trust", allowed=allowed))
        if isinstance(answer, permissions.Refusal):
            builder.refuse(answer)
            return
        again = self._starter(target).again(candidate, event.sender, self._clock.now())
        builder.new_runs.append(again)

    async def _is_repeated(self, event: Click, name: str) -> bool:
        """Return True if this person had the suite re-run on that commit a moment ago."""
        since = self._clock.now() - SAME_CLICK
        done = await self._store.audit.since(event.repo.id, event.sender, since)
        return any(
            entry.allowed and entry.what == f"rerun {name}" and entry.sha == event.sha
            for entry in done
        )

    def _refused(self, event: Click, target: Target, remark: str, *audit: AuditEntry) -> Plan:
        """Publish the clicked check run anew, with the reason why nothing was started."""
        run_id = target.run.id if target.run else None
        republish = RepublishCheck(event.repo.id, event.sha, run_id, remark)
        return Plan(repo=event.repo, republish=(republish,), audit=audit)

    def _entry(self, event: Click, what: str, rule: str, *, allowed: bool) -> AuditEntry:
        where = (event.repo.id, None, event.sha)
        now, who = self._clock.now(), event.sender
        return AuditEntry(now, who.login, what, allowed, rule, *where, who_id=who.id)


def _why_nothing(messages: Messages, request: StartRequest) -> str:
    """Say why a click on the gate starts nothing: green, running, or waiting for approval."""
    sha = code(short(request.requester.sha))
    if request.requester.trust.trusted:
        return permissions.nothing_to_rerun(messages, request.runs, request.requester.sha)
    needed = messages(f"level_{request.evaluation.at.policy.trust.approve}")
    command = code(line("approve", sha=request.requester.sha))
    why = prose(messages.render(request.requester.trust.why))
    return messages("refuse_trust", sha=sha, why=why, needed=needed, command=command)


def _without_policy(messages: Messages, broken: Broken | None, repo: Repo) -> str:
    """Say that nothing starts, because the policy is broken or gone (None)."""
    errors, ref = (broken.errors, broken.ref) if broken else ((), repo.default_branch)
    return permissions.broken_policy(messages, errors, ref)
