"""Reads the jobs of an Actions run once for all suites that share it."""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import groupby
from weakref import WeakValueDictionary

from bot.core.model.repos import Repo
from bot.core.runs.jobs import JobEnd
from bot.ports.clock import Clock
from bot.ports.github import ActionsJob, GitHub

_FRESH = timedelta(seconds=8)  # a step that reads again does so after 10 s
_REMEMBERED = 256  # lists; one of 256 jobs takes some 100 kB
BAD = frozenset({"failure", "timed_out", "cancelled", "startup_failure"})
"""Conclusions of jobs that did not pass."""


class JobLists:
    """The jobs of Actions runs, each as its newest attempt left it."""

    def __init__(self, github: GitHub, clock: Clock) -> None:
        self._github = github
        self._clock = clock
        self._known: dict[tuple[int, int, int], tuple[datetime, tuple[ActionsJob, ...]]] = {}
        self._reading: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def newest(
        self, repo: Repo, run_id: int, attempt: int, since: datetime
    ) -> tuple[ActionsJob, ...]:
        """Return the jobs of an attempt, with those that it left as an earlier one had ended them.

        A list that was read after ``since``, a moment ago, is used again.
        """
        key = (repo.id, run_id, attempt)
        async with self._reading.setdefault(key, asyncio.Lock()):
            now = self._clock.now()
            at, jobs = self._known.get(key, (None, ()))
            if at is not None and since <= at and now - at < _FRESH:
                return jobs
            jobs = await self._read(repo, run_id, attempt)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = (now, jobs)
            return jobs

    async def _read(self, repo: Repo, run_id: int, attempt: int) -> tuple[ActionsJob, ...]:
        if attempt == 1:
            return await self._github.jobs(repo, run_id, attempt)
        return _newest(await self._github.all_jobs(repo, run_id), attempt)


def _newest(jobs: Iterable[ActionsJob], attempt: int) -> tuple[ActionsJob, ...]:
    """Return the jobs as the attempts up to ``attempt`` left them: each replaces what it ran again.

    Jobs of a matrix may share a name. One that runs again replaces one of them, and of those that
    it may be the one that ended best: nobody can pass by running a job again beside a failed one.
    """
    known: list[ActionsJob] = []
    for number, its in groupby(sorted(jobs, key=_attempt_of), key=_attempt_of):
        if number <= attempt:
            again = list(its)
            for job in again:
                before = [one for one in known if one.name == job.name and one not in again]
                if before:
                    known.remove(min(before, key=lambda one: _sameness(one, job)))
                known.append(job)
    return tuple(known)


def _attempt_of(job: ActionsJob) -> int:
    return job.attempt


def _sameness(before: ActionsJob, job: ActionsJob) -> tuple[bool, bool, bool]:
    """Return how likely a job is the same one that ran before; the smallest is."""
    return before.labels != job.labels, before.conclusion != "skipped", before.conclusion in BAD


def ends_of(jobs: Iterable[ActionsJob]) -> list[JobEnd]:
    """Return the ends of jobs."""
    return [JobEnd(job.name, job.labels, job.conclusion) for job in jobs]
