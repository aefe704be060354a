"""Webhooks shuffled, doubled and lost, and two bots at once: the end is the same."""

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.sim.deliveries import headers_for
from bot.sim.model import Pull
from tests.databases import PostgresServer
from tests.e2e.world import GATE, World, open_world, start_bot

PAYLOADS = Path(__file__).parents[2] / ".." / "shared" / "github" / "payloads"
SEEDS = range(2)


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


@pytest.mark.parametrize("seed", SEEDS)
async def test_shuffled_and_doubled_webhooks_end_alike(world: World, seed: int) -> None:
    world.github.deliveries.hold()
    pull = world.open_pull()
    await mixed(world, seed)
    world.github.people.push(pull, {"verl/a.py": "2"})
    await mixed(world, seed)
    for run in world.github.runs():
        done = run.cancelled or run.inputs["sha"] != pull.head_sha
        if run.status != "completed":
            world.github.actions.finish(run, "cancelled" if done else "success")
    await mixed(world, seed)
    await nets(world)
    mine = [run for run in world.github.runs() if run.inputs["sha"] == pull.head_sha]
    assert len(mine) == 1
    assert ended(world, pull, "success")


@pytest.mark.parametrize("seed", SEEDS)
async def test_lost_webhooks_are_made_good_by_the_nets(world: World, seed: int) -> None:
    chance = random.Random(seed)
    world.github.deliveries.drop_if(lambda _: chance.random() < 0.6)
    pull = world.open_pull()
    await world.settle()
    await nets(world)
    run = world.only_run()
    world.github.actions.finish(run, "success")
    await world.settle()
    world.github.deliveries.drop_if(None)
    await nets(world)
    assert len(world.github.runs()) == 1
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
    assert "The pull request is gone" in str(world.check("unit", gone.head_sha).summary)


async def test_github_down_for_an_hour_parks_nothing_and_all_is_done_afterwards(
    world: World,
) -> None:
    for kind in ("503", "secondary", "429", "drop"):
        world.github.fault(kind, "GET", "*/files*", times=3)
        world.github.fault(kind, "POST", "*/check-runs", times=2)
    pull = world.open_pull()
    for _ in range(40):
        await world.pass_time(90)
    health = await world.bot.parts.store.health.counts(world.clock.now())
    assert (health.deliveries_parked, health.deliveries_waiting) == (0, 0)
    await world.finish("success")
    await world.pass_time(61)
    assert ended(world, pull, "success")
    assert len(world.github.runs()) == 1


@pytest.fixture
async def shared_world(tmp_path: Path, postgres_server: PostgresServer) -> AsyncIterator[World]:
    async with open_world(tmp_path, postgres_server.fresh()) as opened:
        opened.bots.append(await start_bot(opened))
        yield opened


@pytest.mark.postgres
async def test_two_replicas_at_once_dispatch_once_and_show_one_check(
    shared_world: World,
) -> None:
    world = shared_world
    pulls = [world.open_pull(path=f"verl/{n}.py", text=str(n)) for n in range(2)]
    for _ in range(30):
        await world.github.deliveries.idle()
        names = ("inbox", "runner", "reporter")
        await asyncio.gather(*(bot.step(name)() for bot in world.bots for name in names))
    await world.settle()
    for run in world.github.runs():
        world.github.actions.finish(run, "success")
    await world.settle()
    assert len(world.github.runs()) == 2
    app = world.github.state.the_app()
    for pull in pulls:
        assert ended(world, pull, "success")
        checks = [c.name for c in world.github.check_runs(pull.head_sha) if c.suite.app is app]
        assert sorted(checks) == ["Ascend / unit", GATE]


def examples() -> list[tuple[str, Any]]:
    if not PAYLOADS.is_dir():
        return []
    files = sorted(PAYLOADS.glob("*.json"))
    return [(file.name.partition(".")[0], json.loads(file.read_bytes())) for file in files]


@pytest.mark.skipif(
    not PAYLOADS.is_dir() and not os.environ.get("CI"), reason="the example payloads are not here"
)
@pytest.mark.parametrize("seed", SEEDS)
async def test_example_payloads_shuffled_and_doubled_write_nothing_to_github(
    world: World, seed: int
) -> None:
    before = sum(call.method != "GET" for call in world.github.calls.counted())
    world.github.deliveries.hold()
    model = world.github.deliveries.sent[0]
    for number, (event, payload) in enumerate(examples()):
        body = json.dumps(payload).encode()
        world.github.deliveries.pending.append(
            replace(model, id=number + 10**6, guid=f"example-{number}", event=event, body=body)
        )
    await mixed_leniently(world, seed)
    sent = [one for one in world.github.deliveries.sent if one.guid.startswith("example-")]
    assert len(sent) >= 33
    assert {one.status_code for one in sent} <= {202, 422}
    assert sum(call.method != "GET" for call in world.github.calls.counted()) == before
    assert headers_for(model)["X-GitHub-Event"] == model.event


async def mixed_leniently(world: World, seed: int) -> None:
    """Send them; whatever one leads to, a repository we can't read is tried again later."""
    chance = random.Random(seed)
    pending = world.github.deliveries.pending
    pending += [delivery for delivery in list(pending) if chance.random() < 0.5]
    world.github.deliveries.shuffle(seed)
    await world.github.deliveries.flush()
    await world.settle()
