"""What is tried again by itself: the infrastructure's failures, and only those."""

from tests.e2e.world import POLICY, World

HCCL = """
[rank3]: RuntimeError: [ERROR] HCCL function error: hcclCommInitRootInfoConfig, error code is 9
EI0006: [PID: 4021] 2026-11-30-18:07:20.444.436 Getting socket times out. Reason: Remote Rank 11
        Possible Cause: the rank did not join in time
"""
DISK = "OSError: [Errno 28] No space left on device\n"


async def test_an_infrastructure_failure_is_tried_again_once_and_says_why(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", HCCL)
    await world.pass_time(10)
    first, second = (
        check for check in world.github.check_runs(pull.head_sha) if check.name == "Ascend / unit"
    )
    assert first.conclusion == "failure"
    assert "retrying (2 of 2)" in (first.title or "")
    assert second.status != "completed"
    assert world.gate(pull.head_sha).status == "in_progress"
    await world.finish("failure", HCCL)
    await world.pass_time(10)
    assert len(world.github.runs()) == 2
    assert "retrying" not in (world.check("unit", pull.head_sha).title or "")
    assert world.gate(pull.head_sha).conclusion == "failure"


async def test_a_failure_of_the_change_is_not_tried_again(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", "ValueError: the batch does not divide\n")
    await world.pass_time(10)
    assert len(world.github.runs()) == 1
    assert world.gate(pull.head_sha).conclusion == "failure"


async def test_a_change_of_the_environment_makes_no_failure_retried(world: World) -> None:
    policy = POLICY.replace(
        "timeout_minutes: 60", 'timeout_minutes: 60\n    env_paths: ["verl/**"]'
    )
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": policy})
    await world.settle()
    pull = world.open_pull()
    await world.settle()
    await world.finish("failure", DISK)
    await world.pass_time(10)
    assert len(world.github.runs()) == 1
    assert world.check("unit", pull.head_sha).conclusion == "failure"


async def test_a_run_that_a_person_cancelled_is_not_tried_again(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    run = world.only_run()
    world.github.actions.start(run)
    world.github.people.comment(pull, "maintainer", "/ascend-e2e cancel")
    await world.settle()
    world.github.actions.finish(run, "failure", log=HCCL)
    await world.pass_time(10)
    assert len(world.github.runs()) == 1
    assert world.check("unit", pull.head_sha).conclusion == "cancelled"
