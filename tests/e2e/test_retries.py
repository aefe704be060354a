"""What is tried again by itself: the infrastructure's failures, and only those."""

from bot.sim.model import Run
from tests.e2e.world import POLICY, World

HCCL = """
[rank3]: RuntimeError: [ERROR] HCCL function error: hcclCommInitRootInfoConfig, error code is 9
EI0006: [PID: 4021] 2026-11-30-18:07:20.444.436 Getting socket times out. Reason: Remote Rank 11
        Possible Cause: the rank did not join in time
"""
DISK = "OSError: [Errno 28] No space left on device\n"


LOST = (
    "The self-hosted runner: a2-7 lost communication with the server. Verify the machine is running"
    " and has a healthy network connection."
)


def lose_runner(world: World, run: Run) -> None:
    """Let GitHub lose the runner: no log is ever stored, an annotation tells why."""
    for job in run.jobs:
        world.github.fault("404", "GET", f"*/jobs/{job.id}/logs", times=99)
        assert job.check is not None
        place = {"path": ".github", "start_line": 1, "end_line": 1, "annotation_level": "failure"}
        job.check.annotations.append({**place, "message": LOST})


POLICY_TEXT = POLICY.replace("slots: 2", "slots: 5").replace(
    "timeout_minutes: 60", 'timeout_minutes: 60\n    env_paths: ["verl/env/**"]'
)
LOGS = {
    "verl/infra.py": HCCL,
    "verl/change.py": "ValueError: the batch does not divide\n",
    "verl/env/image.py": DISK,  # the change may have filled it
    "verl/cancelled.py": HCCL,
    "verl/lost.py": "",
}


async def test_an_infrastructure_failure_is_tried_again_once_and_nothing_else_is(
    world: World,
) -> None:
    people = world.github.people
    people.push_branch("maintainer", {".github/ascend-ci.yml": POLICY_TEXT})
    await world.settle()
    pulls = {path: world.open_pull(path=path) for path in LOGS}
    await world.settle()
    people.comment(pulls["verl/cancelled.py"], "maintainer", "/ascend-e2e cancel")
    runs = {run.inputs["sha"]: run for run in world.github.runs()}
    for pull in pulls.values():
        world.github.actions.start(runs[pull.head_sha])
    await world.settle()
    lose_runner(world, runs[pulls["verl/lost.py"].head_sha])
    for path, pull in pulls.items():
        world.github.actions.finish(runs[pull.head_sha], "failure", log=LOGS[path])
    await world.pass_time(10)
    infra, lost = pulls.pop("verl/infra.py"), pulls.pop("verl/lost.py")
    checks = world.github.check_runs(lost.head_sha)
    [told] = [check for check in checks if (check.title or "").startswith("CI runner lost")]
    assert "attempt 2 follows" in str(told.title)
    again = {run.inputs["sha"]: run for run in world.github.runs()[5:]}
    assert again.keys() == {infra.head_sha, lost.head_sha}
    lose_runner(world, again[lost.head_sha])
    world.github.actions.finish(again[lost.head_sha], "failure")
    first, second = (
        check for check in world.github.check_runs(infra.head_sha) if check.name == "Ascend / unit"
    )
    assert first.conclusion == "failure"
    assert "attempt 2 follows" in (first.title or "")
    assert second.status != "completed"
    assert world.gate(infra.head_sha).status == "in_progress"
    world.github.actions.finish(again[infra.head_sha], "failure", log=HCCL)
    await world.pass_time(10)
    assert "retrying" not in (world.check("unit", infra.head_sha).title or "")
    assert world.gate(infra.head_sha).title == "unit failed: HCCL call failed"  # perhaps of a rank
    assert world.gate(lost.head_sha).title == "unit failed, not your change: CI runner lost"
    full = pulls["verl/env/image.py"].head_sha
    assert world.gate(full).title == "unit failed: No space left on device"
    assert len(world.github.runs()) == 7
    ends = {path: world.check("unit", pull.head_sha).conclusion for path, pull in pulls.items()}
    assert ends == {
        "verl/change.py": "failure",
        "verl/env/image.py": "failure",
        "verl/cancelled.py": "cancelled",
    }
    for pull in pulls.values():
        assert world.gate(pull.head_sha).conclusion == "failure"
