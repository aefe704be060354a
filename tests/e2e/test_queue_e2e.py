"""Who starts first on a label with two slots, seen on GitHub."""

from sqlalchemy import func, select

from bot.adapters.store.tables import holds
from bot.core.plan import AuditEntry
from bot.core.queueing import Pause, Taken
from bot.services.runner import LEASE_S, needs_of
from bot.sim.model import Pull, Run
from tests.e2e.talk import say
from tests.e2e.world import LABEL, World, start_bot


async def pulls(world: World, count: int) -> list[Pull]:
    """Open pull requests, each seen before the next one; the first two take the slots."""
    opened = []
    for number in range(count):
        opened.append(world.open_pull(path=f"verl/{number}.py", text=str(number)))
        await world.pass_time(1)
    return opened


def started(world: World) -> list[str]:
    """Return the commits that were dispatched, in order."""
    return [str(run.inputs["sha"]) for run in world.github.runs()]


async def ends(world: World, run: Run) -> None:
    """Let a run start and end."""
    world.github.actions.start(run)
    await world.settle()
    world.github.actions.finish(run, "success")
    await world.settle()


async def test_who_is_asked_for_moves_up_and_a_pause_holds_until_it_is_resumed(
    world: World,
) -> None:
    one, two, third, fourth, fifth = await pulls(world, 5)
    assert started(world) == [one.head_sha, two.head_sha]
    first, second = world.github.runs()
    await say(world, fifth, "writer", "/ascend-e2e unit")
    await ends(world, first)
    assert started(world)[2:] == [fifth.head_sha]  # no time passed: its turn came by a poke
    store, now = world.bot.parts.store, world.clock.now()
    entry = AuditEntry(at=now, who="kim", what="pause", allowed=True, rule="operator")
    await store.pause(Pause(f"label:{LABEL}", "kim", "upgrade", None, now), entry)
    await ends(world, second)
    await world.pass_time(10)  # writes to GitHub are paced
    assert len(started(world)) == 3
    assert "is paused by kim: upgrade" in (world.check("unit", third.head_sha).title or "")
    await store.resume(f"label:{LABEL}", entry)
    await world.settle()
    assert started(world)[3:] == [third.head_sha]
    await ends(world, world.github.runs()[2])
    assert started(world)[4:] == [fourth.head_sha]


async def test_places_that_shift_are_written_once_an_interval(world: World) -> None:
    one, _, *waiting = await pulls(world, 6)
    await ends(world, world.github.runs()[0])
    await world.pass_time(61)
    before, at = updates(world), world.clock.now()
    for _ in range(2):  # two runs end within a minute, and so every place shifts twice
        await ends(world, world.github.runs()[-1])
        await world.pass_time(5)
    assert (world.clock.now() - at).total_seconds() < 60
    still = [pull for pull in waiting if pull.head_sha not in started(world)]
    for pull in still:
        key = world.check("unit", pull.head_sha).id
        assert updates(world).get(key, 0) - before.get(key, 0) <= 1
    assert still
    assert one.head_sha in started(world)


def updates(world: World) -> dict[int, int]:
    """Count the updates of each check run."""
    found: dict[int, int] = {}
    for call in world.github.calls:
        if call.method == "PATCH" and "/check-runs/" in call.path:
            key = int(call.path.rsplit("/", 1)[1])
            found[key] = found.get(key, 0) + 1
    return found


async def test_a_place_taken_by_a_bot_that_died_is_used_once(world: World) -> None:
    store = world.bot.parts.store
    pull = world.open_pull()
    claimed = None
    while claimed is None:  # only the inbox works, and who claims the run dies soon
        await world.github.deliveries.idle()
        await world.bot.step("inbox")()
        found = await store.claim_runs("dead", world.clock.now(), lease_s=LEASE_S, limit=9)
        claimed = next(iter(found), None)
    assert await store.take(claimed.run, needs_of(claimed.run), world.clock.now()) == Taken(0)
    await world.restart()
    await world.pass_time(LEASE_S + 1)
    assert started(world) == [pull.head_sha]
    async with world.bot.parts.store._db.read() as conn:
        assert await conn.scalar(select(func.count()).select_from(holds)) == 1


async def test_two_replicas_never_take_one_slot_twice(either_world: World) -> None:
    world = either_world
    world.bots.append(await start_bot(world))
    opened = [world.open_pull(path=f"verl/{n}.py", text=str(n)) for n in range(4)]
    await world.settle()
    for over in range(2):
        assert len(started(world)) == 2 + over
        await ends(world, world.github.runs()[over])
    assert sorted(started(world)) == sorted(pull.head_sha for pull in opened)
