"""Re-run from the checks tab: one suite, all that failed, or only the failed jobs."""

from bot.sim.model import Pull
from tests.e2e.people import last_sent, replay
from tests.e2e.world import WORKFLOW, World

DISPATCH = "POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches"
TWO_JOBS = (
    WORKFLOW.replace("NAME", "Unit")
    + """  other:
    runs-on: ${{ inputs.runner }}
    steps:
      - run: echo other
"""
)


async def failed(world: World, jobs: dict[str, str] | None = None) -> Pull:
    """Return a pull request whose suite failed two minutes ago."""
    pull = world.open_pull()
    await world.settle()
    run = world.github.runs()[-1]
    world.github.actions.start(run)
    await world.settle()
    world.github.actions.finish(run, "failure", log="ValueError: x", jobs=jobs)
    await world.pass_time(120)
    return pull


async def test_only_the_failed_jobs_run_again_where_github_can(world: World) -> None:
    files = {".github/workflows/unit.yml": TWO_JOBS}
    world.github.people.push_branch("maintainer", files)
    await world.settle()
    pull = await failed(world, jobs={"run": "failure", "other": "success"})
    check = world.check("unit", pull.head_sha)
    world.github.people.rerun_check(check.id, "writer")
    await world.settle()
    await world.pass_time(5)
    run = world.only_run()
    assert run.attempt == 2
    assert [job.key for job in run.of_attempt(2)] == ["run"]
    assert world.writes(DISPATCH) == 1
    world.github.actions.finish(run, "success")
    await world.pass_time(10)
    again = world.check("unit", pull.head_sha)
    assert (again.id != check.id, again.conclusion) == (True, "success")
    assert world.gate(pull.head_sha).conclusion == "success"


async def test_the_suites_button_reruns_all_that_is_not_green(world: World) -> None:
    pull = await failed(world)
    world.github.people.rerun_suite(world.gate(pull.head_sha).id, "writer")
    await world.pass_time(10)
    assert len(world.github.runs()) == 2
    assert world.gate(pull.head_sha).status == "in_progress"


async def test_the_gates_button_reruns_what_failed(world: World) -> None:
    pull = await failed(world)
    world.github.people.press(world.gate(pull.head_sha).id, "rerun_failed", "writer")
    await world.pass_time(10)
    assert len(world.github.runs()) == 2


async def test_a_green_suite_is_only_looked_at_again(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await world.finish("success")
    await world.pass_time(120)
    gate = world.gate(pull.head_sha)
    world.github.people.rerun_suite(gate.id, "writer")
    await world.pass_time(10)
    assert len(world.github.runs()) == 1
    again = world.gate(pull.head_sha)
    assert (again.id != gate.id, again.conclusion) == (True, "success")


async def test_the_same_click_twice_counts_once_and_another_persons_counts(world: World) -> None:
    pull = await failed(world)
    check = world.check("unit", pull.head_sha)
    world.github.people.rerun_check(check.id, "writer")
    world.github.people.rerun_check(check.id, "writer")
    await world.pass_time(10)
    assert len(world.github.runs()) == 2
    world.github.actions.finish(world.github.runs()[-1], "failure", log="ValueError: x")
    await world.pass_time(10)
    world.github.people.rerun_check(world.check("unit", pull.head_sha).id, "writer")
    await world.pass_time(5)
    assert len(world.github.runs()) == 2
    assert "counts once" in (world.check("unit", pull.head_sha).summary or "")
    click = last_sent(world, "check_run", "writer")
    for guid in (click.guid, "another"):  # GitHub doubles deliveries; a redelivery keeps its GUID
        replay(world, click, guid)
        await world.pass_time(5)
        assert len(world.github.runs()) == 2
    world.github.people.rerun_check(world.check("unit", pull.head_sha).id, "maintainer")
    await world.pass_time(10)
    assert len(world.github.runs()) == 3
