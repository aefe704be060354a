"""The last resort: kills what a part of the demo started and could not stop itself."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

LOOK_S = 0.05


def temporary_of(folder: Path) -> Path:
    """Return the TMPDIR of every process that the demo starts. Jobs and steps inherit it."""
    return folder / "tmp"


def left_by(folder: Path) -> list[int]:
    """Return the processes that a demo started and that still live.

    They are known by their TMPDIR. A supervisor of a job has no such variable: it is known by its
    argument. A process that only reads a file in the folder is not counted.
    """
    variable = b"\0TMPDIR=" + os.fsencode(temporary_of(folder)) + b"\0"
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            environ = b"\0" + (entry / "environ").read_bytes()
            command = (entry / "cmdline").read_bytes()
            supervises = b"bot.submitter.supervise" in command and os.fsencode(folder) in command
            if variable in environ or supervises:
                found.append(int(entry.name))
    return found


async def kill_strays(folder: Path) -> None:
    """Kill what is left, and what it starts meanwhile, until nothing is."""
    while left := left_by(folder):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(LOOK_S)
