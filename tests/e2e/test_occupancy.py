"""Jobs of other workflows take runners too; and a label whose runners are gone says so."""

from typing import Any

from sqlalchemy import text
from structlog.testing import capture_logs

from bot.sim.model import Pull, Run
from tests.e2e.world import LABEL, World

OTHER = f"""
name: Other
on: [pull_request]
jobs:
  npu:
    runs-on: {LABEL.upper()}  # GitHub does not tell capitals apart
    steps:
      - run: echo other
"""


async def other_jobs(world: World, count: int) -> tuple[Pull, list[Run]]:
    """Start a workflow that is none of ours so often, each on a runner of our label."""
    world.github.people.push_branch("maintainer", {".github/workflows/other.yml": OTHER})
    await world.settle()
    pull = world.open_pull(path="README.md")
    await world.settle()
    runs = [world.github.actions.native(pull, "other.yml") for _ in range(count)]
    for run in runs:
        world.github.actions.start(run)
    await world.settle()
    return pull, runs


def dispatched(world: World) -> list[Run]:
    return [run for run in world.github.runs() if run.event == "workflow_dispatch"]


async def test_a_place_that_others_give_back_is_used_at_once_and_a_busy_label_is_not_offline(
    world: World,
) -> None:
    _, others = await other_jobs(world, 2)
    pull = world.open_pull()
    await world.settle()
    assert dispatched(world) == []
    check = world.check("unit", pull.head_sha)
    assert "2 jobs of other workflows" in (check.summary or "")
    world.github.actions.finish(others[0])
    await world.settle()  # no time passes
    assert len(dispatched(world)) == 1
    await world.pass_time(45 * 60)
    await world.sweep()
    assert await offline(world) == []  # the label is busy: the other one runs on


async def test_a_job_never_goes_back_to_running_when_webhooks_are_shuffled(world: World) -> None:
    world.github.people.push_branch("maintainer", {".github/workflows/other.yml": OTHER})
    await world.settle()
    first = world.open_pull(path="README.md")
    await world.settle()
    for seed in range(4):
        world.github.deliveries.hold()
        run = world.github.actions.native(first, "other.yml")
        world.github.actions.start(run)
        world.github.actions.finish(run)
        world.github.deliveries.shuffle(seed)
        world.github.deliveries.release()
        await world.settle()
    for number in range(2):
        world.open_pull(path=f"verl/{number}.py")
    await world.settle()
    assert len(dispatched(world)) == 2


async def test_a_job_whose_end_is_never_told_is_forgotten_after_a_day_and_pruned_after_two(
    world: World,
) -> None:
    _, others = await other_jobs(world, 3)
    world.github.actions.finish(others.pop())
    world.open_pull()
    await world.settle()
    await world.pass_time(23 * 3600)
    assert dispatched(world) == []
    await world.pass_time(3600 + 60)
    assert len(dispatched(world)) == 1
    before = await kept(world)
    await world.pass_time(23 * 3600 - 60)
    await world.sweep()
    assert await kept(world) == before
    await world.pass_time(2 * 3600)
    await world.sweep()
    assert await kept(world) < before
    written = world.bot.parts.store.transactions
    await world.bot.step("sweeper")()
    assert world.bot.parts.store.transactions == written  # a look that finds nothing due


async def test_a_run_whose_end_a_list_told_leaves_no_job_behind(world: World) -> None:
    """The webhooks of a job's end are lost, and with them what would free its label."""
    first = world.open_pull()
    await world.settle()
    run = world.only_run()
    world.github.actions.start(run)
    await world.settle()
    lost = {"workflow_job", "workflow_run"}
    world.github.deliveries.drop_if(lambda delivery: delivery.event in lost)
    world.github.actions.finish(run)
    world.github.deliveries.drop_if(None)
    await world.pass_time(61)
    await world.sweep()
    assert world.check("unit", first.head_sha).conclusion == "success"
    for number in range(2):
        world.open_pull(path=f"verl/{number}.py")
    await world.settle()
    assert len(dispatched(world)) == 3


async def test_a_label_with_no_runner_is_alarmed_once_until_a_job_starts(world: World) -> None:
    pull = world.open_pull()
    await world.settle()
    await world.pass_time(29 * 60)
    assert await offline(world) == []
    with capture_logs() as logs:
        for _ in range(5):
            await world.pass_time(60)
            await world.sweep()
    alarms = [line for line in logs if line["event"] == "a runner label looks offline"]
    assert [line["label"] for line in alarms] == [LABEL]
    [told] = await offline(world)
    assert told["label"] == LABEL
    await world.pass_time(60)
    summary = world.check("unit", pull.head_sha).summary or ""
    assert f"o job has started on {LABEL} since" in summary
    world.github.actions.start(world.only_run())
    await world.settle()
    await world.sweep()
    assert await offline(world) == []
    await world.pass_time(61)
    assert "look offline" not in (world.check("unit", pull.head_sha).summary or "")


async def test_the_gauges_are_counted_anew_after_15_s(world: World) -> None:
    runs = world.bot.parts.metrics.runs
    await world.bot.step("sweeper")()
    world.open_pull()
    await world.settle()
    await world.bot.step("sweeper")()
    assert not next(iter(runs.collect())).samples
    await world.pass_time(15)
    await world.bot.step("sweeper")()
    assert [sample.value for sample in next(iter(runs.collect())).samples] == [1]


async def offline(world: World) -> list[dict[str, Any]]:
    """Return what /api/v1/health lists, where the gauge agrees."""
    health = await world.bot.parts.store.health.counts(world.clock.now())
    metric = next(iter(world.bot.parts.metrics.offline.collect()))
    if health.offline:
        await world.bot.step("sweeper")()
        metric = next(iter(world.bot.parts.metrics.offline.collect()))
    assert len(metric.samples) == len(health.offline)
    return [{"label": offline.label, "since": offline.since} for _, offline in health.offline]


async def kept(world: World) -> int:
    query = text("SELECT count(*) FROM workflow_jobs")
    return int(await world.bot.parts.store._db.read(lambda conn: conn.scalar(query)))
