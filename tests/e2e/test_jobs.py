"""Suites that are jobs of one workflow: each is followed, judged and run again by its own jobs."""

import pytest

from bot.core.model.ids import RepoId, Sha
from bot.sim import NewPull
from bot.sim.model import Pull, Run
from tests.e2e.call_budget import Budget
from tests.e2e.job_suites import (
    FILE,
    WORKFLOW,
    begun,
    checks,
    job_ended,
    job_started,
    jobs_world,
    shown,
)
from tests.e2e.native_suites import pushed, stands
from tests.e2e.world import World

TRACEBACK = """\
Traceback (most recent call last):
  File "/verl/npu/a.py", line 1, in <module>
    raise ValueError("x")
ValueError: x
"""
INFRA = "##[error]The self-hosted runner lost communication with the server.\n"


@pytest.fixture
async def jobs(world: World) -> World:
    return await jobs_world(world)


async def hours(world: World, repo_id: int) -> float:
    spent = await world.bot.parts.store.queue.spent(RepoId(repo_id), world.clock.now())
    return spent.total


async def test_each_suite_is_judged_by_its_own_jobs(jobs: World) -> None:
    await each_suite_has_its_own_verdict(jobs)
    await a_suite_whose_jobs_need_a_failed_one_says_so(jobs)
    await a_suite_whose_job_is_not_there_is_not_green(jobs)


async def each_suite_has_its_own_verdict(world: World) -> None:
    pull = pushed(world, path="npu/each.py")
    await world.settle()
    budget = Budget(world)
    run = await begun(world, pull)
    sha = pull.head_sha
    assert shown(world, sha, "late") == ("skipped", "Not in this Actions run")
    names = {item.name.removeprefix("Ascend / ") for item in checks(world, sha)}
    assert names == {"units", "train", "late", "called"}  # not of suites without a job here
    await job_started(world, run, "build", "train")
    assert "Running since" in shown(world, sha, "train")[1]
    await job_ended(world, run, "train", "failure", TRACEBACK)
    assert "Waiting for a runner" in shown(world, sha, "units")[1]
    assert shown(world, sha, "train") == ("failure", "ValueError in npu/a.py:1: x")
    assert stands(world, pull)[1] == "failure"
    assert run.status == "in_progress"
    await job_ended(world, run, "build")
    await job_started(world, run, "Unit tests (a2)", "Unit tests (a3)")
    await job_ended(world, run, "Unit tests (a2)")
    assert shown(world, sha, "units")[0] is None
    await job_ended(world, run, "Unit tests (a3)")
    assert shown(world, sha, "units")[0] == "success"
    assert await hours(world, pull.repo.id) == pytest.approx((8 * 65 + 16 * 135) / 3600)
    budget.assert_at_most(3 * 11 + 2)  # of the three suites that a job was heard of


async def a_suite_whose_jobs_need_a_failed_one_says_so(world: World) -> None:
    pull = pushed(world, path="npu/needs.py")
    await world.settle()
    run = await begun(world, pull)
    await job_started(world, run, "build", "train")
    await job_ended(world, run, "build", "failure", TRACEBACK)
    assert shown(world, pull.head_sha, "units") == (
        "failure",
        "Needs the job build, which failed: ValueError in npu/a.py:1: x",
    )


async def a_suite_whose_job_is_not_there_is_not_green(world: World) -> None:
    pull = pushed(world, path="gone/a.py")
    await world.settle()
    run = await begun(world, pull)
    world.github.actions.finish(run, "success")
    await world.settle()
    await world.pass_time(10)
    conclusion, title = shown(world, pull.head_sha, "gone")
    assert (conclusion, title) == ("failure", "No job of the Actions run is called gone")
    assert stands(world, pull)[1] == "failure"


async def test_a_suite_is_run_again_by_its_own_jobs(jobs: World) -> None:
    await a_failure_of_the_infrastructure_runs_one_job_again_once_the_others_have_ended(jobs)
    await a_job_of_a_called_workflow_is_run_again_with_the_failed_ones(jobs)
    await a_job_that_somebody_runs_again_in_the_actions_tab_is_followed_alone(jobs)
    await one_suite_is_cancelled_and_the_others_go_on(jobs)


async def all_but(world: World, run: Run, log: str = INFRA, **ends: str) -> None:
    """End all jobs, those named by their key as given; a failed one has a log."""
    logs = {"failure": log}
    for job in run.of_attempt(run.attempt):
        if job.status != "completed":
            end = ends.get(job.key, "success")
            world.github.actions.finish_job(run, job, end, logs.get(end, ""))
    await world.settle()
    await world.pass_time(10)


async def a_failure_of_the_infrastructure_runs_one_job_again_once_the_others_have_ended(
    world: World,
) -> None:
    pull = pushed(world, path="npu/again.py")
    await world.settle()
    run = await begun(world, pull)
    sha = pull.head_sha
    await job_started(world, run, "build", "train", "called / run")
    await job_ended(world, run, "train", "failure", INFRA)
    assert "GitHub runs a job again only when all have ended" in shown(world, sha, "train")[1]
    await all_but(world, run)
    await world.pass_time(180)
    assert (run.attempt, [job.key for job in run.of_attempt(2)]) == (2, ["train"])
    assert shown(world, sha, "units")[0] == "success"
    await job_started(world, run, "train")
    await job_ended(world, run, "train")
    assert shown(world, sha, "train")[0] == "success"
    assert stands(world, pull)[1] == "success"
    attempts = await world.bot.parts.store.runs.at(RepoId(pull.repo.id), Sha(sha))
    assert attempts[-1].run.attempt == 2


async def a_job_of_a_called_workflow_is_run_again_with_the_failed_ones(world: World) -> None:
    pull = pushed(world, path="called/a.py")
    await world.settle()
    run = await begun(world, pull)
    await all_but(world, run, called="failure")
    await world.pass_time(30)
    assert [job.name for job in run.of_attempt(2)] == ["called / run"]
    await all_but(world, run)
    assert shown(world, pull.head_sha, "called")[0] == "success"


async def a_job_that_somebody_runs_again_in_the_actions_tab_is_followed_alone(
    world: World,
) -> None:
    pull = pushed(world, path="npu/tab.py")
    await world.settle()
    run = await begun(world, pull)
    await job_started(world, run, "build", "train")
    await job_ended(world, run, "train", "failure", TRACEBACK)
    await all_but(world, run)
    sha = pull.head_sha
    before = len(checks(world, sha))
    [train] = [job for job in run.jobs if job.key == "train"]
    world.github.actions.rerun_job(train, world.github.state.user("maintainer"))
    await job_started(world, run, "train")
    await all_but(world, run)
    assert shown(world, sha, "train")[0] == "success"
    assert len(checks(world, sha)) == before + 1
    assert stands(world, pull)[1] == "success"


async def one_suite_is_cancelled_and_the_others_go_on(world: World) -> None:
    pull = pushed(world, path="npu/cancel.py")
    await world.settle()
    run = await begun(world, pull)
    await job_started(world, run, "build", "train")
    world.github.people.comment(pull, "maintainer", "/ascend-e2e cancel train")
    await world.settle()
    await world.pass_time(10)
    assert shown(world, pull.head_sha, "train")[0] == "cancelled"
    assert not run.cancelled
    await all_but(world, run)
    assert shown(world, pull.head_sha, "units")[0] == "success"


async def test_what_github_starts_at_its_own_times_is_followed(jobs: World) -> None:
    await each_hour_of_a_night_is_followed_by_the_suites_of_that_hour(jobs)
    await a_failed_night_is_run_again_by_github_itself(jobs)
    await a_run_by_hand_says_nothing_of_the_pull_request_with_its_commit(jobs)


def tip(world: World) -> str:
    repo = world.github.state.repo()
    return repo.git.tip(repo.branch_ref("main")) or ""


async def night(world: World, cron: str) -> Run:
    by = world.github.state.user("maintainer")
    run = world.github.actions.triggered(FILE, "schedule", by, fields={"schedule": cron})
    await world.settle()
    await world.pass_time(10)
    return run


async def each_hour_of_a_night_is_followed_by_the_suites_of_that_hour(world: World) -> None:
    sha = tip(world)
    first = await night(world, "0 17 * * *")
    names = {item.name for item in checks(world, sha)}
    assert names == {"Ascend / train", "Ascend / units", "Ascend / called"}
    await job_started(world, first, "train", "build")
    second = await night(world, "0 18 * * *")
    await job_started(world, second, "late")
    assert shown(world, sha, "late")[0] is None
    await job_ended(world, first, "train", "failure", TRACEBACK)
    assert shown(world, sha, "train") == ("failure", "ValueError in npu/a.py:1: x")
    assert "Started by GitHub, on schedule" in (world.check("train", sha).summary or "")
    await job_ended(world, second, "late")
    assert shown(world, sha, "late")[0] == "success"
    await all_but(world, first)
    await all_but(world, second)
    assert shown(world, sha, "train")[0] == "failure"  # nothing replaces it
    assert world.github.check("ascend-ci", sha) is None


async def a_failed_night_is_run_again_by_github_itself(world: World) -> None:
    sha = tip(world)
    run = await night(world, "0 17 * * *")
    world.github.actions.finish_job(run, "build", "failure", TRACEBACK)
    await all_but(world, run, train="failure")
    await world.pass_time(200)
    assert shown(world, sha, "units")[0] == "failure"
    assert [job.key for job in run.of_attempt(2)] == ["train"]  # and not what fails again
    await all_but(world, run, train="failure")
    assert shown(world, sha, "train")[0] == "failure"
    world.github.people.rerun_check(world.check("train", sha).id, "maintainer")
    await world.settle()
    await world.pass_time(10)
    assert [job.key for job in run.of_attempt(3)] == ["train"]
    await all_but(world, run)
    assert shown(world, sha, "train")[0] == "success"


async def a_run_by_hand_says_nothing_of_the_pull_request_with_its_commit(world: World) -> None:
    pull = pushed(world, path="npu/hand.py")
    await world.settle()
    by = world.github.state.user("maintainer")
    run = world.github.actions.triggered(FILE, "workflow_dispatch", by, branch=pull.head_ref)
    await world.settle()
    await all_but(world, run)
    assert stands(world, pull)[1] is None


async def test_a_stranger_who_leaves_out_or_doubles_a_job_does_not_turn_the_gate_green(
    jobs: World,
) -> None:
    await the_job_is_left_out(jobs)
    await a_job_of_its_name_passes_beside_it(jobs)


def edited(world: World, path: str, old: str, new: str) -> Pull:
    files = {path: "1", f".github/workflows/{FILE}": WORKFLOW.replace(old, new)}
    return world.github.people.open_pull("stranger", files, NewPull(fork=True))


async def the_job_is_left_out(world: World) -> None:
    pull = edited(world, "npu/left-out.py", "  train:\n    if:", "  train:\n    if: false &&")
    await world.settle()
    run = await begun(world, pull)
    await all_but(world, run)
    assert shown(world, pull.head_sha, "train")[0] == "skipped"
    assert stands(world, pull)[1] == "action_required"


async def a_job_of_its_name_passes_beside_it(world: World) -> None:
    fake = "  x: {name: train, runs-on: ubuntu-latest, steps: [{run: 'true'}]}\n  train:"
    pull = edited(world, "npu/double.py", "  train:", fake)
    await world.settle()
    run = await begun(world, pull)
    await all_but(world, run, TRACEBACK, train="failure")
    assert shown(world, pull.head_sha, "train")[0] == "failure"
    assert stands(world, pull)[1] == "action_required"
