"""Attacks on a gate: a result that was made easy, or another pull request of the same commit."""

from bot.sim import NewPull
from bot.sim.limits import Fault
from bot.sim.model import Pull
from tests.e2e.native_suites import FILE, NATIVE_POLICY, WORKFLOW, check, ended, natives, started
from tests.e2e.people import press, say, stands, unharmed
from tests.e2e.world import FILES, POLICY, World

UNIT = FILES[".github/workflows/unit.yml"]
EASY = WORKFLOW.replace("echo first", "true")
PROTECTED = {
    f".github/workflows/{FILE}": EASY,
    ".github/actions/test/action.yml": "runs: {}\n",
    ".github/ascend-ci.yml": NATIVE_POLICY.replace("npu/**", "none/**"),
}


def gate(world: World, pull: Pull) -> tuple[str, str | None]:
    """Return status and conclusion of the gate at the head."""
    shown = world.gate(pull.head_sha)
    return shown.status, shown.conclusion


ASKS = ("completed", "action_required")
GREEN = ("completed", "success")
RED = ("completed", "failure")


async def test_a_fork_that_rewrites_a_native_workflow_does_not_turn_the_gate_green(
    world: World,
) -> None:
    await natives(world)
    for number, (path, text) in enumerate(PROTECTED.items()):
        files = {f"npu/{number}.py": "1", path: text}
        pull = world.github.people.open_pull("stranger", files, NewPull(fork=True))
        await stands(world)
        assert gate(world, pull) == ASKS
        run = await started(world, pull)
        assert gate(world, pull) == ASKS
        result, log = ("success", "") if number else ("failure", "ValueError: x\n")
        await ended(world, run, result, log)
        assert check(world, pull).conclusion == result  # it is shown
        assert gate(world, pull) == ASKS
        shown = world.gate(pull.head_sha)
        assert f"the change edits `{path}`" in (shown.summary or "")
        assert [action["identifier"] for action in shown.actions] == ["approve"]
        await press(world, pull.head_sha, "stranger")
        assert gate(world, pull) == ASKS
        await press(world, pull.head_sha, "writer")
        assert gate(world, pull) == ("completed", result)
    await unharmed(world)


async def test_somebody_with_write_does_not_pass_by_rewriting_a_native_workflow(
    world: World,
) -> None:
    await natives(world)
    pull = world.github.people.open_pull(
        "writer", {"npu/a.py": "1", f".github/workflows/{FILE}": EASY}
    )
    await stands(world)
    await ended(world, await started(world, pull))
    assert gate(world, pull) == ASKS
    assert "your own commit" in await press(world, pull.head_sha, "writer")
    assert gate(world, pull) == ASKS
    await say(world, pull, "maintainer", f"/ascend-e2e approve --sha {pull.head_sha[:12]}")
    assert gate(world, pull) == GREEN


WEAK = POLICY.replace(
    "workflow: unit.yml\n    runners: [linux-aarch64-a2b3",
    "workflow: easy.yml\n    runners: [linux-aarch64-a2b3",
)
LISTED = POLICY.replace("version: 1", "version: 1\nbranches: [weak]")


async def weak_base(world: World, policy: str = WEAK) -> None:
    """Let the default branch's policy list a base that maps the suite to an empty workflow."""
    world.github.people.protect("weak")
    files = {".github/ascend-ci.yml": LISTED, ".github/workflows/easy.yml": UNIT}
    world.github.people.push_branch("maintainer", files)
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": policy}, "weak")
    await world.settle()


def workflows(world: World) -> list[str]:
    """Return the files of the workflow runs that there are."""
    return [run.workflow.path.rpartition("/")[2] for run in world.github.runs()]


async def test_a_second_pull_request_against_a_weaker_base_does_not_turn_the_gate_green(
    world: World,
) -> None:
    await weak_base(world)
    pull = world.open_pull("writer")
    await world.settle()
    await world.finish("failure", "ValueError: x\n")
    await world.pass_time(10)
    assert gate(world, pull) == RED
    second = world.github.people.open_pull("writer", {"docs/b.md": "1"}, NewPull(base="weak"))
    await world.settle()
    world.github.people.force_push(second, pull.head_sha)
    await stands(world)
    await world.finish()
    await world.pass_time(10)
    assert workflows(world)[-1] == "easy.yml"
    assert world.check("unit", pull.head_sha).conclusion == "success"
    assert gate(world, pull) == RED
    world.github.people.rerun_check(world.check("unit", pull.head_sha).id, "writer")
    await stands(world)
    await unharmed(world)


async def test_a_retarget_to_a_weaker_base_and_back_does_not_turn_the_gate_green(
    world: World,
) -> None:
    await weak_base(world)
    pull = world.open_pull("writer")
    await world.settle()
    await world.finish("failure", "ValueError: x\n")
    await world.pass_time(10)
    world.github.people.retarget(pull, "weak")
    await stands(world)
    await say(world, pull, "writer", "/ascend-e2e unit")
    await world.finish()
    await world.pass_time(10)
    assert set(workflows(world)) == {"unit.yml", "easy.yml"}
    assert gate(world, pull) == GREEN  # of the base that it has
    world.github.people.retarget(pull, "main")
    await stands(world)
    assert gate(world, pull) == RED
    await say(world, pull, "writer", "/ascend-e2e rerun")
    assert workflows(world)[-1] == "unit.yml"
    await world.finish()
    await world.pass_time(10)
    assert gate(world, pull) == GREEN


async def test_a_listed_branch_that_anybody_may_push_brings_no_policy_of_its_own(
    world: World,
) -> None:
    await weak_base(world)
    world.github.people.protect("main")
    await world.pass_time(300)
    fault = world.github.faults.inject(Fault("502", "GET", "*/branches/weak", times=20))
    pull = world.github.people.open_pull("maintainer", {"verl/a.py": "1"}, NewPull(base="weak"))
    await world.settle()
    assert fault.hits
    assert world.github.runs() == []  # nobody knows whose policy holds
    world.github.faults.clear()
    await world.pass_time(60)
    assert workflows(world) == ["unit.yml"]
    said = "`weak` is listed in `branches:`, but GitHub does not protect it"
    assert said in (world.gate(pull.head_sha).summary or "")
    files = {".github/ascend-ci.yml": f"{WEAK}drafts: true\n", "verl/b.py": "1"}
    proposed = world.github.people.open_pull("writer", files, NewPull(base="weak"))
    await world.settle()
    shown = world.github.check("ascend-ci policy", proposed.head_sha)
    assert shown is not None
    assert said in (shown.summary or "")
    world.github.people.protect("weak")
    await world.pass_time(300)
    world.github.people.push(pull, {"verl/a.py": "2"})
    await world.settle()
    assert workflows(world)[-1] == "easy.yml"
    assert said not in (world.gate(pull.head_sha).summary or "")


async def test_a_strangers_pull_request_into_a_base_with_another_gate_does_not_rename_the_gate(
    world: World,
) -> None:
    await weak_base(world, f"{WEAK}gate: {{name: weak-gate}}\n")
    pull = world.open_pull("writer")
    await world.settle()
    await world.finish("failure", "ValueError: x\n")
    await world.pass_time(10)
    fork = NewPull(base="weak", fork=True)
    second = world.github.people.open_pull("stranger", {"docs/b.md": "1"}, fork)
    await world.settle()
    world.github.people.force_push(second, pull.head_sha)
    await stands(world)
    assert gate(world, pull) == RED
    assert world.github.check("weak-gate", pull.head_sha) is None
