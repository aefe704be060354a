"""Re-run on commits that are of no pull request: a merge group's, a push's, a night's."""

from collections.abc import Awaitable, Callable

from bot.core.github.events import ButtonPressed, CheckRerequested, SuiteRerequested
from bot.core.messages import Messages
from bot.core.model.runs import Run
from bot.core.planning.commits import RerunCandidate, claimants_again, may_run_again, to_run_again
from bot.core.planning.merge_group import alive
from bot.core.planning.permissions import Allowed, Refusal, Requester, may_start
from bot.core.planning.plan import AuditEntry, Plan
from bot.core.planning.pull_request import PolicyAt
from bot.core.planning.starts import PlanBuilder, Starts
from bot.core.planning.trust import Trusted
from bot.core.report.views import Gate
from bot.ports.clock import Clock
from bot.ports.inbox import InboxStore
from bot.services.events.pull_request import Pulls
from bot.services.policies import Policies

Click = CheckRerequested | SuiteRerequested | ButtonPressed
Same = Callable[[Click, str], Awaitable[bool]]  # whether the same click came a moment ago


class Elsewhere:
    """Makes the next attempts there, with the snapshot of the one before."""

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

    async def pressed(self, event: Click, run: Run | None, same: Same) -> PlanBuilder | None:
        """Return what a click adds up to; None: nothing runs at this commit for anybody now."""
        row = alive(await self._store.selections(event.repo.id, event.sha))
        runs = await self._store.runs_at(event.repo.id, event.sha)
        known = may_run_again(runs, group=row is not None)
        if not known and row is None:
            return None
        builder = PlanBuilder()
        for name in to_run_again(known, run):
            if await same(event, name):
                builder.said.append(self._messages("merged_click"))
            else:
                await self._start(event, known[name], builder)
        if row and builder.new_runs:
            gate = Gate(event.repo.id, event.sha, 0, name=str(row.data["gate"]))
            builder.changes = Plan(gates=(gate,))
        return builder

    async def _start(self, event: Click, again: RerunCandidate, builder: PlanBuilder) -> None:
        """Start the next attempt, or say why not."""
        before, now = again.run, self._clock.now()
        at = await self._policies.of(event.repo, before.snapshot.policy_ref)
        if not isinstance(at, PolicyAt):
            builder.refuse(Refusal(self._messages("refuse_policy")))
            return
        person = await self._pulls.person(event.repo, at.policy.trust, event.sender)
        requester = Requester(
            person, event.sha, frozenset(), Trusted(True, "it runs for no pull request")
        )
        answer = may_start(self._messages, at.policy, before.suite, requester)
        entry = AuditEntry(
            at=now,
            who=event.sender,
            what=f"rerun {before.suite}",
            allowed=isinstance(answer, Allowed),
            rule="trust",
            repo_id=event.repo.id,
            sha=event.sha,
        )
        builder.audit.append(entry)
        if isinstance(answer, Refusal):
            builder.refuse(answer)
            return
        run = self._starts.again(before, event.sender, now)
        builder.new_runs.append((run, claimants_again(again, run.id, event.sender)))
