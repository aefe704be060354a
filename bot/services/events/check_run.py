"""Re-run and the buttons of the checks tab: who pressed, on which commit, and what starts.

GitHub has set the suite back to queued when a click arrives, so a click that starts nothing is
answered by showing the check run anew with the reason.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from bot.core.github.events import ButtonPressed, CheckRerequested, SuiteRerequested
from bot.core.messages import Messages
from bot.core.model.pulls import Pull
from bot.core.model.runs import Run, State
from bot.core.planning.permissions import (
    COMMAND,
    SHA_CHARS,
    Requester,
    latest,
    may_approve,
    not_green,
)
from bot.core.planning.plan import AuditEntry, Plan, RepublishCheck
from bot.core.planning.pull_request import PolicyAt, pr_source, short
from bot.core.planning.starts import PlanBuilder, StartRequest, Starts, approval, gate_of, merged
from bot.core.report.markdown import code, prose
from bot.ports.clock import Clock
from bot.ports.inbox import InboxStore
from bot.services.events.elsewhere import Elsewhere
from bot.services.events.pull_request import HeadTrigger, Pulls
from bot.services.policies import Policies

SAME_CLICK = timedelta(seconds=60)
APPROVE = "approve"
RERUN_FAILED = "rerun_failed"

Click = CheckRerequested | SuiteRerequested | ButtonPressed


@dataclass(frozen=True, slots=True)
class Target:
    """What was clicked: one suite's check run, or (None) the gate or the whole suite."""

    run: Run | None
    approves: bool = False


class Clicks:
    """Carries out what people press in the checks tab."""

    def __init__(
        self,
        store: InboxStore,
        policies: Policies,
        pulls: Pulls,
        tools: tuple[Starts, Messages, Clock],
    ) -> None:
        self._store = store
        self._policies = policies
        self._pulls = pulls
        self._starts, self._messages, self._clock = tools
        self._elsewhere = Elsewhere(store, policies, pulls, tools)

    async def pressed(self, event: Click) -> Plan:
        """Return what a click leads to."""
        target = await self._target(event)
        pulls = await self._store.pulls_at(event.repo.id, event.sha)
        if not pulls:
            return await self._without_pull(event, target)
        pull = pulls[0]
        policy = await self._policies.of(event.repo, pull.base_ref)
        if not isinstance(policy, PolicyAt):
            refused = self._entry(event, _what(target), "policy", allowed=False)
            return self._again(event, target, self._messages("refuse_policy"), refused)
        request = await self._request(event, pull, policy)
        if target.approves:
            return await self._approve(event, target, request)
        return await self._rerun(event, target, request)

    async def _target(self, event: Click) -> Target:
        if isinstance(event, SuiteRerequested):
            return Target(None)
        run = await self._store.run_of_check(event.repo.id, event.external_id)
        if isinstance(event, ButtonPressed):
            if event.identifier == APPROVE:
                return Target(None, approves=True)
            if event.identifier == RERUN_FAILED:
                return Target(None)
        return Target(run)

    async def _without_pull(self, event: Click, target: Target) -> Plan:
        """Answer a click on a commit of no open pull request: others may have runs there."""
        found = await self._elsewhere.pressed(event, target.run, self._same)
        if found is None:
            return await self._moved(event, target)
        if found.new_runs:
            base = found.changes or Plan()
            new_runs, audit = tuple(found.new_runs), tuple(found.audit)
            return replace(base, repo=event.repo, new_runs=new_runs, audit=audit)
        text = "\n\n".join(dict.fromkeys(found.said))
        if not text:
            text = self._messages("nothing_to_rerun", sha=code(short(event.sha)))
        return self._again(event, target, text, *found.audit)

    async def _moved(self, event: Click, target: Target) -> Plan:
        """Answer a click on a commit that is no head any more."""
        todo = self._messages(
            "refuse_pin", command=code(f"{COMMAND} --sha {event.sha[:SHA_CHARS]}")
        )
        text = self._messages("refuse_head", old=code(short(event.sha)), todo=todo)
        refused = self._entry(event, _what(target), "head", allowed=False)
        return self._again(event, target, text, refused)

    async def _request(self, event: Click, pull: Pull, policy: PolicyAt) -> StartRequest:
        repo, rule = event.repo, policy.policy.trust
        head = await self._pulls.head(pull, HeadTrigger("asked", None), self._clock.now())
        trigger = HeadTrigger("asked", event.sender)
        evaluation = await self._pulls.evaluate(repo, pull, policy, trigger, head)
        person = await self._pulls.person(repo, rule, event.sender)
        own = frozenset(name.casefold() for name in (pull.author, head.pusher or "") if name)
        requester = Requester(person, event.sha, own, evaluation.trust)
        runs = await self._store.runs_at(repo.id, event.sha)
        spent = await self._store.spent(repo.id, self._clock.now())
        source = pr_source(pull.number)
        return StartRequest(evaluation, requester, source, runs, failed_only=True, spent=spent)

    async def _approve(self, event: Click, target: Target, request: StartRequest) -> Plan:
        """Approve the commit that the button names, and start what was waiting for it."""
        now, policy = self._clock.now(), request.evaluation.at.policy
        refusal = may_approve(self._messages, policy.trust, request.requester)
        entry = self._entry(event, "approve", "approve", allowed=refusal is None)
        entry = replace(entry, number=request.evaluation.pull.number)
        if refusal:
            return self._again(event, target, refusal.text, entry)
        builder = PlanBuilder(audit=[entry])
        builder.approval = approval(event.repo.id, request.requester, "button", now)
        await self._pulls.start_approved(request, builder, now)
        return self._done(event, request, builder)

    async def _rerun(self, event: Click, target: Target, request: StartRequest) -> Plan:
        """Start the clicked suite again, or on the gate every one that is not green."""
        names = [target.run.suite] if target.run else not_green(request.runs)
        known = request.evaluation.at.policy.suites
        open_ones = {
            name for name, run in latest(request.runs).items() if run.state is not State.DONE
        }
        names = [name for name in names if name in known and name not in open_ones]
        fresh = [name for name in names if not await self._same(event, name)]
        builder = PlanBuilder()
        now = self._clock.now()
        self._starts.start(request, fresh, builder, now)
        await self._pulls.start_approved(request, builder, now)
        if builder.new_runs:
            return self._done(event, request, builder)
        if names and not fresh:
            builder.said.append(self._messages("merged_click"))
        if not builder.audit:
            rule = "same click" if names else "nothing to run"
            entry = self._entry(event, _what(target), rule, allowed=False)
            builder.audit.append(replace(entry, number=request.evaluation.pull.number))
        text = "\n\n".join(builder.said) or self._nothing(request)
        return self._again(event, target, text, *builder.audit)

    def _done(self, event: Click, request: StartRequest, builder: PlanBuilder) -> Plan:
        """Return what a click starts, if its commit is the head to the end.

        A push is another subject, so it may be handled in the same moment.
        """
        changes = merged(builder, gate_of(request))
        return replace(changes, repo=event.repo, pull=None, basis=request.evaluation.pull)

    def _nothing(self, request: StartRequest) -> str:
        """Say why a click on the gate starts nothing: green, running, or waiting for approval."""
        sha = code(short(request.requester.sha))
        if request.requester.trust.trusted:
            return self._messages("nothing_to_rerun", sha=sha)
        again = code(f"{COMMAND} approve --sha {request.requester.sha[:SHA_CHARS]}")
        why = prose(request.requester.trust.why)
        return self._messages("refuse_trust", sha=sha, why=why, command=again)

    async def _same(self, event: Click, name: str) -> bool:
        """Tell whether this person had that suite re-run on that commit a moment ago."""
        since = self._clock.now() - SAME_CLICK
        done = await self._store.audit_since(event.repo.id, event.sender, since)
        return any(
            entry.allowed and entry.what == f"rerun {name}" and entry.sha == event.sha
            for entry in done
        )

    def _again(self, event: Click, target: Target, remark: str, *audit: AuditEntry) -> Plan:
        """Show what was clicked anew, with the reason why nothing was started."""
        run_id = target.run.id if target.run else None
        again = RepublishCheck(event.repo.id, event.sha, run_id, remark)
        return Plan(repo=event.repo, republish=(again,), audit=audit)

    def _entry(self, event: Click, what: str, rule: str, *, allowed: bool) -> AuditEntry:
        return AuditEntry(
            at=self._clock.now(),
            who=event.sender,
            what=what,
            allowed=allowed,
            rule=rule,
            repo_id=event.repo.id,
            sha=event.sha,
        )


def _what(target: Target) -> str:
    """Return a click in the audit's words."""
    if target.approves:
        return "approve"
    return f"rerun {target.run.suite}" if target.run else "rerun"
