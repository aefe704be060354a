"""Runs the loops of a process, tells which are stuck, and stops them between two steps."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.ports.clock import Clock
from bot.ports.wake import Topic, Wake
from bot.services.loop import Worker
from bot.telemetry import get_log

POLL_S = 1.0  # a lost wake costs this much; due times are found so as well
STUCK_AFTER = timedelta(minutes=15)  # a step that reads a large log may take minutes
_PAUSE_S = 1.0  # after a step that raised
STOP_WITHIN_S = 25.0  # what a step may take after SIGTERM; supervisors kill at 30 s


@dataclass(frozen=True, slots=True)
class LoopSpec:
    """One loop: its step, and what wakes it (None: only the clock)."""

    name: str
    step: Callable[[], Awaitable[bool]]
    topic: Topic | None


class WorkerPool:
    """Owns one task a loop."""

    def __init__(self, turns: list[LoopSpec], wake: Wake, loop: Worker, clock: Clock) -> None:
        self.turns = turns
        self._wake = wake
        self._loop = loop
        self._clock = clock
        self._round: dict[str, datetime] = {}
        self._log = get_log("loops")

    def stuck(self) -> tuple[str, ...]:
        """Return the loops that have not come round for too long."""
        now = self._clock.now()
        return tuple(name for name, at in self._round.items() if now - at >= STUCK_AFTER)

    def ages_s(self) -> dict[str, float]:
        """Return how long ago each loop of this process came round."""
        now = self._clock.now()
        return {name: (now - at).total_seconds() for name, at in self._round.items()}

    async def run(self, stop: asyncio.Event) -> None:
        """Run every loop until ``stop``, then let each finish its step."""
        tasks = [
            asyncio.create_task(self._drive(turn, stop), name=turn.name) for turn in self.turns
        ]
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
        stop.set()
        stopping.cancel()
        self._wake.poke(*Topic)
        _, late = await asyncio.wait(tasks, timeout=STOP_WITHIN_S)
        for task in late:
            self._log.warning("a step took too long to stop", loop=task.get_name())
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _drive(self, turn: LoopSpec, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self._round[turn.name] = self._clock.now()
            busy = await self._step(turn)
            if not busy and not stop.is_set():
                await self._pause(turn, stop)

    async def _step(self, turn: LoopSpec) -> bool:
        try:
            return await turn.step()
        except Exception as error:  # noqa: BLE001  a loop goes on, whatever one step met
            self._loop.failed(turn.name, error, self._log)
            await self._clock.sleep(_PAUSE_S)
            return False

    async def _pause(self, turn: LoopSpec, stop: asyncio.Event) -> None:
        """Wait for a wake, a poll's time, or the stop."""
        if turn.topic is not None:
            await self._wake.wait(turn.topic, POLL_S)
            return
        try:
            async with asyncio.timeout(POLL_S):
                await stop.wait()
        except TimeoutError:
            return
