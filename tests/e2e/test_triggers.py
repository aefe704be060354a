"""Native suites are selected as GitHub starts their workflows, read from the files themselves."""

import pytest

from bot.sim import NewPull
from bot.sim.model import Pull
from tests.e2e.call_budget import Budget
from tests.e2e.native_suites import FILE, NATIVE_POLICY, WORKFLOW, natives, stands
from tests.e2e.people import say
from tests.e2e.world import World

PATH = f".github/workflows/{FILE}"
FILTERED = WORKFLOW.replace(
    "on: [pull_request]", "on: {pull_request: {branches: [main], paths: ['npu/**']}}"
)
# The policy does not repeat the filters of its native suite.
POLICY = (
    NATIVE_POLICY.replace("    title: Two nodes\n", "    bases: [main]\n")
    .replace('    paths: ["npu/**"]\n', "")
    .replace("workflow: npu_other.yml", "workflow: npu_new.yml")
)
NEEDED = ("in_progress", None, "Waiting for GitHub to start npu-unit")
NOT_NEEDED = ("completed", "success", "No Ascend suite needed")


@pytest.fixture
async def filtered(world: World) -> World:
    """Give a world native suites: one with filters in its workflow, one whose workflow is new."""
    await natives(world, POLICY)
    world.github.people.push_branch("maintainer", {"a": "1"}, "release/1")
    world.github.people.push_branch("maintainer", {PATH: FILTERED})
    await world.settle()
    await world.pass_time(11)
    return world


async def opened(
    world: World,
    files: dict[str, str | bytes | None],
    *,
    base: str = "main",
    by: str = "maintainer",
) -> Pull:
    pull = world.github.people.open_pull(by, files, NewPull(base=base, fork=by == "stranger"))
    await world.settle()
    return pull


async def test_a_native_suite_is_needed_where_github_starts_its_workflow(filtered: World) -> None:
    await the_filters_of_the_workflow_select_it_at_no_more_cost(filtered)
    await a_base_that_the_workflow_does_not_name_needs_nothing_however_long_it_waits(filtered)
    await the_head_decides_where_it_changes_the_workflow(filtered)
    await what_a_stranger_takes_out_of_a_workflow_waits_for_an_approval(filtered)
    await many_files_beside_do_not_take_it_out_of_the_gate(filtered)
    await right_after_a_push_of_workflows_the_gate_stays_open(filtered)


async def many_files_beside_do_not_take_it_out_of_the_gate(world: World) -> None:
    files: dict[str, str | bytes | None] = {f"a/{number}.md": "1" for number in range(300)}
    pull = await opened(world, {**files, "npu/a.py": "1"}, by="stranger")
    assert stands(world, pull) == NEEDED
    await world.pass_time(601)  # GitHub looks at the first 300 files alone, and starts nothing
    assert stands(world, pull)[1] == "action_required"


async def the_filters_of_the_workflow_select_it_at_no_more_cost(world: World) -> None:
    assert stands(world, await opened(world, {"npu/a.py": "1"})) == NEEDED
    budget = Budget(world)
    assert stands(world, await opened(world, {"npu/b.py": "1"})) == NEEDED
    assert not [call for call in budget.table() if "contents" in call]  # unchanged: it is free
    assert stands(world, await opened(world, {"docs/b.md": "1"})) == NOT_NEEDED


async def a_base_that_the_workflow_does_not_name_needs_nothing_however_long_it_waits(
    world: World,
) -> None:
    release = {PATH: FILTERED, ".github/ascend-ci.yml": POLICY}
    world.github.people.push_branch("maintainer", release, "release/1")
    await world.settle()
    await world.pass_time(11)
    # `multi` is of a suite that the bot dispatches, and that names its bases in the policy.
    files: dict[str, str | bytes | None] = {"npu/release.py": "1", "multi/a.py": "1"}
    pull = await opened(world, files, base="release/1")
    await world.pass_time(11 * 60)
    assert stands(world, pull) == NOT_NEEDED
    assert stands(world, await opened(world, {"multi/b.py": "1"}))[0] == "in_progress"


async def the_head_decides_where_it_changes_the_workflow(world: World) -> None:
    narrow = FILTERED.replace("npu/**", "other/**")
    gone: dict[str, str | bytes | None] = {"npu/c.py": "1", PATH: None}
    assert stands(world, await opened(world, gone)) == NOT_NEEDED
    assert stands(world, await opened(world, {"npu/d.py": "1", PATH: narrow})) == NOT_NEEDED
    assert stands(world, await opened(world, {"other/d.py": "1", PATH: narrow})) == NEEDED
    added: dict[str, str | bytes | None] = {
        "other/e.py": "1",
        ".github/workflows/npu_new.yml": WORKFLOW,
    }
    assert stands(world, await opened(world, added)) == (
        "in_progress",
        None,
        "Waiting for GitHub to start npu-other",
    )


async def what_a_stranger_takes_out_of_a_workflow_waits_for_an_approval(world: World) -> None:
    gone: dict[str, str | bytes | None] = {"npu/f.py": "1", PATH: None}
    pull = await opened(world, gone, by="stranger")
    assert stands(world, pull)[:2] == ("completed", "action_required")
    await world.pass_time(11 * 60)
    assert stands(world, pull)[:2] == ("completed", "action_required")
    await say(world, pull, "maintainer", f"/ascend-e2e approve --sha {pull.head_sha[:12]}")
    assert stands(world, pull) == NOT_NEEDED


async def right_after_a_push_of_workflows_the_gate_stays_open(world: World) -> None:
    world.github.people.push_branch("maintainer", {PATH: FILTERED.replace("npu/**", "late/**")})
    pull = await opened(world, {"docs/late.md": "1"})
    assert stands(world, pull)[0] == "in_progress"
    await world.pass_time(30)
    assert stands(world, pull) == NOT_NEEDED
    assert stands(world, await opened(world, {"late/a.py": "1"})) == NEEDED
