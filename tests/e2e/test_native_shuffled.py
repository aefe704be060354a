"""However GitHub's webhooks of a native suite come, the end is the same."""

from bot.sim.deliveries import Delivery
from bot.sim.model import Pull
from tests.e2e.native_suites import FILE, SUITE, check, natives, pushed, stands
from tests.e2e.world import World

PATIENCE = 4  # rounds of a minute: a late pull request, a list poll, a place in the pace of writes
ENDS = ("success", "failure")


def workflow(delivery: Delivery) -> bool:
    return delivery.event.startswith("workflow_")


def lost_end(delivery: Delivery) -> bool:
    return workflow(delivery) and delivery.payload()["action"] == "completed"


async def life(world: World, number: int) -> Pull:
    """Let a pull request come and its workflow run and end."""
    pull = pushed(world, path=f"npu/{number}.py")
    run = world.github.actions.native(pull, FILE)
    world.github.actions.start(run)
    world.github.actions.finish(run, ENDS[number % 2], log="ValueError: x")
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


async def test_shuffled_doubled_and_lost_webhooks_come_to_the_same_end(world: World) -> None:
    await natives(world)
    deliveries, lives = world.github.deliveries, []
    for seed in range(4):
        deliveries.hold()
        lives.append(await life(world, seed))
        if seed % 3 == 0:
            deliveries.duplicate(3)
        deliveries.shuffle(seed)
        deliveries.release()
        await world.settle()
    for number, lost in enumerate((workflow, workflow, lost_end, lost_end), len(lives)):
        deliveries.drop_if(lost)
        lives.append(await life(world, number))
        await world.settle()
    deliveries.drop_if(None)
    await rest(world)
    for number, pull in enumerate(lives):
        await agrees(world, pull, ENDS[number % 2])
