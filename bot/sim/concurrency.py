"""Concurrency groups of workflows: one run runs, one waits, a newer one replaces the latter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.sim.model import Run


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
