"""Child processes of the demo: each in a group of its own, heard by its log, always stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bot.cli.demo.errors import DemoError

T = TypeVar("T")

LOOK_S = 0.05
STOP_S = 8.0  # the submitter gives its jobs 3 s, the bot finishes its steps
TAIL_LINES = 30


@dataclass(frozen=True, slots=True)
class Child:
    """A started process; `log` gets both of its outputs."""

    name: str
    process: asyncio.subprocess.Process
    log: Path

    def lines(self) -> list[str]:
        """Return the whole lines it has written so far."""
        return self._text().split("\n")[:-1]

    def tail(self) -> str:
        """Return the end of what it has written."""
        return "\n".join(self._text().splitlines()[-TAIL_LINES:])

    def _text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    async def heard(self, read: Callable[[str], T | None], *, within_s: float) -> T:
        """Wait for a line that `read` makes something of; raise `DemoError` if none comes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while True:
                    ended = self.process.returncode is not None
                    for line in self.lines():
                        if (found := read(line)) is not None:
                            return found
                    if ended:
                        message = (
                            f"{self.name} ended with {self.process.returncode}:\n{self.tail()}"
                        )
                        raise DemoError(message)
                    await asyncio.sleep(LOOK_S)
        message = f"{self.name} did not say where it listens within {within_s:g} s:\n{self.tail()}"
        raise DemoError(message)


@dataclass(slots=True)
class Children:
    """The processes of one demo, all working below `folder`."""

    folder: Path
    stop_s: float = STOP_S
    started: list[Child] = field(default_factory=list)

    async def start(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> Child:
        """Start a process in a session of its own: the terminal's Ctrl-C does not reach it."""
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=self.folder,
                env=dict(env),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        child = Child(name, process, log)
        self.started.append(child)
        return child

    async def stop(self) -> None:
        """Stop every process, last started first to be told; kill what does not go."""
        for child in reversed(self.started):
            _signal(child, signal.SIGTERM)
        waits = [asyncio.ensure_future(child.process.wait()) for child in self.started]
        if waits:
            await asyncio.wait(waits, timeout=self.stop_s)
        for child in self.started:
            _signal(child, signal.SIGKILL)
        await asyncio.gather(*waits)
        await self._sweep()

    async def _sweep(self) -> None:
        """Kill what a part that had to be killed had started for itself, and see it gone."""
        while left := left_by(self.folder):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(LOOK_S)


def _signal(child: Child, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.process.pid, number)


def temporary_of(folder: Path) -> Path:
    """Return the TMPDIR of all processes of a demo; jobs and steps inherit it."""
    return folder / "tmp"


def left_by(folder: Path) -> list[int]:
    """Return the processes that a demo started and that still live.

    They are known by their TMPDIR; a supervisor of a job inherits nothing, and by its argument.
    Whoever only reads a log in the folder is none of them.
    """
    variable = b"\0TMPDIR=" + os.fsencode(temporary_of(folder)) + b"\0"
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            environ = b"\0" + (entry / "environ").read_bytes()
            command = (entry / "cmdline").read_bytes()
            supervises = b"supervise.py\0" in command and os.fsencode(folder) in command
            if variable in environ or supervises:
                found.append(int(entry.name))
    return found


@contextlib.asynccontextmanager
async def children(folder: Path, stop_s: float = STOP_S) -> AsyncIterator[Children]:
    """Give processes a home; whatever happens, none of them outlives it."""
    made = Children(folder, stop_s)
    try:
        yield made
    finally:
        await made.stop()
