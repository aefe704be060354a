"""Decides how GitHub runs the jobs of a suite again where other suites share the Actions run."""

import asyncio
from dataclasses import dataclass
from weakref import WeakValueDictionary

from bot.core.model.repos import Repo
from bot.core.model.runs import Run
from bot.ports.github import ActionsJob
from bot.services.runs.job_lists import BAD
from bot.services.workers import Deps, Service


@dataclass(frozen=True, slots=True)
class Rerun:
    """What GitHub is asked to run again: one job, the failed ones, or all."""

    failed_only: bool
    attempt: int = 0  # the newest attempt of the Actions run; 0: the one that is known
    job_id: int | None = None
    is_empty: bool = False  # no job of the Actions run is the suite's: nothing is run again


class OwnReruns(Service):
    """Re-runs of suites that name their jobs: GitHub takes them when all jobs have ended."""

    def __init__(self, deps: Deps) -> None:
        super().__init__(deps)
        self._turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    def turn(self, actions_run_id: int) -> asyncio.Lock:
        """Return the lock under which a re-run is decided and sent: GitHub takes one at a time."""
        return self._turns.setdefault(actions_run_id, asyncio.Lock())

    async def plan(self, repo: Repo, run: Run) -> Rerun | None:
        """Return what to ask for; None while jobs of the Actions run go on."""
        assert run.rerun_of is not None
        seen = await self._github.actions_run(repo, run.rerun_of)
        if seen.status != "completed":
            return None
        now = self._clock.now()
        jobs = await self._job_lists.newest(repo, run.rerun_of, seen.attempt, now)
        failed = [job for job in jobs if job.conclusion in BAD]
        wanted = _wanted(run, jobs, failed)
        if jobs and not wanted:
            return Rerun(failed_only=False, is_empty=True)
        alone = wanted[0].id if len(wanted) == 1 else None
        return Rerun(bool(failed) and wanted[0] in failed, seen.attempt, alone)

    async def is_busy(self, repo: Repo, run: Run) -> bool:
        """Return True if another re-run of the Actions run has begun."""
        assert run.rerun_of is not None
        seen = await self._github.actions_run(repo, run.rerun_of)
        return seen.status != "completed" or seen.attempt > run.actions_attempt


def _wanted(
    run: Run, jobs: tuple[ActionsJob, ...], failed: list[ActionsJob]
) -> tuple[ActionsJob, ...]:
    """Return the suite's failed jobs, else the failed ones that they need, else all."""
    own = [job for job in jobs if run.snapshot.owns(job.name)]
    needs = [need for item in run.snapshot.own_jobs for need in item.needs]
    blocked = not own or any(job.conclusion == "skipped" for job in own)
    needed = [job for job in failed if blocked and any(need.shows(job.name) for need in needs)]
    return tuple([job for job in own if job in failed] or needed or own)
