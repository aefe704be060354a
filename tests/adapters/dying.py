"""Calls that end or stop their process; a small module, because each process imports it."""

import os
import signal
from pathlib import Path


def die_once(file: str) -> str:
    """End the process as the kernel does when memory is short, but only the first time."""
    if not Path(file).exists():
        Path(file).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def stand_still(file: str) -> None:
    """Say that the call has begun, and never return."""
    Path(file).touch()
    signal.pause()


def shrink_shared_memory() -> None:
    """Take away the memory that the service writes calls into, as hostile code would."""
    for number in map(str, range(256)):
        path = Path("/proc/self/fd", number)
        if path.is_symlink() and "memfd:" in str(path.readlink()):
            os.truncate(path, 0)
