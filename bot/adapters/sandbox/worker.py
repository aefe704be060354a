"""One worker process: reads calls from its input, and writes their results to its output.

`python -m bot.adapters.sandbox.worker CPU_SECONDS MEMORY_BYTES DESCRIPTOR`. It imports little by
itself: a call names its function, whose module is imported then. The descriptor is of memory that
is shared with the service, which puts large bytes there.
"""

import io
import mmap
import os
import pickle
import resource
import signal
import struct
import sys
import time
import traceback
from types import FrameType
from typing import Any

HEADER = struct.Struct(">I")  # the bytes of the pickle that follows
SHARED_BYTES = 4 << 20  # the largest piece of a log, twice
_NICE = 5  # the loop, which answers webhooks, goes first


class _OutOfTimeError(BaseException):
    """Nothing in the called function may take this for an error of its own."""


def main(cpu_s: float, memory_bytes: int, descriptor: int) -> None:
    """Serve calls until the input ends: then the service has ended."""
    calls = sys.stdin.buffer
    shared = mmap.mmap(descriptor, SHARED_BYTES, prot=mmap.PROT_READ)
    os.close(descriptor)
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else writes between results
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    signal.signal(signal.SIGPROF, _out_of_time)
    while header := calls.read(HEADER.size):
        call = _Call(io.BytesIO(calls.read(*HEADER.unpack(header))), shared)
        result = _result(call, cpu_s)
        results.write(HEADER.pack(len(result)) + result)
        results.flush()


class _Call(pickle.Unpickler):
    """Reads a call; it comes from the service itself."""

    def __init__(self, call: io.BytesIO, shared: mmap.mmap) -> None:
        super().__init__(call)
        self._shared = shared

    def persistent_load(self, span: tuple[int, int]) -> bytes:
        begin, end = span
        return self._shared[begin:end]


def _result(call: _Call, cpu_s: float) -> bytes:
    """Return the pickled kind of the result, the result, and the seconds of processor time."""
    began = time.process_time()
    # Python code is interrupted, and this process can go on. C code ends only with the process.
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(began + cpu_s) + 2, hard))
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        kind, value = _called(call)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return pickle.dumps((kind, value, time.process_time() - began))


def _called(call: _Call) -> tuple[str, Any]:
    try:
        work, args = call.load()
        return "done", work(*args)
    except _OutOfTimeError:
        return "stopped", "time"
    except MemoryError:
        return "stopped", "memory"
    except Exception:  # noqa: BLE001  it is raised where the call came from
        return "raised", traceback.format_exc()


def _out_of_time(_number: int, _frame: FrameType | None) -> None:
    raise _OutOfTimeError


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
