"""Supervisors as seen from the service: started, told alive from dead, reaped.

Liveness is the lock that a supervisor holds, not its pid: pids are used again, and a supervisor
may be an earlier life's child.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from pathlib import Path
from typing import Any

# Isolated and without site-packages: a supervisor lives as long as its job, and there may be many.
ROOT = Path(__file__).parents[2]
START = """
import sys
sys.path.append(sys.argv[1])
from bot.submitter.supervise import main
sys.exit(main(sys.argv[2]))
"""


class Children:
    """The supervisors that this process has started, by the folder of their job."""

    def __init__(self) -> None:
        self._pids: dict[Path, int] = {}

    def start(self, folder: Path) -> None:
        """Start a supervisor in a session of its own; no pipe ties it to us."""
        argv = [sys.executable, "-I", "-S", "-c", START, str(ROOT), str(folder)]
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        actions: list[Any] = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(folder / "supervisor.log"), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        environ = {"LANG": "C.UTF-8"}
        self._pids[folder] = os.posix_spawn(
            sys.executable, argv, environ, file_actions=actions, setsid=True
        )

    def reap(self) -> None:
        """Forget the children that have ended."""
        for folder, pid in list(self._pids.items()):
            ended = True
            with contextlib.suppress(ChildProcessError):
                ended = os.waitpid(pid, os.WNOHANG)[0] != 0
            if ended:
                del self._pids[folder]

    def is_alive(self, folder: Path) -> bool:
        """Return True if a job has a supervisor, ours or one of an earlier life."""
        if folder in self._pids:  # it may not have come to its lock yet
            return True
        with (folder / "lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False
