"""Reads which jobs of a workflow's file are a suite's."""

from collections.abc import Mapping
from contextlib import suppress

from bot.core.model.own_jobs import OwnJob
from bot.core.model.people import Account
from bot.core.model.repos import Repo
from bot.core.model.workflow_runs import WorkflowRun
from bot.ports.errors import Permanent
from bot.services.workers import Deps, Service

_REMEMBERED = 256  # files


class WorkflowFiles(Service):
    """The jobs of suites in the files of Actions runs; they are read once for each run."""

    def __init__(self, deps: Deps) -> None:
        super().__init__(deps)
        self._known: dict[object, dict[str, tuple[OwnJob, ...]]] = {}

    async def own_jobs(
        self, repo: Repo, seen: WorkflowRun, base: str, suites: Mapping[str, tuple[str, ...]]
    ) -> dict[str, tuple[OwnJob, ...]]:
        """Return the jobs of each suite in the file that this Actions run has.

        For a pull request GitHub merges the file of the head into that of the base: one of an old
        head has not what the base got since. So both tell. What cannot be read tells nothing.
        """
        path = seen.path.partition("@")[0]
        refs = {
            "pull_request": (base, seen.head_sha),
            "pull_request_target": (base,),
        }.get(seen.event, (seen.head_sha,))
        key = (repo.id, seen.id, refs, tuple(suites.items()))
        if key not in self._known:
            owner = seen.actor or f"workflow {repo.id}"  # anybody may write a dear one
            found = await self._read(repo, path, refs, (dict(suites), owner))
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = found
        return self._known[key]

    async def _read(
        self,
        repo: Repo,
        path: str,
        refs: tuple[str, ...],
        asked: tuple[dict[str, tuple[str, ...]], Account | str],
    ) -> dict[str, tuple[OwnJob, ...]]:
        """Read the files; ``asked`` are the suites, and for whom they are looked for."""
        texts: dict[bytes, None] = {}
        for ref in refs:
            with suppress(Permanent):
                if file := await self._github.file(repo, path, ref):
                    texts[file.text] = None
        return await self._policies.checker.own_jobs(texts, *asked)
