"""The processes of steps and the log of their job. Steps are stopped as GitHub's runner does."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.sim.clock import Clock, log_stamp

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


COMMAND = re.compile(r"^::(?P<name>[a-z-]+)(?P<fields> [^:]*(?::(?!:)[^:]*)*)?::(?P<text>.*)$")
SHOWN = {"error": "##[error]", "warning": "##[warning]", "notice": "##[notice]"}
SHOWN |= {"group": "##[group]", "endgroup": "##[endgroup]", "debug": "##[debug]"}


class JobLog:
    """Appends lines to a list and masks secrets."""

    def __init__(self, clock: Clock, lines: list[str], secrets: list[str]) -> None:
        self._clock = clock
        self._lines = lines
        self._secrets = [secret for secret in secrets if secret]
        self._resume = ""  # commands are ignored until this token, "" if they are not

    def mask(self, secret: str) -> None:
        """Hide a value from now on."""
        if secret:
            self._secrets.append(secret)

    def write(self, text: str) -> None:
        """Add a line, with secrets masked."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        self._lines.append(f"{log_stamp(self._clock.now())} {text}")

    def error(self, text: str) -> None:
        """Add an error line, as the runner writes it."""
        self.write(f"##[error]{text}")

    def output(self, line: str) -> None:
        """Add a line that a step printed, and carry out a workflow command in it."""
        match = COMMAND.match(line)
        if self._resume or match is None:
            self._resume = "" if line == f"::{self._resume}::" else self._resume
            self.write(line)
        elif match["name"] == "stop-commands":
            self._resume = match["text"]
            self.write(line)
        elif match["name"] == "add-mask":
            self.mask(match["text"])
            self.write("***")
        elif match["name"] in SHOWN:
            self.write(SHOWN[match["name"]] + match["text"])
        else:
            self.error(f"workflow command ::{match['name']}:: is not simulated")

    def group(self, title: str, lines: list[str]) -> None:
        """Add a folded group."""
        self.write(f"##[group]{title}")
        for line in lines:
            self.write(line)
        self.write("##[endgroup]")
