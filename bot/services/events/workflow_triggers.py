"""Reads what starts the workflows of native suites for a pull request, as GitHub has them there.

GitHub merges the head into the base, and takes each workflow as the merge has it. The folder is
listed each time, at one call; a file is read once for each of its contents.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from bot.core.messages import Message
from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import Account
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.head_trigger import HeadTrigger, LearnedHead
from bot.core.policy.models import Start, Trigger
from bot.core.policy.selection import Choice, Selection
from bot.core.policy.tree import WORKFLOWS
from bot.core.policy.triggers import MISSING, PullTriggers, Triggers
from bot.core.workflows.reading import MAX_BYTES
from bot.core.workflows.triggers import triggers_of
from bot.ports.errors import Transient
from bot.ports.github import ChangedFiles
from bot.services.workers import Deps, Service

_FOLDER = WORKFLOWS.rstrip("/")
_REMEMBERED = 4096  # files
_DEAR = Triggers(problem=Message("triggers_dear"))
_ASK_AGAIN_S = (2.0, 5.0)  # a server of GitHub may not have the folder yet
_LAG_S = 10  # by then every server has what one of them told
# A merge that GitHub has not made by then it does not make.
_MERGES_WITHIN = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class ReadTriggers:
    """What starts workflows for a pull request, and, where it changes them, for the base alone."""

    now: PullTriggers
    base: PullTriggers | None = None  # None: it changes none of them


def pushed_workflows(repo_id: RepoId, branch: str) -> str:
    """Return the name of the note of the last push that changed a branch's workflows."""
    return f"workflows:{repo_id}:{branch}"


class WorkflowTriggers(Service):
    """Reads the triggers of workflows; an answer that may be old is not believed."""

    def __init__(self, deps: Deps) -> None:
        super().__init__(deps)
        self._known: dict[tuple[RepoId, str], Triggers] = {}  # by git's name of the file

    async def select(
        self, repo: Repo, pull: Pull, at: PolicyAt, learned: LearnedHead, listed: ChangedFiles
    ) -> tuple[Selection, tuple[Choice, ...]]:
        """Select suites, native ones by their workflows as the head changes them.

        Return the choices, too, of the suites that only the base's own workflows select.
        """
        triggers = await self.of(repo, pull, at, learned, listed)
        asked, who = self._policies.checker.select, learned.by or pull.author
        selection = await asked(at.policy, listed, who, workflows=triggers.now)
        if triggers.base is None:
            return selection, ()
        before = await asked(at.policy, listed, who, workflows=triggers.base)
        chosen = (choice for choice in before.choices if choice.selected)
        return selection, tuple(c for c in chosen if c.suite not in selection.selected)

    async def of(
        self, repo: Repo, pull: Pull, at: PolicyAt, learned: LearnedHead, listed: ChangedFiles
    ) -> ReadTriggers:
        """Return the triggers for the head of a pull request.

        Raise ``Transient`` while GitHub may still answer with what was before a push.
        """
        names = {
            suite.workflow
            for suite in at.policy.suites.values()
            if suite.start is Start.NATIVE and suite.started_by(Trigger.PULL_REQUEST)
        }
        if not names or learned.trigger is HeadTrigger.DISPATCH:  # what it starts is decided
            return ReadTriggers(PullTriggers(base=pull.base_ref))
        await self._wait_for_push(repo, pull.base_ref)
        owner = f"workflows {repo.id}"
        base = self._pull_triggers(
            pull, learned, await self._read(repo, pull.base_ref, names, owner)
        )
        changed = {path for file in listed.files for path in file.names()}
        if not listed.truncated and changed.isdisjoint(f"{WORKFLOWS}{name}" for name in names):
            return ReadTriggers(base)
        merged = await self._merged(repo, pull)
        found = await self._read(repo, merged, names, pull.author)
        return ReadTriggers(self._pull_triggers(pull, learned, found), base)

    def _pull_triggers(
        self, pull: Pull, learned: LearnedHead, found: dict[str, Triggers]
    ) -> PullTriggers:
        head = "" if pull.from_fork else pull.head_ref
        return PullTriggers(found, pull.base_ref, head, learned.activities)

    async def _wait_for_push(self, repo: Repo, branch: str) -> None:
        """Raise ``Transient`` right after a push that changed workflows of a branch."""
        pushed_at = await self._store.polls.noted(pushed_workflows(repo.id, branch))
        if pushed_at is None:
            return
        left = _LAG_S - (self._clock.now() - pushed_at).total_seconds()
        if left > 0:
            raise Transient(f"the workflows of {branch} were pushed just now", retry_after_s=left)

    async def _merged(self, repo: Repo, pull: Pull) -> Sha:
        """Return the merge of the head into the base; the head itself if they can't be merged."""
        merge = await self._github.merge_of(repo, pull.number)
        if merge and pull.head_sha in (await self._github.commit(repo, merge)).parents:
            return merge
        since, now = pull.updated_at, self._clock.now()
        is_young = since is not None and now - since < _MERGES_WITHIN
        conflicts = await self._github.mergeable(repo, pull.number, pull.head_sha) is False
        if is_young and not conflicts:
            raise Transient(f"GitHub has not merged the head of #{pull.number} yet")
        return pull.head_sha

    async def _read(
        self, repo: Repo, ref: str, names: Collection[str], owner: str | Account
    ) -> dict[str, Triggers]:
        """Return the triggers of workflows at a branch or commit."""
        there = await self._listed(repo, ref)
        raws: dict[str, bytes] = {}
        for name in sorted(names & there.keys()):
            if (repo.id, there[name]) in self._known:
                continue
            file = await self._github.file(repo, f"{WORKFLOWS}{name}", ref)
            if file is None or file.blob_sha != there[name]:
                raise Transient(f"GitHub gives two answers about {name}", retry_after_s=_LAG_S)
            raws[name] = file.text
        found = {name: self._known.get((repo.id, there.get(name, "")), MISSING) for name in names}
        if raws:
            texts = {name: raw[: MAX_BYTES + 1] for name, raw in raws.items()}
            read = await self._policies.checker.in_sandbox(owner, triggers_of, texts) or {}
            found |= {name: read.get(name, _DEAR) for name in raws}
            if len(self._known) + len(read) > _REMEMBERED:
                self._known.clear()
            self._known |= {(repo.id, there[name]): told for name, told in read.items()}
        return found

    async def _listed(self, repo: Repo, ref: str) -> dict[str, str]:
        """Return the files in the folder of workflows, each with git's name of it."""
        for wait_s in (0.0, *_ASK_AGAIN_S):
            if wait_s:
                await self._clock.sleep(wait_s)
            found = await self._github.folder(repo, _FOLDER, ref)
            if found is not None:
                return found
        return {}
