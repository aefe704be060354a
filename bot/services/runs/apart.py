"""Follows Actions runs of native suites that no pull request is behind.

GitHub starts them by the workflow's `schedule`, for another workflow's end, or because a person
pressed *Run workflow*. A suite follows one as soon as a job of its own is there: of the many jobs
of a night most belong to another hour.
"""

from collections.abc import Mapping
from dataclasses import replace

from bot.core.messages import Message
from bot.core.model.own_jobs import OwnJob, is_own
from bot.core.model.repos import Repo
from bot.core.model.run_events import RunEvent, Source, StartedByGitHub
from bot.core.model.runs import Rank
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.planning import attempts
from bot.core.planning.plan import Plan
from bot.core.policy.models import Mode
from bot.core.runs import native
from bot.services.runs.workflow_files import WorkflowFiles
from bot.services.workers import Deps, Service


class ApartRuns(Service):
    """Makes the runs of suites for Actions runs that are of no pull request."""

    def __init__(self, deps: Deps, files: WorkflowFiles) -> None:
        super().__init__(deps)
        self._files = files

    async def seen(self, repo: Repo, seen: WorkflowRun, source: Source, job: str = "") -> Plan:
        """Plan the runs of suites that follow an Actions run; ``job`` is one that was told of."""
        at = await self._policies.of(repo, seen.head_branch or repo.default_branch)
        if not isinstance(at, attempts.PolicyAt) or at.policy.mode is not Mode.ON:
            return Plan(repo=repo)
        named = native.native_suites(at.policy, seen.path, apart=True)
        if not named or await self._is_ours(repo, seen):
            return Plan(repo=repo)
        known = await self._store.runs.following(repo.id, seen.id, mistaken=True)
        left = set(named) - {run.suite for run in known}
        patterns = {name: at.policy.suites[name].jobs for name in named if name in left}
        own = await self._files.own_jobs(repo, seen, "", patterns) if any(patterns.values()) else {}
        begun = await self._begun(repo, seen, patterns, own, job)
        return await self._follow(
            repo, seen, at, {name: own.get(name, ()) for name in begun}, source
        )

    async def _is_ours(self, repo: Repo, seen: WorkflowRun) -> bool:
        """Return True if the bot has dispatched it: a suite of its own follows it."""
        by_hand = seen.event == "workflow_dispatch"
        return by_hand and seen.is_of(await self._github.app_account(repo))

    async def _begun(
        self,
        repo: Repo,
        seen: WorkflowRun,
        patterns: Mapping[str, tuple[str, ...]],
        own: Mapping[str, tuple[OwnJob, ...]],
        job: str,
    ) -> list[str]:
        """Return the suites that have a job in this Actions run; its end asks for all jobs."""
        names = [job] if job else []
        if not job and seen.status == "completed" and any(patterns.values()):
            now = self._clock.now()
            jobs = await self._job_lists.newest(repo, seen.id, seen.attempt, now)
            names = [item.name for item in jobs if item.conclusion != "skipped"]
        return [
            name
            for name, jobs in patterns.items()
            if not (jobs or job) or any(is_own(jobs, own.get(name, ()), shown) for shown in names)
        ]

    async def _follow(
        self,
        repo: Repo,
        seen: WorkflowRun,
        at: attempts.PolicyAt,
        suites: Mapping[str, tuple[OwnJob, ...]],
        source: Source,
    ) -> Plan:
        if not suites:
            return Plan(repo=repo)
        runs = [item.run for item in await self._store.runs.at(repo.id, seen.head_sha)]
        claim = attempts.Claim(native.apart_source(seen), rank=Rank.NIGHTLY)
        made, told, now = [], [], self._clock.now()
        for name, own_jobs in suites.items():
            frozen = attempts.freeze(at, name, native.UNREQUESTED)
            request = attempts.AttemptRequest(
                repo_id=repo.id,
                sha=seen.head_sha,
                number=None,
                snapshot=replace(frozen, own_jobs=own_jobs, apart=native.apart(seen)),
                origin=Message("origin_github", event=seen.event),
                claims=(claim,),
                before=attempts.latest_runs(run for run in runs if run.suite == name).get(name),
                adopts=seen,
            )
            run, claimants = self._maker().make(request)
            made.append((run, claimants))
            started = StartedByGitHub(seen.attempt, seen.event)
            told += [
                RunEvent(run.id, source, now, what) for what in (started, native.as_change(seen))
            ]
        return Plan(repo=repo, new_runs=tuple(made), run_events=tuple(told))
