"""The processes of steps: each a group of its own, stopped in the way of GitHub's runner."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.sim.clock import Clock

EOF_WAIT_S = 0.5  # a background child of a finished step may hold its output open
CHUNK = 65_536


@dataclass(slots=True)
class Stopping:
    """How a step is stopped: SIGINT, SIGTERM after `term_s`, SIGKILL `kill_s` later."""

    clock: Clock
    term_s: float = 7.5
    kill_s: float = 2.5
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    forced: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class Processes:
    """The process groups that a job has started and that may still live."""

    groups: list[int] = field(default_factory=list)

    def kill(self) -> None:
        """Kill the groups that are left."""
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        self.groups.clear()

    def forget_ended(self, group: int) -> None:
        """Forget a group without processes, before its number can be used again."""
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            self.groups.remove(group)


@dataclass(frozen=True, slots=True)
class Command:
    """A command, its folder and its environment."""

    argv: Sequence[str]
    folder: Path
    env: Mapping[str, str]


async def execute(
    command: Command, on_line: Callable[[str], None], *, stopping: Stopping, owned: Processes
) -> int:
    """Run a command to its end. Return its exit code, the negative number of a signal for one."""
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        cwd=command.folder,
        env=dict(command.env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    owned.groups.append(process.pid)
    assert process.stdout is not None
    pump = asyncio.create_task(_pump(process.stdout, on_line))
    stopper = asyncio.create_task(_stop(process.pid, stopping))
    try:
        code = await process.wait()
        await asyncio.wait({pump}, timeout=EOF_WAIT_S)
    except asyncio.CancelledError:
        _signal(process.pid, signal.SIGKILL)
        await process.wait()
        raise
    finally:
        for task in (pump, stopper):
            task.cancel()
        await asyncio.gather(pump, stopper, return_exceptions=True)
        owned.forget_ended(process.pid)
    return code


async def _pump(stream: asyncio.StreamReader, on_line: Callable[[str], None]) -> None:
    rest = b""
    while chunk := await stream.read(CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            on_line(line.decode("utf-8", "replace").removesuffix("\r"))
    if rest:
        on_line(rest.decode("utf-8", "replace"))


async def _stop(group: int, stopping: Stopping) -> None:
    asked = asyncio.create_task(stopping.asked.wait())
    forced = asyncio.create_task(stopping.forced.wait())
    try:
        await asyncio.wait({asked, forced}, return_when=asyncio.FIRST_COMPLETED)
        if not forced.done():
            await _ask(group, stopping, forced)
        _signal(group, signal.SIGKILL)
    finally:
        asked.cancel()
        forced.cancel()


async def _ask(group: int, stopping: Stopping, forced: asyncio.Task[bool]) -> None:
    for number, wait_s in ((signal.SIGINT, stopping.term_s), (signal.SIGTERM, stopping.kill_s)):
        _signal(group, number)
        pause = asyncio.create_task(stopping.clock.sleep(wait_s))
        try:
            await asyncio.wait({pause, forced}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pause.cancel()
        if forced.done():
            return


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
