"""Real processes beside a test: each in a group of its own, heard by its log, always stopped."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ")  # neither a proxy nor settings of a real bot


@dataclass(frozen=True)
class Child:
    """A started process; `log` gets both of its outputs."""

    process: asyncio.subprocess.Process
    log: Path

    async def heard(self, read: Callable[[str], T | None], *, within_s: float) -> T:
        """Wait for a line that `read` makes something of."""
        async with asyncio.timeout(within_s):
            while True:
                ended = self.process.returncode is not None
                text = self.log.read_text(encoding="utf-8", errors="replace")
                for line in text.split("\n")[:-1]:
                    if (found := read(line)) is not None:
                        return found
                assert not ended, text
                await asyncio.sleep(0.05)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and to all that it started in its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


@dataclass
class Children:
    """The processes of one test, all working below `folder`."""

    folder: Path
    started: list[Child] = field(default_factory=list)

    async def start(self, name: str, *argv: str, env: dict[str, str]) -> Child:
        """Start `python -m bot` with these arguments."""
        log = self.folder / f"{name}.log"
        kept = {key: os.environ[key] for key in INHERITED if key in os.environ}
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bot", *argv),
                cwd=self.folder,
                env={**kept, "PYTHONPATH": str(Path(__file__).parents[2]), **env},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                umask=0,  # the least that a process may rely on
            )
        self.started.append(Child(process, log))
        return self.started[-1]


@contextlib.asynccontextmanager
async def children(folder: Path) -> AsyncIterator[Children]:
    """Give processes a home; whatever happens, none of them outlives it."""
    made = Children(folder)
    try:
        yield made
    finally:
        for child in made.started:
            child.signal(signal.SIGKILL)
        await asyncio.gather(*(child.process.wait() for child in made.started))
