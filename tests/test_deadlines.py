"""Deadlines of one length share a timer of the loop."""

import asyncio
from functools import partial
from typing import Any

from bot.deadlines import Deadlines


def timers() -> int:
    loop: Any = asyncio.get_running_loop()
    return sum(not timer.cancelled() for timer in loop._scheduled)


async def test_what_is_not_stopped_is_called_back_in_order() -> None:
    rung: list[str] = []
    last = asyncio.Event()
    deadlines = Deadlines(0.01)
    rings = [partial(rung.append, name) for name in "abc"]
    for ring in rings:
        deadlines.start(ring)
    deadlines.stop(rings[1])
    deadlines.start(rings[0])
    deadlines.start(last.set)
    await last.wait()
    assert rung == ["c", "a"]


async def test_a_thousand_deadlines_are_one_timer() -> None:
    before = timers()
    deadlines = Deadlines(3600)
    for n in range(1000):
        deadlines.start(partial(int, n))
    assert timers() == before + 1


async def test_one_that_fails_stops_no_other() -> None:
    said: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, more: said.append(more))
    last = asyncio.Event()
    deadlines = Deadlines(0)

    def fails() -> None:
        raise ValueError

    deadlines.start(fails)
    deadlines.start(last.set)
    await last.wait()
    assert len(said) == 1


async def test_deadlines_after_a_quiet_time_are_kept() -> None:
    deadlines = Deadlines(0)
    for _ in range(2):
        rung = asyncio.Event()
        deadlines.start(rung.set)
        await rung.wait()
