"""However GitHub's webhooks of a native suite come, the end is the same."""

from collections.abc import Callable

import pytest

from bot.sim.deliveries import Delivery
from bot.sim.model import Pull
from tests.e2e.native_suites import FILE, SUITE, check, natives, pushed, stands
from tests.e2e.world import World

PATIENCE = 4  # rounds of a minute: a late pull request, a list poll, a place in the pace of writes


def workflow(delivery: Delivery) -> bool:
    return delivery.event.startswith("workflow_")


def lost_end(delivery: Delivery) -> bool:
    return workflow(delivery) and delivery.payload()["action"] == "completed"


async def life(world: World, number: int, conclusion: str) -> Pull:
    """Let a pull request come and its workflow run and end, all webhooks held back."""
    pull = pushed(world, path=f"npu/{number}.py")
    run = world.github.actions.native(pull, FILE)
    world.github.actions.start(run)
    world.github.actions.finish(run, conclusion, log="ValueError: x")
    return pull


async def rest(world: World) -> None:
    """Let time pass until nothing more is to come."""
    await world.settle()
    for _ in range(PATIENCE):
        await world.pass_time(61)
        await world.sweep()


async def agrees(world: World, pull: Pull, conclusion: str) -> None:
    """See one attempt, its check run and the gate end as GitHub's run did."""
    assert check(world, pull).conclusion == conclusion
    assert stands(world, pull)[:2] == ("completed", conclusion)
    repo_id = world.github.state.repo().id
    runs = await world.bot.parts.store.runs.at(repo_id, pull.head_sha)  # type: ignore[arg-type]
    assert [(item.run.suite, item.run.attempt) for item in runs] == [(SUITE, 1)]


async def test_shuffled_and_doubled_webhooks_come_to_the_same_end(world: World) -> None:
    await natives(world)
    lives = []
    for seed in range(5):
        conclusion = ("success", "failure")[seed % 2]
        world.github.deliveries.hold()
        lives.append((await life(world, seed, conclusion), conclusion))
        if seed % 3 == 0:
            world.github.deliveries.duplicate(3)
        world.github.deliveries.shuffle(seed)
        world.github.deliveries.release()
        await world.settle()
    await rest(world)
    for pull, conclusion in lives:
        await agrees(world, pull, conclusion)


@pytest.mark.parametrize("lost", [workflow, lost_end])
async def test_lost_webhooks_come_to_the_same_end(
    world: World, lost: Callable[[Delivery], bool]
) -> None:
    await natives(world)
    world.github.deliveries.drop_if(lost)
    lives = [
        (await life(world, number, conclusion), conclusion)
        for number, conclusion in enumerate(("success", "failure"))
    ]
    world.github.deliveries.drop_if(None)
    await rest(world)
    for pull, conclusion in lives:
        await agrees(world, pull, conclusion)
