"""The loops of a process: what they share, how they run, and how they stop."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.core.planning.attempts import AttemptMaker
from bot.ports.clock import Clock
from bot.ports.errors import is_told
from bot.ports.github import GitHub
from bot.ports.wake import Topic, Wake
from bot.services.events.long_lists import LongLists
from bot.services.events.strangers import Strangers
from bot.services.policies import PolicyReader
from bot.services.runs.job_lists import JobLists
from bot.store import Store
from bot.telemetry import Log, Metrics, get_log

POLL_S = 1.0  # how often the clock's loops step: one finds rows that became due, and lost wakes
STUCK_AFTER = timedelta(minutes=15)  # a step that reads a large log may take minutes
_PAUSE_S = 1.0  # after a step raised
LEASE_S = 30  # how long a claimed row is ours; a dead replica's rows are free after it
STOP_WITHIN_S = 25.0  # how long a step may go on after SIGTERM; supervisors kill after 30 s


class Worker:
    """The name under which this process takes leases, and what it does when a step raises."""

    def __init__(self, owner: str, metrics: Metrics, *, strict: bool = False) -> None:
        """With ``strict`` an error is raised, not logged: a test must see it."""
        self.owner = owner
        self.metrics = metrics
        self.strict = strict

    def failed(self, loop: str, error: Exception, log: Log) -> None:
        """Count an unforeseen error and log it with its traceback."""
        if self.strict:
            raise error
        self.metrics.loop_errors.labels(loop).inc()
        log.error("a step raised", loop=loop, exc_info=error)


@dataclass(frozen=True, slots=True)
class Deps:
    """What all services of a process share."""

    store: Store
    github: GitHub
    clock: Clock
    wake: Wake
    worker: Worker
    new_id: Callable[[], str]  # an id that sorts by its time
    policies: PolicyReader
    long_lists: LongLists
    strangers: Strangers
    job_lists: JobLists

    async def wake_due(self) -> bool:
        """Wake the loops that have due rows: one read instead of a claim of each idle loop."""
        self.wake.poke(*await self.store.due(self.clock.now()))
        return False


class Service:
    """A use case: it has what all services of a process share, each part by its name."""

    def __init__(self, deps: Deps) -> None:
        self._store = deps.store
        self._github = deps.github
        self._clock = deps.clock
        self._wake = deps.wake
        self._worker = deps.worker
        self._new_id = deps.new_id
        self._policies = deps.policies
        self._long_lists = deps.long_lists
        self._strangers = deps.strangers
        self._job_lists = deps.job_lists

    def _maker(self) -> AttemptMaker:
        """Return a maker of attempts that begin now."""
        return AttemptMaker(self._clock.now(), self._new_id)


@dataclass(frozen=True, slots=True)
class LoopSpec:
    """One loop: its step, and the topic that wakes it (None: only the clock wakes it)."""

    name: str
    step: Callable[[], Awaitable[bool]]
    topic: Topic | None


class WorkerPool:
    """Runs each loop in a task of its own."""

    def __init__(self, loops: list[LoopSpec], wake: Wake, worker: Worker, clock: Clock) -> None:
        self.loops = loops
        self._wake = wake
        self._worker = worker
        self._clock = clock
        self._began_at: dict[str, datetime] = {}
        self._resting: set[str] = set()  # loops that wait for a wake: hours, if nothing happens
        self._log = get_log("loops")

    def stuck(self) -> tuple[str, ...]:
        """Return the names of the loops whose step takes too long."""
        old = self._clock.now() - STUCK_AFTER
        return tuple(
            name for name, at in self._began_at.items() if at <= old and name not in self._resting
        )

    def ages_s(self) -> dict[str, float]:
        """Return for each loop how long ago its last step began."""
        now = self._clock.now()
        return {name: (now - at).total_seconds() for name, at in self._began_at.items()}

    async def run(self, stop: asyncio.Event) -> None:
        """Run all loops until ``stop`` is set, then wait for each to finish its step."""
        tasks = [
            asyncio.create_task(self._drive(loop, stop), name=loop.name) for loop in self.loops
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

    async def _drive(self, loop: LoopSpec, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self._began_at[loop.name] = self._clock.now()
            busy = await self._step(loop)
            if not busy and not stop.is_set():
                await self._pause(loop, stop)

    async def _step(self, loop: LoopSpec) -> bool:
        try:
            return await loop.step()
        except Exception as error:  # noqa: BLE001  a loop goes on after any error
            if not is_told(error):
                self._worker.failed(loop.name, error, self._log)
            await self._clock.sleep(_PAUSE_S)
            return False

    async def _pause(self, loop: LoopSpec, stop: asyncio.Event) -> None:
        """Wait for a wake, which a stop is too; without a topic for the time of a poll."""
        if loop.topic is not None:
            self._resting.add(loop.name)
            await self._wake.wait(loop.topic)
            self._resting.remove(loop.name)
            return
        try:
            async with asyncio.timeout(POLL_S):
                await stop.wait()
        except TimeoutError:
            return
