"""Attacks on suites that are jobs of a workflow: a gate turns green though its job never passed."""

import pytest

from bot.sim import NewPull
from bot.sim.model import Pull
from tests.e2e.job_suites import (
    FILE,
    POLICY_OF_JOBS,
    WORKFLOW,
    begun,
    job_ended,
    job_started,
    jobs_world,
    shown,
)
from tests.e2e.native_suites import stands
from tests.e2e.world import World

BOTH = 'jobs: [tra*, "called / test"]'  # one that the file has, and one that it calls


@pytest.fixture
async def jobs(world: World) -> World:
    return await jobs_world(world, POLICY_OF_JOBS.replace("jobs: [tra*]", BOTH))


def of_a_stranger(world: World, path: str) -> Pull:
    return world.github.people.open_pull("stranger", {path: "1"}, NewPull(fork=True))


async def test_a_job_that_did_not_run_or_is_not_there_yet_does_not_turn_the_gate_green(
    jobs: World,
) -> None:
    await a_needed_job_is_made_to_run_out_of_time(jobs)
    await a_job_of_a_called_workflow_comes_when_another_has_passed(jobs)
    await the_branch_is_of_a_commit_whose_job_needed_nothing(jobs)


async def a_needed_job_is_made_to_run_out_of_time(world: World) -> None:
    pull = of_a_stranger(world, "npu/endless.py")
    await world.settle()
    run = await begun(world, pull)
    await job_started(world, run, "build")
    await job_ended(world, run, "build", "cancelled")  # as GitHub calls it at `timeout-minutes`
    told = "Cancelled: needs the job build, which was cancelled or ran out of time"
    assert shown(world, pull.head_sha, "units") == ("cancelled", told)
    assert stands(world, pull)[1] == "failure"


async def a_job_of_a_called_workflow_comes_when_another_has_passed(world: World) -> None:
    pull = of_a_stranger(world, "called/first.py")
    await world.settle()
    run = await begun(world, pull)
    await job_started(world, run, "train", "called / run")
    await job_ended(world, run, "called / run")
    await job_ended(world, run, "train")
    assert shown(world, pull.head_sha, "called")[0] is None
    assert shown(world, pull.head_sha, "train")[0] is None
    assert stands(world, pull)[1] is None


async def the_branch_is_of_a_commit_whose_job_needed_nothing(world: World) -> None:
    path = f".github/workflows/{FILE}"
    world.github.people.push_branch(
        "maintainer", {path: WORKFLOW.replace("    needs: build\n", "")}
    )
    pull = of_a_stranger(world, "npu/old.py")
    world.github.people.push_branch("maintainer", {path: WORKFLOW})
    await world.settle()
    run = await begun(world, pull)
    await job_started(world, run, "build")
    await job_ended(world, run, "build", "failure", "ValueError: x")
    assert shown(world, pull.head_sha, "units")[0] == "failure"
    assert stands(world, pull)[1] == "failure"


async def test_who_runs_a_suite_again_that_has_no_job_runs_no_job_of_others(jobs: World) -> None:
    pull = of_a_stranger(jobs, "gone/a.py")
    await jobs.settle()
    run = await begun(jobs, pull)
    jobs.github.actions.finish(run, "success")
    await jobs.settle()
    await jobs.pass_time(10)
    jobs.github.people.comment(pull, "maintainer", "/ascend-e2e rerun gone")
    await jobs.settle()
    await jobs.pass_time(30)
    assert run.attempt == 1
    told = "No job of the Actions run is called gone"
    assert shown(jobs, pull.head_sha, "gone") == ("failure", told)
