"""A bot that starts again: what ended meanwhile ends at once, and few calls tell of it."""

from dataclasses import replace
from datetime import timedelta

from bot.sim.model import Pull, Run
from tests.e2e.world import POLICY, World

SLOTS = POLICY.replace("slots: 2", "slots: 9")
SUITE = "Ascend / unit"
DELIVERIES = "GET /app/hook/deliveries"


async def running(world: World, number: int) -> list[tuple[Pull, Run]]:
    """Let suites of pull requests run, and none of them is heard of any more."""
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": SLOTS})
    await world.settle()
    pulls = []
    for item in range(number):
        pulls.append(world.open_pull(path=f"verl/{item}.py"))
        await world.pass_time(2)
    runs = {run.inputs["sha"]: run for run in world.github.runs()}
    begun = [(pull, runs[pull.head_sha]) for pull in pulls]
    for _, run in begun:
        world.github.actions.start(run)
    await world.settle()
    world.github.deliveries.drop_if(lambda _: True)
    return begun


async def test_a_bot_that_starts_looks_at_once_and_only_as_far_back_as_it_has_to(
    world: World,
) -> None:
    begun = await running(world, 2)
    await world.sweep()
    for pull, run in begun:
        world.github.actions.finish(run)
        assert world.check("unit", pull.head_sha).status == "in_progress"
    world.github.deliveries.drop_if(None)
    old = world.github.deliveries.sent[0]
    yesterday = world.clock.now() - timedelta(days=1)
    world.github.deliveries.sent += [
        replace(old, id=-number, guid=f"old-{number}", delivered_at=yesterday)
        for number in range(1, 300)
    ]
    await world.clock.advance(40)
    before = world.writes(DELIVERIES)
    await world.restart()
    await world.sweep()
    for pull, _ in begun:
        assert world.check("unit", pull.head_sha).conclusion == "success"
        assert world.gate(pull.head_sha).conclusion == "success"
    assert 1 <= world.writes(DELIVERIES) - before <= 2


async def test_a_run_ends_by_the_page_that_shows_it_though_the_next_one_never_comes(
    world: World,
) -> None:
    begun = await running(world, 5)
    world.github.state.most_listed = 2
    for _, run in begun[3:]:
        world.github.actions.finish(run)
    world.github.fault("502", "GET", "*/actions/runs", times=99, skip=1)
    world.github.fault("502", "GET", "*/hook/deliveries", times=99)
    await world.clock.advance(120)
    await world.sweep()
    shown = [world.check("unit", pull.head_sha).conclusion for pull, _ in begun]
    assert shown == [None, None, None, "success", "success"]


async def test_runs_beyond_those_that_a_list_shows_are_found(world: World) -> None:
    begun = await running(world, 8)
    world.github.state.most_listed = 2
    for _, run in begun[2:]:
        world.github.actions.finish(run)
    deleted = begun[0][1]
    del world.github.state.runs[deleted.id]
    await world.pass_time(120)
    await world.sweep()
    shown = [
        [one.conclusion for one in world.github.check_runs(pull.head_sha) if one.name == SUITE]
        for pull, _ in begun
    ]
    assert shown == [["failure", None], [None], *[["success"]] * 6]  # the first was deleted
