"""What GitHub does not start is said with its reason, is not red, and mends itself."""

from bot.sim import NewPull
from bot.sim.model import Pull, Run
from bot.sim.natives import start_natives
from tests.e2e.call_budget import Budget
from tests.e2e.native_suites import FILE, check, ended, natives, stands
from tests.e2e.world import World

CONFLICT = "GitHub starts no workflow while the pull request has conflicts: npu-unit"
SKIPPED = "The head commit's message has [skip ci], so GitHub starts no workflow: npu-unit"
BLOCKED = ("completed", "action_required")


async def opened(world: World, path: str, title: str = "Change") -> Pull:
    """Open a pull request, let GitHub start what it starts, and wait for 45 s."""
    pull = world.github.people.open_pull("maintainer", {path: "1"}, NewPull(title=title))
    start_natives(world.github, pull, "opened")
    await world.settle()
    await world.pass_time(45)
    return pull


def started_late(world: World, pull: Pull) -> Run:
    """Let GitHub start what it had not, and return the run of the suite's workflow."""
    runs = start_natives(world.github, pull, "opened")
    for run in runs:
        world.github.actions.start(run)
    return next(run for run in runs if run.workflow.path.endswith(f"/{FILE}"))


async def pushed(world: World, pull: Pull, path: str, content: str = "2") -> None:
    world.github.people.push(pull, {path: content})
    for run in start_natives(world.github, pull):
        world.github.actions.start(run)
    await world.settle()
    await world.pass_time(10)


async def test_what_keeps_github_from_starting_a_suite_is_said_and_mends_itself(
    world: World,
) -> None:
    await natives(world)
    await a_conflict_blocks_until_it_is_resolved(world)
    await a_commit_that_asks_for_no_runs_blocks_until_the_next_push(world)
    await a_disabled_workflow_blocks_until_it_is_enabled(world)
    await a_refusal_of_github_blocks_until_it_answers(world)
    await an_unknown_reason_blocks_after_10_minutes_and_a_late_run_counts(world)


async def a_conflict_blocks_until_it_is_resolved(world: World) -> None:
    world.github.people.push_branch("maintainer", {"npu/a.py": "old"})
    pull = world.github.people.open_pull("maintainer", {"npu/a.py": "mine"})
    world.github.people.push_branch("maintainer", {"npu/a.py": "theirs"})
    assert start_natives(world.github, pull, "opened") == []
    await world.settle()
    await world.pass_time(45)
    assert stands(world, pull) == (*BLOCKED, CONFLICT)
    assert "Resolve the conflicts and push" in (world.gate(pull.head_sha).summary or "")
    assert check(world, pull).status == "queued"
    budget = Budget(world)
    await world.pass_time(3600)
    assert stands(world, pull) == (*BLOCKED, CONFLICT)
    budget.assert_at_most(3 * 8)  # asked ever less often
    sha = pull.head_sha
    world.github.people.push_branch("maintainer", {"npu/a.py": "old"})
    await world.pass_time(3600)
    assert world.gate(sha).title == (
        "GitHub has not started the workflow, and does not say why: npu-unit"
    )
    await pushed(world, pull, "npu/a.py", "mine and theirs")
    assert stands(world, pull)[0] == "in_progress"


async def a_commit_that_asks_for_no_runs_blocks_until_the_next_push(world: World) -> None:
    pull = await opened(world, "npu/skip.py", "Fix a word [skip ci]")
    assert stands(world, pull) == (*BLOCKED, SKIPPED)
    assert check(world, pull).title == (
        "Queued: the head commit's message has [skip ci], so GitHub starts no workflow"
    )
    await pushed(world, pull, "npu/skip.py")
    assert stands(world, pull)[0] == "in_progress"


async def a_disabled_workflow_blocks_until_it_is_enabled(world: World) -> None:
    workflow = world.github.actions.workflows.find(world.github.state.repo(), FILE)
    for state, title in (
        ("disabled_manually", f"The workflow {FILE} is disabled on GitHub: npu-unit"),
        (
            "disabled_inactivity",
            f"GitHub has disabled {FILE}, for the repository was not active: npu-unit",
        ),
    ):
        workflow.state = state
        pull = await opened(world, f"npu/{state}.py")
        assert stands(world, pull) == (*BLOCKED, title)
    world.github.actions.enable(workflow)
    await pushed(world, pull, "npu/enabled.py")
    assert stands(world, pull)[0] == "in_progress"


async def a_refusal_of_github_blocks_until_it_answers(world: World) -> None:
    world.github.fault("403", "GET", "*/actions/workflows", times=9)
    pull = world.github.people.open_pull("maintainer", {"npu/refused.py": "1"})
    await world.settle()
    await world.pass_time(45)
    title = stands(world, pull)[2]
    assert stands(world, pull)[:2] == BLOCKED
    assert title.startswith("GitHub does not say whether Actions is enabled (")
    world.github.faults.clear()
    started_late(world, pull)
    await world.settle()
    assert stands(world, pull)[0] == "in_progress"


async def an_unknown_reason_blocks_after_10_minutes_and_a_late_run_counts(world: World) -> None:
    pull = world.github.people.open_pull("maintainer", {"npu/never.py": "1"})
    await world.settle()
    await world.pass_time(9 * 60 + 50)
    assert stands(world, pull)[0] == "in_progress"
    await world.pass_time(60)
    assert stands(world, pull)[:2] == BLOCKED
    assert "close and reopen the pull request" in (world.gate(pull.head_sha).summary or "")
    run = started_late(world, pull)
    await world.settle()
    await ended(world, run)
    assert stands(world, pull) == ("completed", "success", "npu-unit passed")
