"""The service's side of the worker processes: turns, limits, and what a death means.

A process starts with the first call that needs it, and is used again. One that broke a limit or
died is replaced with the next call; no state is lost, because each call brings all that it needs.
"""

import asyncio
import fcntl
import mmap
import os
import pickle
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any, TypeVar, TypeVarTuple

from bot.adapters.sandbox.worker import HEADER, SHARED_BYTES
from bot.ports.sandbox import Done, Stopped, StoppedBy
from bot.telemetry import get_log

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_TRIES = 2  # of a call whose process was killed from outside
_MINUTE_S = 60.0  # what an owner used longer ago does not count
_LARGE_BYTES = 4096  # smaller ones are as quick through the pipe
# A process that a log took over must not make it smaller: writing into it would then end us.
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
# What makes values of ours again; each only calls a class that is itself looked up here.
_PLAIN = frozenset(
    {("copyreg", "_reconstructor"), ("builtins", "object"), ("msgspec._utils", "rebuild")}
)


@dataclass(frozen=True, slots=True)
class CallLimits:
    """What one call may take, and how many run at once."""

    processes: int = 2
    cpu_s: float = 5.0
    """The dearest policy that is no error takes 1 s, a piece of the worst log 0.4 s."""
    memory_bytes: int = 1 << 30
    """Of addresses; the modules of a worker take 200 MB of them."""
    answer_s: float = 120.0
    """Of any time, for a process that is stopped or starved."""


@dataclass(frozen=True, slots=True)
class _Worker:
    """A process, and the memory in which it finds the large bytes of a call."""

    process: Process
    shared: mmap.mmap

    async def answer(self, call: bytes) -> bytes:
        """Make a call."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(HEADER.pack(len(call)) + call)
        await self.process.stdin.drain()
        (size,) = HEADER.unpack(await self.process.stdout.readexactly(HEADER.size))
        return await self.process.stdout.readexactly(size)

    async def end(self) -> None:
        """Kill the process and wait for its end."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.communicate()


class _Calls(pickle.Pickler):
    """Puts the large bytes of a call into shared memory: a pipe would copy them several times."""

    def __init__(self, call: BytesIO, shared: mmap.mmap) -> None:
        super().__init__(call, pickle.HIGHEST_PROTOCOL)
        self._shared = shared
        self._end = 0

    def persistent_id(self, value: Any) -> tuple[int, int] | None:
        """Return where the value is in the memory, None if it is not there."""
        if type(value) is not bytes or not _LARGE_BYTES <= len(value) <= SHARED_BYTES - self._end:
            return None
        begin, self._end = self._end, self._end + len(value)
        self._shared[begin : self._end] = value
        return begin, self._end


class WorkerProcesses:
    """The port's `Sandbox`; `open_sandbox` makes one."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._idle: list[_Worker] = []
        self._free = limits.processes
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []  # in the order of their coming
        self._working: Counter[str] = Counter()  # calls under way, by their owners
        self._spent: defaultdict[str, float] = defaultdict(float)  # seconds of this minute
        self._minute = 0.0
        self._log = get_log("sandbox")

    async def run(self, owner: str, work: Callable[[*Ts], T], *args: *Ts) -> Done[T] | Stopped:
        """Call a function in a process; see the port."""
        async with self._turn(owner):
            for _ in range(_TRIES):
                answer = await self._called(owner, (work, args))
                if answer != Stopped(StoppedBy.DIED):
                    break
            return answer

    async def close(self) -> None:
        """End the processes; no call may be under way."""
        for worker in self._idle:
            await worker.end()
        self._idle.clear()

    @asynccontextmanager
    async def _turn(self, owner: str) -> AsyncIterator[None]:
        """Wait for one of the places; among the waiting the owner who used least is next.

        One who has no call under way goes before one who has: what that uses is not known yet.
        """
        if self._free:
            self._free -= 1
        else:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append((owner, turn))
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._next()
                raise
        self._working[owner] += 1
        try:
            yield
        finally:
            self._working -= Counter((owner,))
            self._next()

    def _next(self) -> None:
        """Give a place to the next one who waits."""
        self._waiting = [(owner, turn) for owner, turn in self._waiting if not turn.done()]
        if not self._waiting:
            self._free += 1
            return
        chosen = min(self._waiting, key=lambda one: (self._working[one[0]], self._used(one[0])))
        self._waiting.remove(chosen)
        chosen[1].set_result(None)

    def _used(self, owner: str) -> float:
        """Return the seconds that an owner used in this minute."""
        now = asyncio.get_running_loop().time()
        if now - self._minute >= _MINUTE_S:
            self._spent.clear()
            self._minute = now
        return self._spent[owner]

    async def _called(self, owner: str, call: tuple[Any, ...]) -> Done[Any] | Stopped:
        """Make one call, and keep its process for the next one if it is well."""
        worker = self._idle.pop() if self._idle else await self._start()
        process, written = worker.process, BytesIO()
        try:
            _Calls(written, worker.shared).dump(call)
            async with asyncio.timeout(self._limits.answer_s):
                answer = await worker.answer(written.getvalue())
        except TimeoutError:
            process.kill()
            return await self._over(owner, process)
        except (OSError, EOFError):
            return await self._over(owner, process)
        except BaseException:  # nobody waits for the answer any more: no other call may get it
            await worker.end()
            raise
        self._idle.append(worker)
        kind, value, seconds = _Results(BytesIO(answer)).load()
        self._used(owner)
        self._spent[owner] += seconds
        if kind == "raised":
            raise RuntimeError(value)
        if kind == "done":
            return Done(value, seconds)
        self._log.warning("work was stopped", owner=owner, why=value, seconds=round(seconds, 1))
        return Stopped(StoppedBy(value))

    async def _over(self, owner: str, process: Process) -> Stopped:
        """Return what the death of a process means: a limit that C code broke, or any other."""
        await process.communicate()  # a signal to a dead process would take its exit code
        why = StoppedBy.TIME if process.returncode == -signal.SIGXCPU else StoppedBy.DIED
        self._spent[owner] += self._limits.cpu_s
        self._log.warning("a worker ended", owner=owner, why=why, code=process.returncode)
        return Stopped(why)

    async def _start(self) -> _Worker:
        limits, shared = self._limits, os.memfd_create("calls", os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(shared, SHARED_BYTES)
            fcntl.fcntl(shared, fcntl.F_ADD_SEALS, _SEALS)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bot.adapters.sandbox.worker"),
                *(str(limits.cpu_s), str(limits.memory_bytes), str(shared)),
                pass_fds=(shared,),
                stdin=PIPE,
                stdout=PIPE,
                env={"PYTHONPATH": os.pathsep.join(sys.path)},  # and none of the service's secrets
                start_new_session=True,  # Ctrl-C is for the service, which ends the workers itself
            )
            return _Worker(process, mmap.mmap(shared, SHARED_BYTES))
        finally:
            os.close(shared)


class _Results(pickle.Unpickler):
    """Reads results: values of ours only, whatever took over the process that read a log."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function that bot.core defines."""
        found = super().find_class(module, name)
        ours = getattr(found, "__module__", "").startswith("bot.core.") and "." not in name
        if not ours and (module, name) not in _PLAIN:
            raise pickle.UnpicklingError(f"a result holds {module}.{name}")
        return found


@asynccontextmanager
async def open_sandbox(limits: CallLimits | None = None) -> AsyncIterator[WorkerProcesses]:
    """Open a sandbox; its processes end with the context."""
    sandbox = WorkerProcesses(limits or CallLimits())
    try:
        yield sandbox
    finally:
        await sandbox.close()
