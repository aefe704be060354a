"""A sandbox without processes: it says what each call is to end in, and counts them."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple

from bot.ports.sandbox import Done, Stopped, StoppedBy

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class ScriptedSandbox:
    """Does the work at once, unless the next call is to be stopped or costs more."""

    def __init__(self, *ends: StoppedBy | float) -> None:
        """``ends`` are those of the next calls: why it is stopped, or the seconds it takes."""
        self.calls: list[tuple[str, str]] = []  # owners, and names of functions
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self._ends = list(ends)

    async def run(self, owner: str, work: Callable[[*Ts], T], *args: *Ts) -> Done[T] | Stopped:
        self.calls.append((owner, getattr(work, "__name__", "")))
        self.begun.set()
        await self.may_end.wait()
        end: Any = self._ends.pop(0) if self._ends else 0.0
        return Stopped(end) if isinstance(end, StoppedBy) else Done(work(*args), end)
