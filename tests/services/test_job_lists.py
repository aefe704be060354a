"""The jobs of an Actions run are read once for the suites that share it."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

import pytest

from bot.core.model.repos import Repo
from bot.ports.github import ActionsJob, GitHub
from bot.services.runs.job_lists import JobLists
from tests.core.building import T0
from tests.store.building import REPO


def job(number: int, name: str, attempt: int, conclusion: str | None = "success") -> ActionsJob:
    return ActionsJob(
        number, name, "completed", conclusion, "r", (), "", None, None, attempt=attempt
    )


@dataclass
class Listed:
    """A GitHub that lists jobs, and a clock."""

    all: tuple[ActionsJob, ...]
    reads: list[str] = field(default_factory=list)
    at: Any = T0

    def now(self) -> Any:
        return self.at

    async def jobs(self, _repo: Repo, _run_id: int, attempt: int) -> tuple[ActionsJob, ...]:
        self.reads.append("attempt")
        return tuple(one for one in self.all if one.attempt == attempt)

    async def all_jobs(self, _repo: Repo, _run_id: int) -> tuple[ActionsJob, ...]:
        self.reads.append("all")
        return self.all


def lists(*jobs: ActionsJob) -> tuple[Listed, JobLists]:
    github = Listed(jobs)
    return github, JobLists(cast("GitHub", github), cast("Any", github))


async def test_a_list_is_shared_by_suites_that_end_together() -> None:
    github, found = lists(job(1, "a", 1), job(2, "b", 1))
    for _ in range(3):
        assert len(await found.newest(REPO, 5, 1, T0)) == 2
    assert github.reads == ["attempt"]
    github.at = T0 + timedelta(seconds=1)
    await found.newest(REPO, 5, 1, github.at)  # something ended since
    github.at += timedelta(seconds=8)
    await found.newest(REPO, 5, 1, T0)  # it is old
    assert github.reads == ["attempt"] * 3


async def test_what_was_not_run_again_is_as_an_attempt_before_left_it() -> None:
    twice = (job(1, "a (x)", 1), job(2, "a (y)", 1, "failure"), job(3, "c", 1), job(4, "c", 1))
    _, found = lists(*twice, job(5, "a (y)", 2), job(6, "c", 3))
    assert [one.id for one in await found.newest(REPO, 5, 2, T0)] == [1, 3, 4, 5]
    assert [one.id for one in await found.newest(REPO, 5, 3, T0)] == [1, 4, 5, 6]


@pytest.mark.parametrize(
    ("ends", "left"),
    [
        (("failure", "failure"), ["failure", "success"]),
        (("success", "failure"), ["failure", "success"]),  # which one ran again is not told
        (("skipped", "failure"), ["failure", "success"]),
        (("success", "success"), ["success", "success"]),
    ],
)
async def test_a_job_that_runs_again_alone_does_not_hide_a_failed_one_of_its_name(
    ends: tuple[str, str], left: list[str]
) -> None:
    first = [job(number, "a", 1, end) for number, end in enumerate(ends)]
    _, found = lists(*first, job(9, "a", 2))
    assert [one.conclusion for one in await found.newest(REPO, 5, 2, T0)] == left


async def test_a_job_that_runs_again_replaces_the_one_with_its_labels() -> None:
    first = (replace(job(1, "a", 1, "failure"), labels=("x",)), job(2, "a", 1))
    _, found = lists(*first, replace(job(3, "a", 2), labels=("x",)))
    assert [one.id for one in await found.newest(REPO, 5, 2, T0)] == [2, 3]
