"""Asks GitHub why it has not started an Actions run: three calls for all suites of a head."""

import asyncio
from datetime import datetime, timedelta

from bot.core.github.answers import in_words
from bot.core.messages import Message
from bot.core.model.ids import RepoId, Sha
from bot.core.model.repos import Repo
from bot.core.model.runs import Run
from bot.core.policy.tree import WORKFLOWS
from bot.core.runs.not_started import StartFacts, why_not_started
from bot.ports.errors import Permanent
from bot.services.workers import Deps, Service

_SHARED_FOR = timedelta(seconds=15)  # what GitHub said is of use for other suites of a head
_REMEMBERED = 1000


class NotStarted(Service):
    """Finds out why GitHub starts nothing; without an answer nothing is decided."""

    def __init__(self, deps: Deps) -> None:
        super().__init__(deps)
        self._asking = asyncio.Lock()
        self._heads: dict[tuple[RepoId, Sha], tuple[datetime, bool | None, str]] = {}
        self._states: dict[RepoId, tuple[datetime, dict[str, str], str]] = {}

    async def why(self, repo: Repo, run: Run) -> Message:
        """Return why GitHub has not started a run's workflow, nothing if it may still do so."""
        async with self._asking:
            _, states, refused = await self._workflows(repo)
            _, mergeable, message = await self._head(repo, run)
        name = run.snapshot.suite.workflow
        state = states.get(f"{WORKFLOWS}{name}")
        return why_not_started(StartFacts(name, state, refused, mergeable, message))

    async def _workflows(self, repo: Repo) -> tuple[datetime, dict[str, str], str]:
        now = self._clock.now()
        known = self._states.get(repo.id)
        if known and now - known[0] < _SHARED_FOR:
            return known
        try:
            found = (now, await self._github.workflow_states(repo), "")
        except Permanent as error:
            found = (now, {}, in_words(str(error)))
        self._states[repo.id] = found
        return found

    async def _head(self, repo: Repo, run: Run) -> tuple[datetime, bool | None, str]:
        now, key = self._clock.now(), (repo.id, run.sha)
        known = self._heads.get(key)
        if known and now - known[0] < _SHARED_FOR:
            return known
        mergeable = None
        if run.number is not None:
            mergeable = await self._github.mergeable(repo, run.number, run.sha)
        found = (now, mergeable, (await self._github.commit(repo, run.sha)).message)
        if len(self._heads) >= _REMEMBERED:
            self._heads.clear()
        self._heads[key] = found
        return found
