"""A repository with suites that GitHub starts by its own path filters, and what it does to them."""

from bot.sim import NewPull
from bot.sim.model import CheckRun, Pull, Run
from tests.e2e.world import LABEL, POLICY, World

FILE = "npu_unit.yml"
SUITE = "npu-unit"
NATIVE_POLICY = POLICY.replace(
    "limits:",
    f"""\
  {SUITE}:
    title: NPU unit tests of GitHub
    workflow: {FILE}
    start: native
    runners: [{LABEL}]
    paths: ["npu/**"]
  npu-other:
    workflow: npu_other.yml
    start: native
    runners: [{LABEL}]
    paths: ["other/**"]
limits:""",
)
WORKFLOW = f"""
name: NPU
on: [pull_request]
jobs:
  first:
    runs-on: {LABEL}
    steps:
      - run: echo first
  second:
    runs-on: {LABEL}
    steps:
      - run: echo second
"""


async def natives(world: World, policy: str = NATIVE_POLICY) -> World:
    """Give the world's repository its native suites."""
    files = {
        ".github/ascend-ci.yml": policy,
        f".github/workflows/{FILE}": WORKFLOW,
        ".github/workflows/npu_other.yml": WORKFLOW,
    }
    world.github.people.push_branch("maintainer", files)
    await world.settle()
    await world.pass_time(11)  # so long what was before the push may be answered
    return world


def pushed(
    world: World, author: str = "maintainer", path: str = "npu/a.py", *, fork: bool = False
) -> Pull:
    """Open a pull request that GitHub's filters and ours select alike."""
    return world.github.people.open_pull(author, {path: "1"}, NewPull(fork=fork))


async def started(world: World, pull: Pull, file: str = FILE) -> Run:
    """Let GitHub start the workflow for the head, and its jobs find runners."""
    run = world.github.actions.native(pull, file)
    world.github.actions.start(run)
    await world.settle()
    return run


async def ended(world: World, run: Run, conclusion: str = "success", log: str = "") -> None:
    """Let half a minute pass, then the run end."""
    await world.pass_time(30)
    world.github.actions.finish(run, conclusion, log=log)
    await world.settle()
    await world.pass_time(10)


def check(world: World, pull: Pull, suite: str = SUITE) -> CheckRun:
    """Return the suite's newest check run at the head."""
    return world.check(suite, pull.head_sha)


def stands(world: World, pull: Pull) -> tuple[str, str | None, str]:
    """Return status, conclusion and title of the gate at the head."""
    gate = world.gate(pull.head_sha)
    return gate.status, gate.conclusion, gate.title or ""
