"""The loops of a process: one broken step stops nothing, and a stop waits for steps under way."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from bot.ports.wake import Topic
from bot.services.workers import LoopSpec, Worker, WorkerPool
from bot.sim import ManualClock
from bot.store.wake import LocalWake
from bot.telemetry import Metrics

Step = Callable[[], Awaitable[bool]]


class Skipping(ManualClock):
    """A pause after an error passes at once."""

    async def sleep(self, seconds: float) -> None:
        await self.advance(seconds)


def made(*steps: Step, strict: bool = False) -> tuple[WorkerPool, LocalWake, Metrics]:
    wake, metrics = LocalWake(), Metrics()
    turns = [LoopSpec(f"loop-{n}", step, Topic.RUNNER) for n, step in enumerate(steps)]
    return WorkerPool(turns, wake, Worker("me", metrics, strict=strict), Skipping()), wake, metrics


async def test_a_step_that_raises_is_counted_and_the_loop_goes_on() -> None:
    stop, calls = asyncio.Event(), [0]

    async def step() -> bool:
        calls[0] += 1
        if calls[0] < 4:
            raise RuntimeError("broken")
        stop.set()
        return False

    loops, wake, metrics = made(step)
    running = asyncio.create_task(loops.run(stop))
    async with asyncio.timeout(60):
        while not stop.is_set():
            wake.poke(Topic.RUNNER)
            await asyncio.sleep(0)
        await running
    assert calls[0] == 4
    assert metrics.loop_errors.labels("loop-0")._value.get() == 3


async def test_under_test_a_step_that_raises_ends_the_run_with_its_error() -> None:
    async def step() -> bool:
        raise RuntimeError("broken")

    loops, _, _ = made(step, strict=True)
    with pytest.raises(RuntimeError, match="broken"):
        await loops.run(asyncio.Event())


async def test_a_busy_loop_does_not_starve_another() -> None:
    stop, other = asyncio.Event(), [0]

    async def busy() -> bool:
        await asyncio.sleep(0)
        return True

    async def meek() -> bool:
        other[0] += 1
        if other[0] == 5:
            stop.set()
        await asyncio.sleep(0)
        return other[0] < 5

    loops, _, _ = made(busy, meek)
    async with asyncio.timeout(60):
        await loops.run(stop)
    assert other[0] == 5


async def test_a_stop_lets_a_step_under_way_finish() -> None:
    stop, begun, go_on, done = asyncio.Event(), asyncio.Event(), asyncio.Event(), []

    async def step() -> bool:
        begun.set()
        await go_on.wait()
        done.append("written")
        return True

    loops, _, _ = made(step)
    running = asyncio.create_task(loops.run(stop))
    await begun.wait()
    stop.set()
    await asyncio.sleep(0)
    assert not running.done()
    go_on.set()
    async with asyncio.timeout(60):
        await running
    assert done == ["written"]


async def test_a_wake_is_taken_at_once() -> None:
    stop, steps, came = asyncio.Event(), [0], asyncio.Event()

    async def step() -> bool:
        steps[0] += 1
        came.set()
        return False

    loops, wake, _ = made(step)
    running = asyncio.create_task(loops.run(stop))
    async with asyncio.timeout(60):
        await came.wait()
        came.clear()
        wake.poke(Topic.RUNNER)
        await came.wait()
    stop.set()
    await running
    assert steps[0] >= 2
