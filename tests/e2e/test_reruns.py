"""Re-run from the checks tab: one suite, all that failed, or only the failed jobs."""

from bot.sim.limits import Fault
from bot.sim.model import Pull
from tests.core.commands.commenting import offered
from tests.e2e.people import last_sent, replay, say
from tests.e2e.world import POLICY, WORKFLOW, World

DISPATCH = "POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches"
SLOTS = POLICY.replace("slots: 2", "slots: 4")
TWO_JOBS = (
    WORKFLOW.replace("NAME", "Unit")
    + """  other:
    runs-on: ${{ inputs.runner }}
    steps:
      - run: echo other
"""
)


async def test_what_failed_runs_again_by_each_button_once_and_what_is_green_does_not(
    world: World,
) -> None:
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": SLOTS})
    await world.settle()
    await each_button(world)
    await the_same_click_twice_counts_once_and_another_persons_counts(world)
    await a_click_on_a_former_attempt_leaves_the_latest_one_on_top(world)
    await only_the_failed_jobs_run_again_where_github_can(world)
    await where_github_refuses_a_re_run_another_way_is_found_and_nothing_starts_twice(world)
    await a_click_on_a_former_head_is_answered_by_a_comment_that_runs_it(world)


async def each_button(world: World) -> None:
    people, actions = world.github.people, world.github.actions
    suites, gate, tab, green = pulls = [
        world.open_pull(path=f"verl/{number}.py") for number in range(4)
    ]
    await world.settle()
    runs = {run.inputs["sha"]: run for run in world.github.runs()}
    for pull in pulls:
        actions.start(runs[pull.head_sha])
        conclusion = "success" if pull is green else "failure"
        actions.finish(runs[pull.head_sha], conclusion, log="ValueError: x")
    await world.pass_time(120)
    before = world.gate(green.head_sha)
    people.rerun_suite(world.gate(suites.head_sha).id, "writer")
    people.press(world.gate(gate.head_sha).id, "rerun_failed", "writer")
    people.rerun_actions(runs[tab.head_sha], "writer", failed_only=True)
    actions.start(runs[tab.head_sha])  # GitHub tells of a re-run only by its first job
    people.rerun_suite(before.id, "writer")
    await world.pass_time(10)
    started = [run.inputs["sha"] for run in world.github.runs()]
    assert {pull.number: started.count(pull.head_sha) for pull in pulls} == {
        suites.number: 2,
        gate.number: 2,
        tab.number: 1,  # GitHub runs it again itself
        green.number: 1,
    }
    for pull in (suites, gate, tab):
        assert world.gate(pull.head_sha).status == "in_progress"
    again = world.gate(green.head_sha)
    assert (again.id != before.id, again.conclusion) == (True, "success")
    assert "in the Actions tab" in (world.check("unit", tab.head_sha).summary or "")
    for pull in (suites, gate):  # GitHub took the re-run, and names no run of any
        assert "lost answer" not in (world.check("unit", pull.head_sha).summary or "")
    for run in world.github.runs():
        if run.status != "completed":
            actions.finish(run, "success")
    await world.pass_time(10)
    for pull in pulls:
        assert world.check("unit", pull.head_sha).conclusion == "success"
        assert world.gate(pull.head_sha).conclusion == "success"


async def failed(world: World, jobs: dict[str, str] | None = None) -> Pull:
    """Return a pull request whose suite failed two minutes ago."""
    pull = world.open_pull(path=f"verl/{len(world.github.runs())}.py")
    await world.settle()
    run = world.github.runs()[-1]
    world.github.actions.start(run)
    await world.settle()
    world.github.actions.finish(run, "failure", log="ValueError: x", jobs=jobs)
    await world.pass_time(120)
    return pull


async def the_same_click_twice_counts_once_and_another_persons_counts(world: World) -> None:
    pull = await failed(world)
    before = len(world.github.runs())
    check = world.check("unit", pull.head_sha)
    world.github.people.rerun_check(check.id, "writer")
    world.github.people.rerun_check(check.id, "writer")
    await world.pass_time(10)
    assert len(world.github.runs()) == before + 1
    world.github.actions.finish(world.github.runs()[-1], "failure", log="ValueError: x")
    await world.pass_time(10)
    world.github.people.rerun_check(world.check("unit", pull.head_sha).id, "writer")
    await world.pass_time(5)
    assert len(world.github.runs()) == before + 1
    assert "pressed less than 60 s ago" in (world.check("unit", pull.head_sha).summary or "")
    click = last_sent(world, "check_run", "writer")
    for guid in (click.guid, "another"):  # GitHub doubles deliveries; a redelivery keeps its GUID
        replay(world, click, guid)
        await world.pass_time(5)
        assert len(world.github.runs()) == before + 1
    world.github.people.rerun_check(world.check("unit", pull.head_sha).id, "maintainer")
    await world.pass_time(10)
    assert len(world.github.runs()) == before + 2


async def a_click_on_a_former_attempt_leaves_the_latest_one_on_top(world: World) -> None:
    pull = await failed(world)
    first = world.check("unit", pull.head_sha)
    world.github.people.rerun_check(first.id, "writer")
    await world.pass_time(10)
    second = world.check("unit", pull.head_sha)
    for person in ("maintainer", "writer"):
        world.github.people.rerun_check(first.id, person)
        await world.pass_time(10)
        assert world.check("unit", pull.head_sha).id == second.id
    assert (first.id != second.id, second.status) == (True, "queued")
    world.github.actions.finish(world.github.runs()[-1], "success")
    await world.pass_time(10)
    world.github.people.rerun_check(first.id, "reader")
    await world.pass_time(10)
    refused = world.check("unit", pull.head_sha)
    assert (refused.conclusion, world.gate(pull.head_sha).conclusion) == ("success", "success")
    assert "write" in (refused.summary or "")


async def only_the_failed_jobs_run_again_where_github_can(world: World) -> None:
    files = {".github/workflows/unit.yml": TWO_JOBS}
    world.github.people.push_branch("maintainer", files)
    await world.settle()
    before = world.writes(DISPATCH)
    pull = await failed(world, jobs={"run": "failure", "other": "success"})
    check = world.check("unit", pull.head_sha)
    world.github.people.rerun_check(check.id, "writer")
    await world.settle()
    await world.pass_time(5)
    run = world.github.runs()[-1]
    assert run.attempt == 2
    assert [job.key for job in run.of_attempt(2)] == ["run"]
    assert world.writes(DISPATCH) == before + 1
    world.github.actions.finish(run, "success")
    await world.pass_time(10)
    again = world.check("unit", pull.head_sha)
    assert (again.id != check.id, again.conclusion) == (True, "success")
    assert world.gate(pull.head_sha).conclusion == "success"


async def where_github_refuses_a_re_run_another_way_is_found_and_nothing_starts_twice(
    world: World,
) -> None:
    for refused, crash in (["-failed-jobs"], ""), (["-failed-jobs", ""], ""), (["*"], "lost"):
        before = len(world.github.runs())
        pull = await failed(world, jobs={"run": "failure", "other": "success"})
        for end in refused:
            world.github.faults.inject(Fault("403", "POST", f"*/rerun{end}", times=9))
        if crash:
            world.github.faults.inject(Fault(crash, "POST", "*/dispatches"))
        world.github.people.rerun_check(world.check("unit", pull.head_sha).id, "writer")
        await world.pass_time(10)
        if crash:
            await world.restart()
        await world.pass_time(60)
        world.github.faults.clear()
        runs = world.github.runs()[before:]
        assert [run.attempt for run in runs] == ([2] if refused == ["-failed-jobs"] else [1, 1])
        assert len(runs[0].of_attempt(2)) == (2 if refused == ["-failed-jobs"] else 0)
        world.github.actions.finish(runs[-1], "success")
        await world.pass_time(10)
        assert world.check("unit", pull.head_sha).conclusion == "success"


async def a_click_on_a_former_head_is_answered_by_a_comment_that_runs_it(world: World) -> None:
    people, pull = world.github.people, world.open_pull(path="verl/former.py")
    await world.settle()
    await world.finish("failure", "ValueError: x")
    old = pull.head_sha
    people.push(pull, {"docs/a.md": "2"})
    await world.pass_time(120)
    people.rerun_check(world.check("unit", old).id, "writer")
    people.rerun_suite(world.gate(old).id, "writer")
    await world.pass_time(10)
    lines = [f"/ascend-e2e rerun {words}--sha {old[:12]}" for words in ("unit ", "")]
    for check, line in zip((world.check("unit", old), world.gate(old)), lines, strict=True):
        said = check.summary or ""
        assert f"which is `{pull.head_sha[:7]}` now." in said
        assert line in offered(said.partition("\n\n")[0]), said
        before = len(world.github.runs())
        await say(world, pull, "writer", line)
        assert [run.inputs["sha"] for run in world.github.runs()[before:]] == [old]
        await world.finish("failure", "ValueError: x")
    reply = await say(world, pull, "writer", f"/ascend-e2e --sha {old[:12]}")
    assert f"`{old[:7]}` are no longer known" in reply
    people.close(pull)
    people.rerun_check(world.check("unit", old).id, "writer")
    await world.pass_time(10)
    said = world.check("unit", old).summary or ""
    assert f"`{old[:7]}` was the head of #" in said
