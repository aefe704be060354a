"""Webhooks shuffled, doubled and lost: the end is the same."""

import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.sim.deliveries import headers_for
from bot.sim.model import Pull
from tests.e2e.world import World

PAYLOADS = Path(__file__).parents[2] / ".." / "shared" / "github" / "payloads"


def ended(world: World, pull: Pull, conclusion: str) -> bool:
    gate = world.gate(pull.head_sha)
    check = world.check("unit", pull.head_sha)
    return (gate.conclusion, check.conclusion) == (conclusion, conclusion)


async def mixed(world: World, seed: int) -> None:
    """Send what waits in another order, part of it twice."""
    pending = world.github.deliveries.pending
    chance = random.Random(seed)
    pending += [delivery for delivery in list(pending) if chance.random() < 0.5]
    world.github.deliveries.shuffle(seed)
    await world.github.deliveries.flush()
    await world.settle()


async def nets(world: World) -> None:
    """Let time pass until every safety net has looked."""
    for seconds in (31, 61, 301, 3601):
        await world.clock.advance(seconds)
        await world.sweep()
        await world.github.deliveries.flush()
        await world.settle()


async def test_shuffled_and_doubled_webhooks_end_alike(world: World) -> None:
    world.github.deliveries.hold()
    pulls = [world.open_pull(path=f"verl/{number}.py") for number in range(2)]
    await mixed(world, 0)
    for pull in pulls:
        world.github.people.push(pull, {"verl/a.py": f"{pull.number}"})
    await mixed(world, 1)
    heads = [pull.head_sha for pull in pulls]
    for run in world.github.runs():
        done = run.cancelled or run.inputs["sha"] not in heads
        if run.status != "completed":
            world.github.actions.finish(run, "cancelled" if done else "success")
    await mixed(world, 0)
    world.github.deliveries.release()
    await nets(world)
    for run in world.github.runs():
        if run.status != "completed":  # it had to wait for a slot
            world.github.actions.finish(run, "success")
    await nets(world)
    dispatched = [run.inputs["sha"] for run in world.github.runs()]
    for pull in pulls:
        assert dispatched.count(pull.head_sha) == 1
        assert ended(world, pull, "success")


async def test_lost_webhooks_are_made_good_by_the_nets(world: World) -> None:
    chance = random.Random(0)
    world.github.deliveries.drop_if(lambda _: chance.random() < 0.6)
    pulls = [world.open_pull(path=f"verl/{number}.py") for number in range(2)]
    await world.settle()
    await nets(world)
    for run in world.github.runs():
        world.github.actions.finish(run, "success")
    await world.settle()
    world.github.deliveries.drop_if(None)
    await nets(world)
    dispatched = [run.inputs["sha"] for run in world.github.runs()]
    assert sorted(dispatched) == sorted(pull.head_sha for pull in pulls)
    for pull in pulls:
        assert ended(world, pull, "success")


async def test_a_lost_close_is_seen_by_looking_and_so_is_a_pull_request_that_is_gone(
    world: World,
) -> None:
    gone = world.open_pull()
    await world.settle()
    pull = world.open_pull(path="verl/b.py")
    await world.settle()
    world.github.deliveries.drop_if(lambda delivery: delivery.event == "pull_request")
    world.github.people.close(pull)
    del world.github.state.pulls[pull.repo.id, gone.number]  # a spammer's are shown to nobody
    await world.settle()
    await nets(world)
    assert [run.cancelled for run in world.github.runs()] == [True, True]
    assert "GitHub no longer shows the pull request" in str(
        world.check("unit", gone.head_sha).title
    )


async def test_github_down_for_an_hour_parks_nothing_and_all_is_done_afterwards(
    world: World,
) -> None:
    for kind in ("503", "secondary", "429", "drop"):
        world.github.fault(kind, "GET", "*/files*", times=3)
        world.github.fault(kind, "POST", "*/check-runs", times=2)
    pull = world.open_pull()
    for _ in range(12):
        await world.pass_time(300)
    health = await world.bot.parts.store.health.counts(world.clock.now())
    assert (health.deliveries_parked, health.deliveries_waiting) == (0, 0)
    await world.finish("success")
    await world.pass_time(61)
    assert ended(world, pull, "success")
    assert len(world.github.runs()) == 1


def examples() -> list[tuple[str, Any]]:
    if not PAYLOADS.is_dir():
        return []
    files = sorted(PAYLOADS.glob("*.json"))
    return [(file.name.partition(".")[0], json.loads(file.read_bytes())) for file in files]


@pytest.mark.skipif(
    not PAYLOADS.is_dir() and not os.environ.get("CI"), reason="the example payloads are not here"
)
async def test_example_payloads_shuffled_and_doubled_write_nothing_to_github(
    world: World,
) -> None:
    before = sum(call.method != "GET" for call in world.github.calls.counted())
    world.github.deliveries.hold()
    model = world.github.deliveries.sent[0]
    for number, (event, payload) in enumerate(examples()):
        body = json.dumps(payload).encode()
        world.github.deliveries.pending.append(
            replace(model, id=number + 10**6, guid=f"example-{number}", event=event, body=body)
        )
    await mixed(world, 0)
    sent = [one for one in world.github.deliveries.sent if one.guid.startswith("example-")]
    assert len(sent) >= 33
    assert {one.status_code for one in sent} <= {202, 422}
    assert sum(call.method != "GET" for call in world.github.calls.counted()) == before
    assert headers_for(model)["X-GitHub-Event"] == model.event
