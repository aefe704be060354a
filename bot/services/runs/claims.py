"""Asks once more, right before a run starts, whether those it runs for need it and may have it."""

from dataclasses import replace
from datetime import timedelta

from bot.core.messages import Message
from bot.core.model.ids import short
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.runs import Claimant, Run
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.audit import audited
from bot.core.planning.head_trigger import HeadTrigger
from bot.core.planning.permissions import right_lost
from bot.core.planning.plan import DropClaimant, Plan
from bot.core.planning.pull_request import Evaluation, pr_source, runs_by_itself
from bot.core.planning.trust import Trusted
from bot.ports.errors import Permanent, Transient
from bot.services.events.pull_request import PullRequests
from bot.services.policies import Broken
from bot.services.workers import Deps, Service
from bot.store.runs import ClaimedRun

_GONE = Message("drop_gone")
_SURE_AFTER = timedelta(minutes=1)  # a new pull request may not be on every server of GitHub yet
_ASK_AGAIN_S = (2.0, 5.0)
_DECISION_HOLDS = timedelta(seconds=60)  # as long as GitHub's answers on people are kept


class Claims(Service):
    """Checks the claimants of runs that are about to start."""

    def __init__(self, deps: Deps, pulls: PullRequests) -> None:
        super().__init__(deps)
        self._pulls = pulls

    async def dropped(self, claimed: ClaimedRun, repo: Repo) -> bool:
        """Drop the claimants that need the run no more or may not have it; True if any was."""
        drops = []
        for claimant in claimed.claimants:
            number = claimant.number
            if number is None:
                continue  # a branch, a schedule, a merge group; an operator asks nobody
            if claimant.source == pr_source(number):
                why = await self._of_pull(claimed.run, repo, claimant, number)
            else:
                why = await self._of_pin(claimed.run, repo, claimant, number)
            if why:
                drops.append(DropClaimant(claimant.run_id, claimant.source, why))
        if drops:
            await self._commit(Plan(repo=repo, drop_claimants=tuple(drops)))
        return bool(drops)

    async def _commit(self, plan: Plan) -> bool:
        now = self._clock.now()
        changes = replace(audited(plan, now, None), repo=None)
        return await self._store.commit(changes, now, done=None)

    async def _of_pull(
        self, run: Run, repo: Repo, claimant: Claimant, number: int
    ) -> Message | None:
        """Return why a pull request does not get the run, None if it does."""
        pull = await self._pull(run, repo, number)
        if pull is None:
            return _GONE
        if not pull.open:
            return Message("drop_closed")
        if pull.head_sha != run.sha:
            await self._plan_newer(repo, pull)
            return Message("superseded_by", sha=short(pull.head_sha))
        if not await self._is_old(run, repo, pull):
            return None
        plan, evaluation = await self._judged(repo, pull)
        gone = {(drop.run_id, drop.source): drop.reason for drop in plan.drop_claimants}
        if why := gone.get((run.id, claimant.source)):
            return why
        if evaluation is None or runs_by_itself(run, evaluation):
            return None  # without a policy that can be read, the run's own snapshot holds
        judged = (evaluation.at, evaluation.trust)
        return await self._right_lost(run, repo, claimant, judged)

    async def _plan_newer(self, repo: Repo, pull: Pull) -> None:
        """Plan for a head whose webhook has not come: it may be lost."""
        known = await self._store.pulls.get(repo.id, pull.number)
        if known is None or known.head_sha != pull.head_sha:
            plan = await self._pulls.plan_head(repo, pull, HeadTrigger.FOUND_BY_LOOKING)
            await self._commit(plan)

    async def _is_old(self, run: Run, repo: Repo, pull: Pull) -> bool:
        """Return True if the decision for this head has to be made anew.

        It was made more than 60 s ago (a retry's was), or the pull request has changed since: its
        base may have been another one while its files were listed. With another base than the
        default branch it is always made anew.
        """
        known = await self._store.pulls.get(pull.repo_id, pull.number)
        old = bool(run.retries) or self._clock.now() - run.created_at > _DECISION_HOLDS
        same = known and (known.base_ref, known.updated_at) == (pull.base_ref, pull.updated_at)
        return old or not same or pull.base_ref != repo.default_branch

    async def _judged(self, repo: Repo, pull: Pull) -> tuple[Plan, Evaluation | None]:
        """Evaluate the head anew and store it, so that its gate says why nothing starts."""
        plan, evaluation = await self._pulls.judge_head(repo, pull, HeadTrigger.DISPATCH)
        if not await self._commit(replace(plan, basis=pull)):
            raise Transient(Message("trust_moved"))
        return plan, evaluation

    async def _of_pin(
        self, run: Run, repo: Repo, claimant: Claimant, number: int
    ) -> Message | None:
        """Return why a former head does not run, None if it does."""
        if self._clock.now() - run.created_at <= _DECISION_HOLDS:
            return None
        pull = await self._store.pulls.get(repo.id, number)
        heads = await self._store.pulls.heads(repo.id, number)
        head = next((head for head in heads if head.sha == run.sha), None)
        policy = await self._policies.of(repo, pull.base_ref) if pull else None
        if pull is None or head is None or policy is None or isinstance(policy, Broken):
            return None
        trust = await self._pulls.trust.of_former_head(repo, pull, policy, head)
        return await self._right_lost(run, repo, claimant, (policy, trust))

    async def _right_lost(
        self, run: Run, repo: Repo, claimant: Claimant, judged: tuple[PolicyAt, Trusted]
    ) -> Message | None:
        """Return why a claimant may not have the run any more; who asked for it is asked for."""
        at, trust = judged
        person = None
        if claimant.by:
            person = await self._pulls.trust.person(repo, at, claimant.by)
        return right_lost(at.policy.trust, run, claimant, trust, person)

    async def _pull(self, run: Run, repo: Repo, number: int) -> Pull | None:
        """Read a pull request; end it and return None if GitHub no longer shows it.

        One answer may be a slip of GitHub's: it is asked again before the pull request is gone.
        """
        young = self._clock.now() - run.created_at < _SURE_AFTER
        for wait_s in (*_ASK_AGAIN_S, None):
            try:
                return await self._pulls.reader.pull(repo, number)
            except Permanent as error:
                if not error.is_gone or young:
                    raise
            if wait_s is not None:
                await self._clock.sleep(wait_s)
        if known := await self._store.pulls.get(repo.id, number):
            await self._commit(await self._pulls.closed(repo, known, _GONE))
        return None
