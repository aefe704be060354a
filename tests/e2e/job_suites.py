"""A workflow with several jobs, each of them a suite, as the nights of large projects have it."""

from bot.sim.model import CheckRun, Pull, Run
from tests.e2e.native_suites import natives
from tests.e2e.world import LABEL, POLICY, World

FILE = "npu_all.yml"
WORKFLOW = f"""
name: All NPU jobs
on:
  pull_request: {{}}
  schedule: [{{cron: "0 17 * * *"}}, {{cron: "0 18 * * *"}}]
jobs:
  build:
    runs-on: ubuntu-latest
    steps: [{{run: make}}]
  unit:
    name: Unit tests
    needs: build
    runs-on: {LABEL}
    strategy: {{matrix: {{chip: [a2, a3]}}}}
    steps: [{{run: make test}}]
  train:
    if: github.event_name == 'pull_request' || github.event.schedule == '0 17 * * *'
    runs-on: {LABEL}
    steps: [{{run: make train}}]
  late:
    if: github.event.schedule == '0 18 * * *'
    runs-on: {LABEL}
    steps: [{{run: make late}}]
  called:
    uses: ./.github/workflows/called.yml
"""
_SUITE = """\
  {name}:
    workflow: {file}
    start: native
    jobs: [{jobs}]
    runners: [{label}]
    {more}
"""
_PATHS = 'paths: ["npu/**"]'


def _suite(name: str, jobs: str, more: str = _PATHS) -> str:
    return _SUITE.format(name=name, file=FILE, jobs=jobs, label=LABEL, more=more)


POLICY_OF_JOBS = POLICY.replace(
    "limits:",
    _suite("units", "unit")  # by its key: GitHub shows another name
    + _suite("train", "tra*")
    + _suite("late", "late")
    + _suite("called", "called", "paths: [called/**]")
    + _suite("gone", "gone", "paths: [gone/**]")
    + _suite("night", "night", "triggers: [schedule]")
    + "limits:",
)


async def jobs_world(world: World, policy: str = POLICY_OF_JOBS) -> World:
    """Give the world's repository the workflow and its suites."""
    await natives(world, policy)
    world.github.people.push_branch("maintainer", {f".github/workflows/{FILE}": WORKFLOW})
    await world.settle()
    await world.pass_time(11)
    return world


async def begun(world: World, pull: Pull) -> Run:
    """Let GitHub start the workflow for the head."""
    run = world.github.actions.native(pull, FILE)
    await world.settle()
    return run


async def job_started(world: World, run: Run, *names: str) -> None:
    """Let runners take jobs."""
    for name in names:
        world.github.actions.start_job(run, name)
    await world.settle()
    await world.pass_time(5)


async def job_ended(
    world: World, run: Run, name: str, conclusion: str = "success", log: str = ""
) -> None:
    """Let a minute pass, and a job end."""
    await world.pass_time(60)
    world.github.actions.finish_job(run, name, conclusion, log)
    await world.settle()
    await world.pass_time(10)


def shown(world: World, sha: str, suite: str) -> tuple[str | None, str]:
    """Return conclusion and title of the suite's newest check run."""
    check = world.check(suite, sha)
    return check.conclusion, check.title or ""


def checks(world: World, sha: str) -> list[CheckRun]:
    """Return the check runs of suites at a commit."""
    return [item for item in world.github.check_runs(sha) if item.name.startswith("Ascend / ")]
