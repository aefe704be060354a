"""The event `push`: the branch's policy is read anew, and suites with that trigger run."""

from dataclasses import replace

from bot.core.github.events import PushEvent
from bot.core.messages import Message
from bot.core.model.ids import short
from bot.core.model.pulls import Push
from bot.core.model.runs import Rank
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.commits import Commit, select_unlisted
from bot.core.planning.plan import AuditEntry, Plan
from bot.core.planning.push import (
    left_behind,
    may_start_by_push,
    plan_push,
    push_source,
    selected_by_push,
)
from bot.core.policy.levels import Level
from bot.core.policy.models import Trigger
from bot.core.policy.selection import Selection, lists_branch
from bot.ports.errors import Permanent
from bot.ports.github import ChangedFiles
from bot.services.events.workflow_triggers import pushed_workflows
from bot.services.workers import Service

_NO_COMMIT = 422  # git no longer has the commit before
_NO_FILES = ChangedFiles((), truncated=True)


class Pushes(Service):
    """Runs the suites with the trigger `push`, on the default branch and the listed branches."""

    async def pushed(self, event: PushEvent) -> Plan:
        """Plan the runs for a push; store who pushed, for a pull request that may follow."""
        plan = await self._plan(event)
        if event.deleted or not event.sender:
            return plan
        now = self._clock.now()
        return replace(plan, push=Push(event.repo.id, event.branch, event.after, event.sender, now))

    async def _plan(self, event: PushEvent) -> Plan:
        """Plan the runs for a push, and drop those of the commit before."""
        await self._policies.pushed(event.repo, event.branch)
        if event.workflows:
            note = pushed_workflows(event.repo.id, event.branch)
            await self._store.polls.note(note, self._clock.now())
        wanted = await self._store.runs.of_claimant(event.repo.id, push_source(event.branch))
        commit = None if event.deleted else await self._commit(event)
        reasons: dict[str, Message] = {}
        refused: tuple[AuditEntry, ...] = ()
        if commit:
            suites = commit.at.policy.suites.values()
            filtered = any(suite.started_by(Trigger.PUSH) and suite.paths for suite in suites)
            listed = await self._files(event) if filtered else _NO_FILES
            selection = await self._select(commit, listed)
            commit = replace(commit, environment=selection.environment)
            chosen = selected_by_push(commit, selection)
            reasons, refused = await self._allowed(event, commit.at, chosen)
        if (reasons or wanted) and not await self._is_newest(event):
            return Plan(repo=event.repo)
        after = None if event.deleted else event.after
        drops = left_behind(wanted, event.branch, after)
        changes = Plan(repo=event.repo, drop_claimants=drops, audit=refused)
        if not (commit and reasons):
            return changes
        runs = await self._store.runs.at(event.repo.id, event.after)
        started = plan_push(commit, reasons, runs, self._maker())
        return replace(changes, new_runs=started.new_runs, add_claimants=started.add_claimants)

    async def _commit(self, event: PushEvent) -> Commit | None:
        """Return the pushed commit; None if no suite can run on it."""
        repo, branch = event.repo, event.branch
        at = await self._policies.of(repo, repo.default_branch)
        if not isinstance(at, PolicyAt):
            return None
        rank = Rank.AUTOMATIC
        if branch != repo.default_branch:
            if not lists_branch(at.policy, branch):
                return None
            own = await self._policies.of(repo, branch)
            if not isinstance(own, PolicyAt):
                return None
            at, rank = own, Rank.RELEASE if own.release else Rank.AUTOMATIC
        origin = Message("origin_push_to", sha=short(event.after), branch=branch)
        return Commit(repo.id, event.after, at, push_source(branch), rank, origin)

    async def _allowed(
        self, event: PushEvent, at: PolicyAt, reasons: dict[str, Message]
    ) -> tuple[dict[str, Message], tuple[AuditEntry, ...]]:
        """Return the suites that the push starts, and the audit's entries of the others.

        Whoever has write pushes to a branch that GitHub does not protect, and makes one that a
        glob lists.
        """
        policy = at.policy
        sure = all(may_start_by_push(policy, name, Level.WRITE) for name in reasons)
        if sure or not at.unprotected:
            return reasons, ()
        who, now, where = event.sender, self._clock.now(), (event.repo.id, None, event.after)
        level = await self._github.permission(event.repo, who)
        may = {name: may_start_by_push(policy, name, level) for name in reasons}
        refused = tuple(
            AuditEntry(now, who.login, f"start {name}", False, "trust", *where, who_id=who.id)
            for name in reasons
            if not may[name]
        )
        return {name: why for name, why in reasons.items() if may[name]}, refused

    async def _files(self, event: PushEvent) -> ChangedFiles:
        """Compare with the commit before; without one, any file may have changed."""
        if event.before is None:
            return _NO_FILES
        try:
            return await self._github.compare_files(event.repo, event.before, event.after)
        except Permanent as error:
            if error.is_gone or error.status == _NO_COMMIT:
                return _NO_FILES
            raise

    async def _is_newest(self, event: PushEvent) -> bool:
        """Return True if the branch is still at this push's commit: webhooks come in any order.

        Otherwise a newer push has an event of its own.
        """
        tip = await self._github.tip(event.repo, event.branch)
        return tip is None if event.deleted else tip == event.after

    async def _select(self, commit: Commit, listed: ChangedFiles) -> Selection:
        """Select suites by the files of a push; if some are not listed, all may have changed."""
        policy, owner = commit.at.policy, f"push {commit.repo_id}"
        found = await self._policies.checker.select(policy, listed, owner, Trigger.PUSH)
        if not listed.truncated:
            return found
        return replace(select_unlisted(policy, Trigger.PUSH), environment=found.environment)
