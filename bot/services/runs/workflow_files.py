"""Reads which jobs of a workflow's file are a suite's."""

from collections.abc import Mapping

from bot.core.model.own_jobs import OwnJob
from bot.core.model.repos import Repo
from bot.core.model.workflow_runs import WorkflowRun
from bot.ports.errors import Permanent
from bot.services.workers import Deps, Service

_REMEMBERED = 256  # files


class WorkflowFiles(Service):
    """The jobs of suites in the files of Actions runs; a file is read once for a commit."""

    def __init__(self, deps: Deps) -> None:
        super().__init__(deps)
        self._known: dict[object, dict[str, tuple[OwnJob, ...]]] = {}

    async def own_jobs(
        self, repo: Repo, seen: WorkflowRun, base: str, suites: Mapping[str, tuple[str, ...]]
    ) -> dict[str, tuple[OwnJob, ...]]:
        """Return the jobs of each suite in the file that this Actions run has.

        Nothing if it cannot be read: then the names alone tell whose a job is.
        """
        path = seen.path.partition("@")[0]
        ref = base if seen.event == "pull_request_target" else seen.head_sha
        key = (repo.id, path, ref, tuple(suites.items()))
        if key not in self._known:
            found = await self._read(repo, path, ref, dict(suites))
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            if ref == base:  # a branch moves
                return found
            self._known[key] = found
        return self._known[key]

    async def _read(
        self, repo: Repo, path: str, ref: str, suites: dict[str, tuple[str, ...]]
    ) -> dict[str, tuple[OwnJob, ...]]:
        try:
            file = await self._github.file(repo, path, ref)
        except Permanent:
            return {}
        if file is None:
            return {}
        owner = f"workflow {repo.id}"
        return await self._policies.checker.own_jobs(file.text, suites, owner)
