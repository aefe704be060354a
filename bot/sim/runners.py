"""What jobs and runs wait for: a runner, and their turn in a concurrency group."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.sim.model import Run, State


@dataclass(slots=True)
class Runner:
    """A runner. It takes one job at a time."""

    id: int
    name: str
    labels: frozenset[str]
    busy: bool = False


@dataclass(slots=True)
class Runners:
    """All runners. Jobs wait in order for a runner that has all their labels."""

    state: State
    all: list[Runner] = field(default_factory=list)
    _waiting: list[tuple[frozenset[str], asyncio.Future[Runner]]] = field(default_factory=list)

    def register(self, label: str, slots: int) -> None:
        """Add `slots` runners that carry a label."""
        for number in range(1, slots + 1):
            labels = frozenset({label.lower(), "self-hosted", "linux"})
            self.all.append(Runner(self.state.new_id(), f"{label}-{number}", labels))
        self._match()

    async def acquire(self, labels: list[str]) -> Runner:
        """Wait for a free runner that fits."""
        future: asyncio.Future[Runner] = asyncio.get_running_loop().create_future()
        entry = (frozenset(label.lower() for label in labels), future)
        self._waiting.append(entry)
        self._match()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.release(future.result())
            elif entry in self._waiting:
                self._waiting.remove(entry)
            raise

    def release(self, runner: Runner) -> None:
        """Give a runner back."""
        runner.busy = False
        self._match()

    def _match(self) -> None:
        for wanted, future in list(self._waiting):
            if future.done():
                self._waiting.remove((wanted, future))
                continue
            for runner in self.all:
                if not runner.busy and wanted <= runner.labels:
                    runner.busy = True
                    future.set_result(runner)
                    self._waiting.remove((wanted, future))
                    break


@dataclass(slots=True)
class Group:
    """The run that runs and the run that waits."""

    running: Run | None = None
    waiting: tuple[Run, asyncio.Future[bool]] | None = None


@dataclass(slots=True)
class Groups:
    """All groups, by repository and lower-case name."""

    groups: dict[tuple[int, str], Group] = field(default_factory=dict)

    async def enter(
        self, run: Run, name: str, *, displace: bool, cancel: Callable[[Run], None]
    ) -> bool:
        """Wait for the group. Return `False` if a newer run replaced this one in the queue."""
        group = self.groups.setdefault((run.repo.id, name.lower()), Group())
        if group.running is None:
            group.running = run
            return True
        if displace:
            cancel(group.running)
        if group.waiting is not None and not group.waiting[1].done():
            group.waiting[1].set_result(False)
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        group.waiting = (run, future)
        return await future

    def leave(self, run: Run, name: str) -> None:
        """Give the group to the waiting run."""
        group = self.groups[(run.repo.id, name.lower())]
        if group.waiting is not None and group.waiting[0] is run:
            group.waiting = None
        if group.running is not run:
            return
        group.running = None
        if group.waiting is not None:
            group.running, future = group.waiting
            group.waiting = None
            if not future.done():
                future.set_result(True)
