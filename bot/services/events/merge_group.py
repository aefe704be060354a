"""The event `merge_group`: the queue's commit runs what the files of its pull request select."""

from dataclasses import replace

from bot.core.github.events import MergeGroupAction, MergeGroupEvent
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.runs import Rank
from bot.core.model.selections import SelectionDetails, StoredSelection
from bot.core.model.views import GateDue
from bot.core.planning import merge_group as groups
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.commits import Commit, select_unlisted
from bot.core.planning.plan import Plan
from bot.core.policy.models import Mode, Trigger
from bot.core.policy.triggers import PullTriggers
from bot.ports.errors import Permanent, Transient
from bot.ports.github import ChangedFiles
from bot.services.events.pull_reader import PullReader
from bot.services.events.unknown_gate import UnknownGate
from bot.services.policies import Broken
from bot.services.workers import Deps, Service

_HEADS = "refs/heads/"


class MergeGroups(Service):
    """Answers the merge queue. Its commits are trusted: only people who may write can enqueue."""

    def __init__(self, deps: Deps) -> None:
        super().__init__(deps)
        self._reader = PullReader(deps)
        self._unknown = UnknownGate(deps)

    async def changed(self, event: MergeGroupEvent) -> Plan:
        """Plan what an event of the merge queue changes; the last one may come first."""
        rows = await self._store.pulls.selections(event.repo.id, event.head_sha)
        row = next((row for row in rows if row.number == 0), None)
        if event.action is MergeGroupAction.DESTROYED:
            return await self._destroyed(event, row)
        if row and row.is_over:
            return Plan(repo=event.repo)
        try:
            return await self._checks_requested(event)
        except (Transient, Permanent) as error:
            gate = GateDue(event.repo.id, event.head_sha, 0)
            await self._unknown.show(event.repo, gate, error)
            raise

    async def _destroyed(self, event: MergeGroupEvent, row: StoredSelection | None) -> Plan:
        if row is None and await self._policy(event) is None:
            return Plan(repo=event.repo)  # a repository without a policy
        runs = await self._store.runs.at(event.repo.id, event.head_sha)
        row = row or StoredSelection(event.repo.id, event.head_sha, 0, "", SelectionDetails())
        return replace(
            groups.end_group(row, runs, event.reason, self._clock.now()), repo=event.repo
        )

    async def _checks_requested(self, event: MergeGroupEvent) -> Plan:
        policy = await self._policy(event)
        if policy is None:
            return Plan(repo=event.repo)
        if isinstance(policy, Broken):
            return replace(policy.plan(event.repo.id, event.head_sha, 0), repo=event.repo)
        return await self._plan(event, policy)

    async def _policy(self, event: MergeGroupEvent) -> PolicyAt | Broken | None:
        return await self._policies.of(event.repo, event.base_ref.removeprefix(_HEADS))

    async def _plan(self, event: MergeGroupEvent, at: PolicyAt) -> Plan:
        repo, number = event.repo, groups.pull_of(event.head_ref)
        pull = await self._pull(repo, number)
        listed = await self._files(event, pull)
        owner = f"group {repo.id}"
        base = PullTriggers(base=event.base_ref.removeprefix(_HEADS))
        selection = await self._policies.checker.select(at.policy, listed, owner, workflows=base)
        commit = Commit(
            repo_id=repo.id,
            sha=event.head_sha,
            at=at,
            source=groups.group_source(event.head_sha),
            rank=Rank.GROUP,
            origin=groups.group_origin(number),
            environment=selection.environment,
        )
        changed = max(len(listed.files), pull.changed_files if pull else 0)
        if pull is None and listed.truncated:
            selection = select_unlisted(at.policy, Trigger.PULL_REQUEST, workflows=base)
        group = groups.Group(commit, number, selection, changed)
        reused = await self._reused(event, group, pull) if at.policy.mode is Mode.ON else None
        runs = await self._store.runs.at(repo.id, event.head_sha)
        maker = self._maker()
        changes = groups.plan_group(group, runs, reused or groups.NOTHING_REUSED, maker)
        return replace(changes, repo=repo)

    async def _pull(self, repo: Repo, number: int | None) -> Pull | None:
        """Read the pull request that the name of the group's branch holds, if it holds one."""
        if number is None:
            return None
        try:
            return await self._reader.pull(repo, number)
        except Permanent as error:
            if error.is_gone:
                return None
            raise

    async def _files(self, event: MergeGroupEvent, pull: Pull | None) -> ChangedFiles:
        if pull is not None:
            return await self._reader.files(event.repo, pull)
        return await self._github.compare_files(event.repo, event.base_sha, event.head_sha)

    async def _reused(
        self, event: MergeGroupEvent, group: groups.Group, pull: Pull | None
    ) -> groups.Reused | None:
        """Return the suites that passed on the pull request's head, if the files are the same."""
        if pull is None or not event.tree:
            return None
        suites = groups.suites_passed(
            group, await self._store.runs.at(event.repo.id, pull.head_sha)
        )
        if not suites or await self._github.tree(event.repo, pull.head_sha) != event.tree:
            return None
        return groups.Reused(pull.head_sha, suites)
