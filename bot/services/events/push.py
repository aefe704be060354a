"""What a push leads to: the branch's policy read anew, and suites that run on each push."""

from collections.abc import Callable
from dataclasses import replace

from bot.core.github.events import Pushed
from bot.core.model.runs import Rank
from bot.core.planning.commits import Commit, select_unlisted
from bot.core.planning.plan import Plan
from bot.core.planning.pull_request import PolicyAt, short
from bot.core.planning.push import left_behind, plan_push, push_source, selected_by_push
from bot.core.policy import Policy, Trigger
from bot.core.policy.selection import lists_branch, select
from bot.ports.clock import Clock
from bot.ports.errors import Permanent
from bot.ports.github import ChangedFiles, GitHub
from bot.ports.inbox import InboxStore
from bot.services.policies import Policies

_GONE = {404, 410, 422}  # a commit to compare with that git has thrown away
_NO_FILES = ChangedFiles((), truncated=True)


class Pushes:
    """Runs the suites with the trigger `push` on the default branch and those the policy lists."""

    def __init__(
        self,
        store: InboxStore,
        github: GitHub,
        policies: Policies,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._github = github
        self._policies = policies
        self._clock = clock
        self._new_id = new_id

    async def pushed(self, event: Pushed) -> Plan:
        """Return what a push leads to."""
        await self._policies.pushed(event.repo, event.branch)
        wanted = await self._store.runs_of_claimant(event.repo.id, push_source(event.branch))
        commit = None if event.deleted else await self._commit(event)
        reasons: dict[str, str] = {}
        if commit:
            listed = await self._files_of(event, commit.at.policy)
            commit = replace(commit, files=listed.files)
            reasons = _reasons(commit, listed)
        if (reasons or wanted) and not await self._is_newest(event):
            return Plan(repo=event.repo)
        after = None if event.deleted else event.after
        changes = Plan(repo=event.repo, drop_claimants=left_behind(wanted, event.branch, after))
        if not (commit and reasons):
            return changes
        runs = await self._store.runs_at(event.repo.id, event.after)
        started = plan_push(commit, reasons, runs, self._clock.now(), self._new_id)
        return replace(changes, new_runs=started.new_runs, add_claimants=started.add_claimants)

    async def _commit(self, event: Pushed) -> Commit | None:
        """Return the pushed commit; None when no suite can run on it."""
        repo, branch = event.repo, event.branch
        at = await self._policies.of(repo, repo.default_branch)
        if not isinstance(at, PolicyAt):
            return None
        rank = Rank.AUTOMATIC
        if branch != repo.default_branch:
            if not lists_branch(at.policy, branch):
                return None
            own, rank = await self._policies.of(repo, branch), Rank.RELEASE
            if not isinstance(own, PolicyAt):
                return None
            at = own
        origin = f"the push of {short(event.after)} to {branch}"
        return Commit(repo.id, event.after, at, push_source(branch), rank, origin)

    async def _files_of(self, event: Pushed, policy: Policy) -> ChangedFiles:
        """Return the changed files, asked for when they decide anything."""
        requester = [suite for suite in policy.suites.values() if suite.started_by(Trigger.PUSH)]
        return await self._files(event) if any(suite.paths for suite in requester) else _NO_FILES

    async def _files(self, event: Pushed) -> ChangedFiles:
        """Compare with the commit before; what can't be compared may have changed anything."""
        if event.before is None:
            return _NO_FILES
        try:
            return await self._github.compare_files(event.repo, event.before, event.after)
        except Permanent as error:
            if error.status in _GONE:
                return _NO_FILES
            raise

    async def _is_newest(self, event: Pushed) -> bool:
        """Tell whether the branch is still where this push left it: webhooks overtake each other.

        The word of a newer push has come or is to come.
        """
        tip = await self._github.tip(event.repo, event.branch)
        return tip is None if event.deleted else tip == event.after


def _reasons(commit: Commit, listed: ChangedFiles) -> dict[str, str]:
    """Return what a push selects, with the reasons."""
    policy = commit.at.policy
    if listed.truncated:
        selection = select_unlisted(policy, Trigger.PUSH)
    else:
        selection = select(policy, listed.files, trigger=Trigger.PUSH)
    return selected_by_push(commit, selection)
